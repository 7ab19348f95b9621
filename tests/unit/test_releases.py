# SPDX-License-Identifier: Apache-2.0
"""Which Spark and Delta `configure` accepts, by the names of their jars and packages."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest
from packaging.requirements import Requirement
from pyspark.sql import SparkSession

import spark_ext
from hatch_build import requirements
from spark_ext.errors import UnsupportedSparkVersionError
from spark_ext.launch import session
from spark_ext.launch.class_path import DRIVER_CLASS_PATH, JARS, PACKAGES, class_path
from spark_ext.launch.releases import (
    RELEASES,
    is_in_release,
    launched_spark,
    misfit,
    require_pair,
)
from spark_ext.launch.session import CATALOG, DRIVER_PYTHON, EXTENSIONS
from tests.matrix.pairs import SHORT, WHOLE
from tests.matrix.places import PLACES, Place, numbers

CHECKOUT = Path(__file__).parents[2]
SUBMIT_OPTIONS = (PACKAGES, JARS, EXTENSIONS, CATALOG, DRIVER_PYTHON)
SPARKS = [spark for sparks in RELEASES["sparks"].values() for spark in sparks]


@pytest.fixture(autouse=True)
def _no_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "jar", lambda: Path("spark-ext.jar"))


def refusal(spark: str, scala: str, *packages: str) -> dict[str, str]:
    with pytest.raises(UnsupportedSparkVersionError) as refused:
        require_pair(spark, scala, packages)
    return refused.value.params


@pytest.mark.parametrize(
    ("spark", "scala", "named"),
    [
        ("3.5.8", "2.12", "3.5.8 of Scala 2.12"),
        ("3.5.8", "2.13", "3.5.8"),
        ("4.2.0", "2.12", "4.2.0 of Scala 2.12"),
    ],
)
def test_an_old_spark_is_refused(spark: str, scala: str, named: str) -> None:
    params = refusal(spark, scala, "io.delta:delta-spark_2.12:3.3.2", "org.example:a:1")

    assert params == {"spark": named, "delta": "3.3.2", "supported": RELEASES["supported"]}


@pytest.mark.parametrize(
    ("spark", "artifact", "named"),
    [
        ("4.2.0", "delta-spark_4.1_2.13:4.4.0", "4.4.0 for Spark 4.1"),
        ("4.1.1", "delta-spark_4.0_2.13:4.1.0", "4.1.0 for Spark 4.0"),
        ("4.0.1", "delta-spark_4.2_2.13:4.4.0", "4.4.0 for Spark 4.2"),
        ("4.2.0", "delta-spark_2.13:4.3.1", "4.3.1 for Spark 4.1"),
        ("4.1.0", "delta-spark_2.13:4.0.1", "4.0.1 for Spark 4.0"),
        ("4.1.0", "delta-spark_2.13:4.4.0", "4.4.0 for Spark 4.2"),
        ("4.2.0", "delta-spark_4.2_2.13:4.3.1", "4.3.1"),
        ("4.3.0", "delta-spark_4.3_2.13:4.4.0", "4.4.0"),
        ("4.2.0", "delta-spark_4.2_2.13:4.4.1", "4.4.1, of which there are no jars"),
        ("4.2.0", "delta-spark_2.12:3.3.2", "3.3.2 of Scala 2.12"),
    ],
)
def test_a_wrong_pair_is_refused(spark: str, artifact: str, named: str) -> None:
    assert refusal(spark, "2.13", "org.example:a:1", f"io.delta:{artifact}") == {
        "spark": spark,
        "delta": named,
        "supported": RELEASES["supported"],
    }


@pytest.mark.parametrize(
    ("spark", "artifact"),
    [
        ("4.0.1", "delta-spark_2.13:4.0.0"),
        ("4.0.1", "delta-spark_4.0_2.13:4.1.0"),
        ("4.0.2", "delta-spark_4.0_2.13:4.4.0"),
        ("4.1.1", "delta-spark_4.1_2.13:4.3.1"),
        ("4.1.0", "delta-spark_2.13:4.1.0"),
        ("4.0.5", "delta-spark_4.0_2.13:4.1.0"),
        ("4.1.1", "delta-spark_4.1_2.13:4.2.0"),
        ("4.1.2", "delta-spark_4.1_2.13:4.3.0"),
        ("4.2.0", "delta-spark_4.2_2.13:4.4.0"),
        ("4.2.1-SNAPSHOT", "delta-spark_2.13:4.4.0"),
        # Of vendors.
        ("4.0.2-amzn-0", "delta-spark_4.0_2.13:4.1.0"),
        ("4.1.1.5.2", "delta-spark_2.13:4.2.0"),
        ("4.1.2", "delta-spark_4.1_2.13:4.2.0.dataproc-1"),
        ("4.0.2", "delta-spark_4.0_2.13:4.0.0-amzn-1"),
        # Newer than all known: the jar sees.
        ("4.3.0", "delta-spark_4.3_2.13:4.99.0"),
        ("4.2.0", "delta-spark_2.13:4.99.0"),
    ],
)
def test_a_pair_is_accepted(spark: str, artifact: str) -> None:
    require_pair(spark, "2.13", [f"io.delta:{artifact}", "io.delta:delta-sharing-spark_2.13:9"])


# Of Spark 4.1.2 and later, which have none, as they were released.
NEEDED = "org.apache.spark.sql.catalyst.plans.logical.IgnoreCachedData"
DELTA_4_2 = "io.delta:delta-spark_4.1_2.13:4.2.0"
DELTAS_OWN = "io.delta.sql.DeltaSparkSessionExtension"
CATALYST, VENDORS = "spark-catalyst_2.13-4.1.2.jar", "spark-shims-4.1.2-amzn-0.jar"


def a_spark(home: Path, **jars: str) -> Path:
    """A Spark of these jars, each with one class; or with none, which is no jar then."""
    (home / "jars").mkdir()
    for name, held in jars.items():
        with zipfile.ZipFile(home / "jars" / name, "w") as jar:
            jar.writestr(f"{held.replace('.', '/')}.class", "")
    return home


def may_have(home: Path | None) -> Callable[[str], bool]:
    return class_path(home, {}, {}).may_have


@pytest.mark.parametrize("delta", ["4.1.0", "4.2.0"])
@pytest.mark.parametrize("spark", ["4.1.0", "4.1.2", "4.1.2-amzn-0"])
def test_a_spark_without_a_class_that_delta_needs_is_refused(
    tmp_path: Path, spark: str, delta: str
) -> None:
    home = a_spark(tmp_path, **{CATALYST: "org.example.A", VENDORS: "org.example.B"})

    with pytest.raises(UnsupportedSparkVersionError) as refused:
        require_pair(spark, "2.13", [f"io.delta:delta-spark_4.1_2.13:{delta}"], may_have(home))

    assert refused.value.params["delta"].startswith(delta)
    assert f"`{NEEDED}`" in refused.value.params["delta"]


@pytest.mark.parametrize(
    "jars",
    [
        {CATALYST: NEEDED},
        {CATALYST: "org.example.A", VENDORS: NEEDED},
        # A Delta that comes with Spark is the one that runs, and may not need it.
        {CATALYST: "org.example.A", "delta.jar": DELTAS_OWN},
        {},
    ],
)
def test_a_spark_that_may_have_it_is_left_to_the_jar(tmp_path: Path, jars: dict[str, str]) -> None:
    require_pair("4.1.2", "2.13", [DELTA_4_2], may_have(a_spark(tmp_path, **jars)))


@pytest.mark.parametrize("content", [b"no archive", b"PK\5\6" + b"\xff" * 18, b""])
def test_a_jar_that_cannot_be_looked_into_is_left_to_the_jar(
    tmp_path: Path, content: bytes
) -> None:
    home = a_spark(tmp_path, **{CATALYST: "org.example.A"})
    (home / "jars" / "damaged.jar").write_bytes(content)

    require_pair("4.1.2", "2.13", [DELTA_4_2], may_have(home))


def test_a_spark_that_is_not_here_is_left_to_the_jar() -> None:
    require_pair("4.1.2", "2.13", [DELTA_4_2], may_have(None))


# `configure` sees the settings of its builder, of spark-defaults.conf, and its environment.


def configured(
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
    *,
    jvm: object = None,
    extra_packages: list[str] | None = None,
    settings: Mapping[str, str | None] | None = None,
) -> None:
    """By a `configure` whose Spark is 4.1.2 without that class, with a Delta that needs it."""
    a_spark(home, **{CATALYST: "org.example.A", "spark-core_2.13-4.1.2.jar": "org.example.B"})
    monkeypatch.setenv("SPARK_HOME", str(home))
    context = SimpleNamespace(_active_spark_context=None, _jvm=jvm)
    monkeypatch.setattr(pyspark, "SparkContext", context)
    monkeypatch.setattr(session, "require_jars", lambda _: None)
    monkeypatch.setattr(
        session, "submit_options", lambda: dict.fromkeys(SUBMIT_OPTIONS, "") | {PACKAGES: DELTA_4_2}
    )
    builder = SparkSession.Builder()
    for key, value in (settings or {}).items():
        builder.config(key, value)
    spark_ext.configure(builder, extra_packages)


def vendors_jars(folder: Path) -> Path:
    a_spark(folder, **{VENDORS: NEEDED})
    return folder / "jars"


def vendors_delta(folder: Path) -> Path:
    a_spark(folder, **{"delta.jar": DELTAS_OWN})
    return folder / "jars"


@pytest.mark.parametrize("of_vendor", [vendors_jars, vendors_delta])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        (DRIVER_CLASS_PATH, f"/etc/hadoop/conf{os.pathsep}{{}}/*"),
        ("spark.driver.defaultExtraClassPath", "{}/*"),
        (JARS, "{}/*.jar"),
        (JARS, "a.jar, file:{}/*.jar"),
    ],
)
def test_configure_sees_the_jars_of_its_builder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    of_vendor: Callable[[Path], Path],
    key: str,
    value: str,
) -> None:
    (tmp_path / "vendor").mkdir()
    folder = of_vendor(tmp_path / "vendor")

    configured(monkeypatch, tmp_path, settings={key: value.format(folder)})


def set_vendors_jars(home: Path, key: str, value: str) -> None:
    """In the defaults of a Spark."""
    (home / "vendor").mkdir()
    (home / "conf").mkdir()
    setting = f"{key} {value.format(vendors_jars(home / 'vendor'))}"
    (home / "conf" / "spark-defaults.conf").write_text(setting)


def test_configure_sees_the_jars_of_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_vendors_jars(tmp_path, DRIVER_CLASS_PATH, "{}/*")

    configured(monkeypatch, tmp_path)


def test_jars_of_the_defaults_that_configure_replaces_are_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_vendors_jars(tmp_path, JARS, "{}/*.jar")

    with pytest.raises(UnsupportedSparkVersionError):
        configured(monkeypatch, tmp_path)


def test_configure_sees_folders_of_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "classes" / f"{NEEDED.replace('.', '/')}.class"
    file.parent.mkdir(parents=True)
    file.touch()
    monkeypatch.setenv("SPARK_DIST_CLASSPATH", str(tmp_path / "classes"))

    configured(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PYSPARK_GATEWAY_PORT", "1"),
        ("PYSPARK_SUBMIT_ARGS", "--driver-class-path /x.jar pyspark-shell"),
        ("SPARK_SUBMIT_OPTS", "-Da=b -Xbootclasspath/a:/x.jar"),
        ("JAVA_TOOL_OPTIONS", "-javaagent:/x.jar"),
        ("JDK_JAVA_OPTIONS", "@/opt/options"),
        ("_JAVA_OPTIONS", "--upgrade-module-path /x"),
        ("SPARK_SUBMIT_OPTS", "-cp /x/*"),
        ("SPARK_PREPEND_CLASSES", "1"),
        ("DEFAULT_ARTIFACT_REPOSITORY", "https://maven.example.org"),
    ],
)
def test_what_the_environment_may_add_is_left_to_the_jar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)

    configured(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (JARS, "hdfs:///x.jar"),
        # No URL, and patterns of Hadoop's own.
        (JARS, "hdfs://nn[1-2]/x.jar"),
        (JARS, "/opt/{a,b}/*.jar"),
        (JARS, "/opt/[^a]/*.jar"),
        (PACKAGES, "org.example:shims:1"),
        ("spark.jars.repositories", "https://maven.example.org"),
        ("spark.jars.ivySettings", "/etc/ivysettings.xml"),
        ("spark.driver.extraJavaOptions", "-Xmx1g --patch-module=a=/x.jar"),
        ("spark.driver.defaultJavaOptions", "-XX:Flags=/etc/java"),
    ],
)
def test_what_settings_may_add_is_left_to_the_jar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str
) -> None:
    configured(monkeypatch, tmp_path, settings={key: value})


def test_packages_beside_delta_are_left_to_the_jar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(monkeypatch, tmp_path, extra_packages=["org.example:shims:1"])


def test_defaults_that_a_running_jvm_has_read_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setattr(session, "defaults", pytest.fail)

    configured(monkeypatch, tmp_path)


@pytest.mark.parametrize("name", ["spark-env.sh", "java-opts"])
def test_what_a_file_may_add_is_left_to_the_jar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / name).touch()

    configured(monkeypatch, tmp_path)


def test_a_jvm_that_runs_is_left_to_the_jar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its class path is that of its start, of which a second builder knows nothing."""
    configured(monkeypatch, tmp_path, jvm=object())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.app.name", "a"),
        (DRIVER_CLASS_PATH, "/x/*"),
        (JARS, "/x.jar"),
        # What PySpark takes, and Java passes over.
        (DRIVER_CLASS_PATH, None),
        (JARS, None),
        (PACKAGES, None),
        ("spark.driver.extraJavaOptions", "-Xmx1g -Dmail=a@b"),
        (DRIVER_CLASS_PATH, "x" * 5000),
        (DRIVER_CLASS_PATH, "x" * 5000 + "/*"),
    ],
    ids=lambda value: str(value)[-20:],
)
def test_configure_refuses_where_nothing_has_the_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str | None
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "pyspark-shell")

    with pytest.raises(UnsupportedSparkVersionError) as refused:
        configured(monkeypatch, tmp_path, settings={key: value})

    assert f"`{NEEDED}`" in refused.value.params["delta"]


def test_configure_refuses_a_wrong_pair_and_leaves_the_builder_as_it_was() -> None:
    builder = SparkSession.Builder()
    builder.config("spark.jars.packages", "io.delta:delta-spark_2.13:4.3.1")

    with pytest.raises(UnsupportedSparkVersionError):
        spark_ext.configure(builder)

    assert builder._options == {"spark.jars.packages": "io.delta:delta-spark_2.13:4.3.1"}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["spark-core_2.12-3.5.8.jar", "spark-sql_2.12-3.5.8.jar"], ("3.5.8", "2.12")),
        (["spark-core_2.13-4.2.0-preview1.jar"], ("4.2.0-preview1", "2.13")),
        # Jars that do not tell.
        (["spark-assembly.jar"], ("4.1.0", "2.13")),
    ],
)
def test_the_spark_of_spark_home_counts(
    tmp_path: Path, files: list[str], found: tuple[str, str]
) -> None:
    (tmp_path / "jars").mkdir()
    for name in files:
        (tmp_path / "jars" / name).touch()

    assert launched_spark(tmp_path, "4.1.0") == found


def test_configure_refuses_an_old_spark_of_spark_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.12-3.5.8.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))

    with pytest.raises(UnsupportedSparkVersionError) as refused:
        spark_ext.configure(SparkSession.Builder())

    assert refused.value.params["spark"] == "3.5.8 of Scala 2.12"


# Every place that names the pairs.


def is_accepted(spark: str, delta: str) -> bool:
    """Of a pair as it was released."""
    return misfit(spark, line_of(spark), delta, partial(is_in_release, spark)) is None


def line_of(spark: str) -> str:
    return ".".join(spark.split(".")[:2])


PAIRS = {
    (spark, delta) for spark in SPARKS for delta in RELEASES["deltas"] if is_accepted(spark, delta)
}


def sparks_of(words: str) -> list[str]:
    """The releases of Spark that are meant by `4.2`, `4.0 to 4.1.1` or `4.1.2 and later 4.1`."""
    first, *last = re.findall(r"[\d.]+", words)
    if " to " in words:
        return between(first, last[0], SPARKS)
    if " and later " in words:
        return [spark for spark in between(first, SPARKS[-1], SPARKS) if line_of(spark) == last[0]]
    return [first, *last] if last else RELEASES["sparks"][first]


def between(first: str, last: str, releases: Iterable[str]) -> list[str]:
    return [found for found in releases if numbers(first) <= numbers(found) <= numbers(last)]


def test_the_words_tell_the_pairs() -> None:
    told = set()
    for sparks, oldest, newest in re.findall(
        r"Spark ([^,;]+?) with delta-spark ([\d.]+)(?: to ([\d.]+))?", RELEASES["supported"]
    ):
        deltas = between(oldest, newest or oldest, RELEASES["deltas"])
        told |= {(spark, delta) for spark in sparks_of(sparks) for delta in deltas}

    assert told == PAIRS
    assert RELEASES["supported"].endswith(f"; Scala {RELEASES['scala']}")


def test_the_page_tells_the_pairs() -> None:
    page = (CHECKOUT / "docs" / "install.md").read_text()
    told = set()
    for sparks, deltas, line in re.findall(r"\| (.+) \| (.+) \| `delta-spark(.*)_2.13` \|", page):
        assert {f"_{line_of(spark)}" for spark in sparks_of(sparks)} == {line or "_4.0"}
        assert (line == "") == set(deltas.split(", ")).issubset(RELEASES["artifactsWithoutLine"])
        told |= {(spark, delta) for spark in sparks_of(sparks) for delta in deltas.split(", ")}

    assert told == PAIRS


def test_the_page_has_a_result_of_every_pair_and_of_whole_runs_where_they_are_whole() -> None:
    page = (CHECKOUT / "docs" / "install.md").read_text()
    results = re.findall(
        r"^\| ([\d.]+) \| ([\d.]+) \| (.+?) \| yes \| \d+ \| 0 \| ", page, re.MULTILINE
    )
    told = {f"{spark}+{delta}": run for spark, delta, run in results}

    assert {*WHOLE, *SHORT} <= told.keys()
    assert {pair for pair in WHOLE if not told[pair].startswith("all")} == set()


def test_the_matrix_has_every_delta_of_every_line_and_no_other_pair() -> None:
    default = RELEASES["default"]["spark"], RELEASES["default"]["delta"]
    run = {tuple(pair.split("+")) for pair in [*WHOLE, *SHORT]} | {default}

    assert run <= PAIRS
    assert {(line_of(spark), delta) for spark, delta in run} == {
        (line_of(spark), delta) for spark, delta in PAIRS
    }
    assert {spark for spark, _ in run} == set(SPARKS)


def test_the_package_requires_what_works() -> None:
    delta, spark = map(Requirement, requirements(dict(RELEASES)))
    refused = RELEASES["refusedDeltas"]

    assert (delta.name, spark.name) == ("delta-spark", "pyspark")
    assert list(delta.specifier.filter([*RELEASES["deltas"], *refused])) == [*RELEASES["deltas"]]
    assert list(spark.specifier.filter(SPARKS)) == SPARKS
    assert not delta.specifier.contains(after([*RELEASES["deltas"]][-1]))
    assert not spark.specifier.contains("4.0.0")
    assert not spark.specifier.contains(after(SPARKS[-1]))


def after(release: str) -> str:
    """The first of the next minor release."""
    major, minor, _ = numbers(release)
    return f"{major}.{minor + 1}.0"


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.file)
def test_what_cannot_read_the_releases_says_the_same(place: Place) -> None:
    assert (CHECKOUT / place.file).read_text() == place.written(), "run `make format`"
