# SPDX-License-Identifier: Apache-2.0
"""Each check of `python -m spark_ext doctor` where something is wrong, made wrong for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pyspark
import pytest

import spark_ext
from spark_ext.doctor import installation, settings, trial
from spark_ext.doctor.diagnoses import NOTE, OK, PROBLEM, SKIPPED, Diagnosis, as_text, is_sound
from spark_ext.doctor.examination import examine
from spark_ext.doctor.rule_process import rule_process
from spark_ext.doctor.trial import fault
from spark_ext.launch import session, spark_defaults
from spark_ext.launch.class_path import DRIVER_CLASS_PATH, JARS, PACKAGES, class_path
from spark_ext.launch.releases import RELEASES, UNKNOWN_VERSION

PACKAGE = Path(spark_ext.__file__).parent
START = PACKAGE.parent / "jars" / "src" / "main" / "resources" / "__main__.py"
DELTA = "io.delta.sql.DeltaSparkSessionExtension"
OURS = "sparkext.UsageTrackingExtension"
DELTAS_ENTRY = "io/delta/sql/DeltaSparkSessionExtension.class"
NO_CLASSES = ("-sources", "-javadoc", "-tests")
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
ENVIRON = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}


def make_jar(path: Path, version: str | None) -> Path:
    """What Python sees of a jar of ours."""
    with zipfile.ZipFile(path, "w") as jar:
        jar.write(START, "__main__.py")
        for file in (*PACKAGE.rglob("*.py"), *PACKAGE.glob("*.json")):
            jar.write(file, Path("spark_ext") / file.relative_to(PACKAGE))
        if version is not None:
            jar.writestr("sparkext/UsageTrackingExtension.class", "")
            description = f"version={version}\n"
            jar.writestr("META-INF/maven/io.sparkext/spark-ext/pom.properties", description)
    return path


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's jar."""
    path = make_jar(tmp_path / "spark-ext.jar", spark_ext.__version__)
    monkeypatch.setattr(session, "jar", lambda: path)
    return path


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def a_spark(home: Path, *jars: str) -> dict[str, str]:
    """An environment with a Spark of these jars."""
    for name in jars or ("spark-core.jar",):
        delta_jar(home / "jars" / name)
    return {**ENVIRON, "SPARK_HOME": str(home)}


def delta_jar(path: Path) -> Path:
    """By its name one of Delta's own, or of something else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_deltas = path.stem.startswith("delta-spark") and not path.stem.endswith(NO_CLASSES)
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr(DELTAS_ENTRY if is_deltas else "org/example/A.class", "")
    return path


# Python.


def test_an_old_python_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installation.python().status == OK
    monkeypatch.setattr(installation, "OLDEST_PYTHON", (sys.version_info[0], 99))

    assert installation.python().status == PROBLEM


# Java.


def a_java(path: Path, version: str) -> Path:
    return program(path, f"""echo 'openjdk version "{version}" 2024-01-01' >&2""")


def test_a_path_without_java_is_found(tmp_path: Path) -> None:
    finding = installation.java({"PATH": str(tmp_path)})

    assert (finding.status, finding.found) == (PROBLEM, "none")


def test_a_java_home_without_java_is_found(tmp_path: Path) -> None:
    a_java(tmp_path / "java", "17.0.1")

    finding = installation.java({"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path)})

    assert finding.status == PROBLEM


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.21", "16"])
def test_an_old_java_is_found(tmp_path: Path, version: str) -> None:
    a_java(tmp_path / "java", version)

    finding = installation.java({"PATH": str(tmp_path)})

    assert finding.status == PROBLEM
    assert version in finding.found


def test_the_java_of_java_home_counts(tmp_path: Path) -> None:
    a_java(tmp_path / "path" / "java", "17.0.1")
    a_java(tmp_path / "home" / "bin" / "java", "21.0.2")

    finding = installation.java(
        {"PATH": str(tmp_path / "path"), "JAVA_HOME": str(tmp_path / "home")}
    )

    assert finding.status == NOTE
    assert "21.0.2" in finding.found
    assert "17.0.1" in str(finding.problem)


def test_what_is_no_java_is_found(tmp_path: Path) -> None:
    program(tmp_path / "java", "echo no java")

    assert installation.java({"PATH": str(tmp_path)}).status == PROBLEM


@pytest.mark.parametrize("version", ["17", "21.0.2", "25-ea"])
def test_a_new_java_is_sound(tmp_path: Path, version: str) -> None:
    a_java(tmp_path / "java", version)

    assert installation.java({"PATH": str(tmp_path)}).status == OK


# Spark and Delta.


def test_another_spark_in_spark_home_is_found(tmp_path: Path, jar: Path) -> None:
    environ = a_spark(tmp_path / "spark", "spark-core_2.12-3.5.8.jar")

    found = installation.spark(environ)

    assert found.status == PROBLEM
    assert "3.5.8 of Scala 2.12" in found.found
    assert pyspark.__version__ in found.found
    assert installation.pair(environ, None, {}).status == PROBLEM


OTHER_LINE = "4.1" if pyspark.__version__.startswith("4.2") else "4.2"


@pytest.mark.parametrize(
    "package",
    [f"io.delta:delta-spark_{OTHER_LINE}_2.13:4.4.0", "io.delta:delta-spark_2.12:3.3.2"],
)
def test_another_delta_in_the_defaults_is_found(jar: Path, package: str) -> None:
    file = Path("conf", "spark-defaults.conf")
    packages = f"org.apache.commons:commons-csv:1.14.0, {package}"

    finding = installation.pair(ENVIRON, file, {PACKAGES: packages})

    assert finding.status == PROBLEM
    assert f"{package} (spark.jars.packages in {file})" in finding.found
    assert RELEASES["supported"] in str(finding.advice)


def test_the_same_delta_in_the_defaults_is_sound(jar: Path) -> None:
    packages = f"a:b:1,{session.submit_options()[PACKAGES]}"

    assert installation.pair(ENVIRON, None, {PACKAGES: packages}).status == OK


def test_a_spark_home_without_jars_is_found(tmp_path: Path) -> None:
    environ = {**ENVIRON, "SPARK_HOME": str(tmp_path)}

    assert installation.spark(environ).status == PROBLEM


def test_an_empty_spark_home_is_found() -> None:
    assert installation.spark({**ENVIRON, "SPARK_HOME": ""}).status == PROBLEM


def test_another_delta_in_sparks_jars_is_found(tmp_path: Path, jar: Path) -> None:
    spark = f"spark-core_2.13-{pyspark.__version__}.jar"
    environ = a_spark(tmp_path / "spark", spark, "delta-spark_4.1_2.13-4.1.0.jar")

    finding = installation.delta(environ, {})

    assert finding.status == PROBLEM
    assert "delta-spark_4.1_2.13-4.1.0.jar" in finding.found


@pytest.mark.parametrize(
    ("jar_name", "status"),
    [
        ("delta-spark_{line}_2.13-{delta}.jar", OK),
        # Of vendors.
        ("delta-spark_{line}_2.13-{delta}.dataproc-1.jar", NOTE),
        ("delta-spark_{line}_2.13-{delta}-amzn-1.jar", NOTE),
        ("delta-spark_2.13-{delta}.5.2.jar", NOTE),
        ("delta-spark_2.13-{delta}+amzn.jar", NOTE),
        ("delta-spark.jar", NOTE),
        # Of another Spark, Scala or Delta.
        ("delta-spark_9.9_2.13-{delta}.dataproc-1.jar", PROBLEM),
        ("delta-spark_{line}_2.12-{delta}-amzn-1.jar", PROBLEM),
        ("delta-spark_{line}_2.13-{delta}-SNAPSHOT.jar", PROBLEM),
        ("delta-spark_{line}_2.13-{delta}1.jar", PROBLEM),
        ("delta-spark_{line}_2.13-3.3.2-amzn-1.jar", PROBLEM),
    ],
)
@pytest.mark.every_variant
def test_a_delta_on_sparks_class_path_is_the_one_that_runs(
    tmp_path: Path, jar: Path, jar_name: str, status: str
) -> None:
    line = ".".join(pyspark.__version__.split(".")[:2])
    _, name, version = session.submit_options()[PACKAGES].split(":")
    named = jar_name.format(line=line, delta=version)
    if status == OK:
        named = f"{name}-{version}.jar"
    core = f"spark-core_2.13-{pyspark.__version__}.jar"

    finding = installation.delta(a_spark(tmp_path / "spark", core, named), {})

    assert finding.status == status
    assert finding.found.endswith(named)


@pytest.mark.parametrize("classifier", NO_CLASSES)
def test_a_jar_without_deltas_classes_is_none(tmp_path: Path, jar: Path, classifier: str) -> None:
    _, name, version = session.submit_options()[PACKAGES].split(":")
    environ = a_spark(tmp_path / "spark", f"{name}-{version}{classifier}.jar")

    assert classifier not in installation.delta(environ, {}).found


@pytest.mark.parametrize("key", [DRIVER_CLASS_PATH, JARS])
def test_a_delta_that_is_not_there_is_none(tmp_path: Path, jar: Path, key: str) -> None:
    """Nor is one of the `spark.jars` that `configure` replaces."""
    _, name, version = session.submit_options()[PACKAGES].split(":")
    path = tmp_path / f"{name}-{version}-amzn-1.jar"
    if key == JARS:
        delta_jar(path)

    finding = installation.delta(a_spark(tmp_path / "spark"), {key: str(path)})

    assert str(path) not in finding.found


@pytest.mark.parametrize(
    ("tail", "is_told"),
    [("-amzn-1", True), (None, True), ("", False)],
    ids=["emr", "no-version", "same"],
)
def test_a_delta_that_configure_would_replace_is_told(
    tmp_path: Path, jar: Path, tail: str | None, is_told: bool
) -> None:
    """As EMR has it, beside Spark's jars; of the same version it makes no difference."""
    _, name, version = session.submit_options()[PACKAGES].split(":")
    file = "delta-spark.jar" if tail is None else f"{name}-{version}{tail}.jar"
    vendors = delta_jar(tmp_path / "aws" / file)
    jars = f"local://{vendors},local://{tmp_path}/aws/delta-storage.jar"

    finding = installation.delta(a_spark(tmp_path / "spark"), {JARS: jars})

    assert (str(vendors) in str(finding.problem)) is is_told
    assert ("`configure`" in str(finding.advice)) is is_told
    assert not is_told or finding.status == NOTE


def test_two_deltas_are_found_wherever_they_are(tmp_path: Path, jar: Path) -> None:
    _, name, version = session.submit_options()[PACKAGES].split(":")
    environ = a_spark(tmp_path / "spark", f"{name}-{version}.jar")
    vendors = delta_jar(tmp_path / "opt" / f"{name}-{version}-amzn-1.jar")

    finding = installation.delta(environ, {DRIVER_CLASS_PATH: str(vendors)})

    assert finding.status == PROBLEM
    assert str(vendors) in finding.found


def test_one_delta_by_several_links_is_one(tmp_path: Path, jar: Path) -> None:
    _, name, version = session.submit_options()[PACKAGES].split(":")
    vendors = f"{name}-{version}-amzn-1.jar"
    environ = a_spark(tmp_path / "spark", vendors)
    (tmp_path / "spark" / "jars" / "delta-spark.jar").symlink_to(vendors)

    finding = installation.delta(environ, {DRIVER_CLASS_PATH: f"{tmp_path}/spark/jars/*"})

    assert finding.status == NOTE


# Of a Spark without a class that the ALTER TABLE of Delta 4.2.0 needs.
OF_DELTA_4_2 = {PACKAGES: "io.delta:delta-spark_4.1_2.13:4.2.0"}


def finding_on_4_1_2(folder: Path, jars: tuple[str, ...], settings: dict[str, str]) -> Diagnosis:
    environ = a_spark(folder / "spark", "spark-core_2.13-4.1.2.jar", *jars)
    (folder / "spark" / "conf").mkdir()
    return installation.pair(environ, None, settings)


@pytest.fixture
def delta_4_2(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "submit_options", lambda: OF_DELTA_4_2)


def test_a_class_that_nothing_has_is_a_problem(tmp_path: Path, delta_4_2: None) -> None:
    assert finding_on_4_1_2(tmp_path, (), {}).status == PROBLEM


@pytest.mark.parametrize("jar_name", ["delta-spark_4.1_2.13-4.2.0.jar", "delta-spark.jar"])
def test_a_delta_that_may_be_mended_is_not_called_sound(
    tmp_path: Path, delta_4_2: None, jar_name: str
) -> None:
    finding = finding_on_4_1_2(tmp_path, (jar_name,), {})

    assert finding.status == (NOTE if "4.2.0" in jar_name else OK)


def test_what_is_not_seen_is_not_called_sound(tmp_path: Path, delta_4_2: None) -> None:
    finding = finding_on_4_1_2(tmp_path, (), {"spark.jars.repositories": "https://example.org"})

    assert finding.status == NOTE
    assert "IgnoreCachedData" in str(finding.problem)


def test_a_delta_of_another_spark_on_the_class_path_is_found(tmp_path: Path, jar: Path) -> None:
    environ = a_spark(tmp_path / "spark", f"spark-core_2.13-{pyspark.__version__}.jar")
    other = delta_jar(tmp_path / f"delta-spark_{OTHER_LINE}_2.13-4.4.0.jar")

    finding = installation.pair(environ, None, {JARS: str(other)})

    assert finding.status == PROBLEM
    assert str(other) in finding.found


@pytest.mark.parametrize(("has_jars", "status"), [(True, NOTE), (False, PROBLEM)])
def test_a_missing_package_is_no_problem_where_spark_has_deltas_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_jars: bool, status: str
) -> None:
    environ = a_spark(tmp_path / "spark", *(["delta-spark.jar"] if has_jars else []))
    monkeypatch.setattr(installation, "module", lambda name: f"no {name}")

    finding = installation.delta(environ, {})

    assert finding.status == status
    assert "no delta" in str(finding.problem)


@pytest.mark.parametrize(("cached", "status"), [(True, OK), (False, NOTE)])
def test_whether_delta_is_to_be_fetched_is_told(
    tmp_path: Path, jar: Path, cached: bool, status: str
) -> None:
    _, name, version = session.submit_options()[PACKAGES].split(":")
    (tmp_path / "jars").mkdir()
    if cached:
        (tmp_path / "jars" / f"io.delta_{name}-{version}.jar").touch()

    finding = installation.delta(ENVIRON, {"spark.jars.ivy": str(tmp_path)})

    assert finding.status == status


def test_this_installation_is_sound(jar: Path) -> None:
    findings = [
        installation.python(),
        installation.spark(ENVIRON),
        installation.pair(ENVIRON, None, {}),
        installation.extension_jar(),
    ]

    assert {finding.status for finding in findings} == {OK}


def run_with(modules: Path, *arguments: str, **environ: str) -> tuple[int, dict[str, Diagnosis]]:
    """The exit code and the findings where these modules come first."""
    done = subprocess.run(
        [sys.executable, "-m", "spark_ext", "doctor", "--json", *arguments],
        capture_output=True,
        text=True,
        env={**ENVIRON, "PYTHONPATH": str(modules), **environ},
        cwd=modules,
    )
    assert done.stderr == ""
    told = json.loads(done.stdout)
    findings = [Diagnosis(**finding) for finding in told["findings"]]
    assert told["sound"] == is_sound(findings) == (done.returncode == 0)
    return done.returncode, {finding.check: finding for finding in findings}


@pytest.mark.parametrize(
    ("module", "check", "broken"),
    [
        ("pyspark", "spark", "raise ModuleNotFoundError('no pyspark')"),
        ("pyspark", "spark", "raise RuntimeError('of pyspark')"),
        ("delta", "delta", "import nothing_like_delta"),
    ],
)
def test_a_broken_package_is_a_finding(
    tmp_path: Path, module: str, check: str, broken: str
) -> None:
    (tmp_path / f"{module}.py").write_text(broken)

    code, findings = run_with(tmp_path)

    assert code == 1
    assert findings[check].status == PROBLEM
    assert module in str(findings[check].problem)
    assert findings["pair"].status == SKIPPED
    assert list(findings)[-1] == "rule process"


def test_a_client_is_asked_for_no_java(tmp_path: Path) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text("__version__ = '4.2.0'")

    _, findings = run_with(tmp_path, "--session")

    assert list(findings) == ["python", "spark", "jar"]
    assert findings["spark"].status == NOTE


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("util", "is_client"),
    [("def is_remote_only(): return True", True), ("", False), ("1 / 0", False)],
    ids=["client", "older", "broken"],
)
def test_a_client_beside_a_spark_is_a_client(tmp_path: Path, util: str, is_client: bool) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text("__version__ = '4.2.0'")
    (tmp_path / "pyspark" / "util.py").write_text(util)
    home = a_spark(tmp_path / "spark")["SPARK_HOME"]

    _, findings = run_with(tmp_path, SPARK_HOME=home)

    assert (list(findings) == ["python", "spark", "jar"]) is is_client
    assert (findings["spark"].status == NOTE) is is_client


# Our jar.


def test_a_missing_jar_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "files", lambda package: tmp_path)

    assert installation.extension_jar().status == PROBLEM
    for finding in (
        installation.delta(ENVIRON, {}),
        installation.pair(ENVIRON, None, {}),
        settings.class_path(class_path(None, {}, {}), {}),
        rule_process(ENVIRON, {}),
    ):
        assert finding.status == SKIPPED


@pytest.mark.parametrize("version", ["0.0.9", "99.0.0"])
def test_a_jar_of_another_version_is_found(jar: Path, version: str) -> None:
    make_jar(jar, version)

    finding = installation.extension_jar()

    assert finding.status == PROBLEM
    assert version in finding.found


def test_a_jar_that_does_not_tell_its_version_is_found(jar: Path) -> None:
    with zipfile.ZipFile(jar, "w") as written:
        written.writestr("sparkext/UsageTrackingExtension.class", "")

    finding = installation.extension_jar()

    assert finding.status == PROBLEM
    assert UNKNOWN_VERSION in finding.found


@pytest.mark.parametrize("content", [b"", b"half a jar"])
def test_a_damaged_jar_is_found(jar: Path, content: bytes) -> None:
    jar.write_bytes(content)

    assert installation.extension_jar().status == PROBLEM


def finding_of_class_path(
    home: Path | None, defaults: Mapping[str, str], **environ: str
) -> Diagnosis:
    return settings.class_path(class_path(home, defaults, environ), defaults)


@pytest.mark.parametrize("place", ["jars", "spark.jars", "spark.driver.extraClassPath"])
def test_a_second_jar_that_differs_is_found(tmp_path: Path, jar: Path, place: str) -> None:
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    folder = home / "jars" if place == "jars" else tmp_path
    other = make_jar(folder / "tracking.jar", "0.0.9")
    entry = f"/x.jar:{folder}/*" if place.endswith("Path") else f"/x.jar, file:{other}"

    finding = finding_of_class_path(home, {place: entry})

    assert finding.status == PROBLEM
    assert str(other) in str(finding.problem)


def test_a_copy_of_the_jar_is_sound(tmp_path: Path, jar: Path) -> None:
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    (home / "jars" / "copy.jar").write_bytes(jar.read_bytes())

    finding = finding_of_class_path(home, {JARS: str(jar)})

    assert finding.status == OK
    assert "copy.jar (Spark's jars)" in finding.found
    assert f"{jar} (spark.jars)" in finding.found


def test_an_extension_without_its_jar_is_found(jar: Path) -> None:
    finding = finding_of_class_path(None, {session.EXTENSIONS: f"{DELTA},{OURS}"})

    assert finding.status == PROBLEM


def test_an_extension_whose_jar_is_elsewhere_is_not_judged(jar: Path) -> None:
    defaults = {session.EXTENSIONS: f"{DELTA},{OURS}", JARS: "s3a://jars/spark-ext.jar"}

    finding = finding_of_class_path(None, defaults)

    assert finding.status == NOTE
    assert "s3a://jars/spark-ext.jar" in finding.found


def test_an_extension_of_delta_without_its_jar_is_found(tmp_path: Path, jar: Path) -> None:
    defaults = {session.EXTENSIONS: f"{DELTA},{OURS}", JARS: str(jar)}

    finding = finding_of_class_path(None, defaults)

    assert finding.status == PROBLEM
    assert finding_of_class_path(None, {**defaults, **OF_DELTA_4_2}).status == OK
    assert session.submit_options()[PACKAGES] in str(finding.advice)


def test_a_password_is_not_shown(jar: Path) -> None:
    defaults = {
        session.EXTENSIONS: f"{DELTA},{OURS}",
        JARS: "https://user:secret@example.org/spark-ext.jar",
    }

    assert "secret" not in finding_of_class_path(None, defaults).found


@pytest.mark.parametrize("content", [b"no archive", b"PK\5\6" + b"\xff" * 18])
def test_a_damaged_jar_on_the_class_path_is_none_of_ours(
    tmp_path: Path, jar: Path, content: bytes
) -> None:
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    (home / "jars" / "damaged.jar").write_bytes(content)

    assert finding_of_class_path(home, {}).status == OK


def test_what_is_no_file_is_not_waited_for(tmp_path: Path, jar: Path) -> None:
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    os.mkfifo(home / "jars" / "pipe.jar")

    assert finding_of_class_path(home, {}).status == OK


# Settings.


def read_defaults(folder: Path, text: str) -> tuple[Path, Mapping[str, str]]:
    (folder / "spark-defaults.conf").write_text(text)
    file = spark_defaults.defaults_file({"SPARK_CONF_DIR": str(folder)}, None)
    assert file is not None
    return file, spark_defaults.defaults(file)


@pytest.mark.parametrize("between", [" ", "   ", "\t", "=", " = ", ": "])
def test_the_defaults_are_read_as_spark_reads_them(tmp_path: Path, between: str) -> None:
    _, found = read_defaults(tmp_path, f"# a\n\n  spark.a{between}b=c d  \n#spark.e f\n")

    assert found == {"spark.a": "b=c d"}


@pytest.mark.parametrize(("encoding", "read"), [("utf-8", "ü"), ("latin-1", "\ufffd")])
def test_the_defaults_are_utf_8_whatever_is_in_them(
    tmp_path: Path, encoding: str, read: str
) -> None:
    file = tmp_path / "spark-defaults.conf"
    file.write_bytes("spark.a ü\nspark.b c\n".encode(encoding))

    assert spark_defaults.defaults(file) == {"spark.a": read, "spark.b": "c"}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("spark.a x,\\\n  y\nspark.b z", {"spark.a": "x,y", "spark.b": "z"}),
        ("spark.a x\\\\\nspark.b z", {"spark.a": "x\\", "spark.b": "z"}),
        ("spark.a x\\\n# y", {"spark.a": "x# y"}),
        ("spark.a C:\\\\x\\ty\\u00fc\\q", {"spark.a": "C:\\x\tyüq"}),
        ("spark\\=a\\:\\ b c", {"spark=a: b": "c"}),
        ("spark.a", {"spark.a": ""}),
        ("spark.a = = x", {"spark.a": "= x"}),
        ("! x\nspark.a x\rspark.b y\\", {"spark.a": "x", "spark.b": "y"}),
        ("spark.a x\nspark.a y", {"spark.a": "y"}),
    ],
)
def test_the_defaults_are_properties_of_java(
    tmp_path: Path, text: str, read: dict[str, str]
) -> None:
    assert read_defaults(tmp_path, text)[1] == read


def test_a_folder_is_no_defaults_file(tmp_path: Path) -> None:
    assert spark_defaults.defaults(tmp_path) == {}


def test_defaults_that_cannot_be_read_are_a_problem_and_the_others_go_on(
    tmp_path: Path, jar: Path
) -> None:
    file = tmp_path / "spark-defaults.conf"
    file.symlink_to("/proc/self/mem")  # which not even root reads from its start

    environ = {**ENVIRON, "SPARK_CONF_DIR": str(tmp_path)}
    findings = {finding.check: finding for finding in examine(environ, with_session=False)}

    assert findings["defaults"].status == PROBLEM
    assert findings["defaults"].found == str(file)
    assert str(file) in str(findings["defaults"].advice)
    assert [name for name, found in findings.items() if "Traceback" in str(found.problem)] == []
    assert findings["extensions"].status == NOTE
    assert findings["rule process"].status == OK


def test_no_value_of_the_defaults_is_told(tmp_path: Path, jar: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.hadoop.fs.s3a.secret.key hush\n")

    environ = {**ENVIRON, "SPARK_CONF_DIR": str(tmp_path)}
    text = as_text(examine(environ, with_session=False))

    assert "1 settings in " in text
    assert "hush" not in text


def test_without_spark_conf_dir_sparks_own_folder_counts(tmp_path: Path) -> None:
    assert spark_defaults.defaults_file({}, tmp_path) == tmp_path / "conf" / "spark-defaults.conf"


@pytest.mark.parametrize(
    ("extensions", "status"),
    [(f"{OURS}, {DELTA}", OK), (OURS, PROBLEM), (DELTA, NOTE), (f"{OURS}2", NOTE)],
)
def test_the_extensions_of_the_defaults(tmp_path: Path, extensions: str, status: str) -> None:
    finding = settings.extensions(*read_defaults(tmp_path, f"spark.sql.extensions {extensions}"))

    assert finding.status == status


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (f"spark.sql.catalog.spark_catalog {CATALOG}", OK),
        ("spark.sql.catalog.spark_catalog org.apache.iceberg.spark.SparkSessionCatalog", PROBLEM),
        (f"spark.sql.catalog.spark_catalog {CATALOG}2", PROBLEM),
        ("spark.sql.catalog.spark_catalog com.example.Front", NOTE),
        (f"spark.sql.extensions {DELTA},{OURS}", PROBLEM),
        ("", OK),
        (f"spark.sql.catalog.spark_catalog {CATALOG}\nspark.sql.catalogImplementation hive", OK),
        (
            f"spark.sql.catalog.spark_catalog {CATALOG}\nspark.sql.catalogImplementation glue",
            PROBLEM,
        ),
    ],
)
def test_the_catalogs_of_the_defaults(tmp_path: Path, lines: str, status: str) -> None:
    assert settings.catalogs(*read_defaults(tmp_path, lines)).status == status


# The rule process.


def test_the_rule_process_answers(jar: Path) -> None:
    finding = rule_process(ENVIRON, {})

    assert finding.status == OK, finding
    assert f"{sys.executable} -E {jar} " in finding.found


def test_a_rule_process_that_refuses_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, jar: Path
) -> None:
    monkeypatch.setattr("spark_ext.doctor.rule_process._QUESTION", "no such question")

    finding = rule_process(ENVIRON, {})

    assert finding.status == PROBLEM
    assert "no such question" in str(finding.problem)


OLD = """exec "{python}" -c '
import runpy, sys
sys.version_info = (3, 9, 18, "final", 0)
runpy.run_path(sys.argv[2])' "$@" """

REFUSING = """exec "{python}" -c '
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
connection = server.accept()[0]
connection.sendall(b"!xno\\n")
connection.recv(1000)' """


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (OLD, "3.9.18"),
        ("echo no Python here >&2; exit 3", "no Python here"),
        ("echo 70000x", "70000x"),
        ("exec cat", "as its port"),
        (REFUSING, "it replied `!xno`"),
    ],
)
@pytest.mark.parametrize(
    "name", ["spark.sparkext.worker.python", "spark.pyspark.python", "PYSPARK_PYTHON"]
)
def test_an_interpreter_that_serves_no_rules_is_found(
    tmp_path: Path, jar: Path, script: str, said: str, name: str
) -> None:
    python = program(tmp_path / "python", script.replace("{python}", sys.executable))

    environ = {**ENVIRON, name: str(python)}
    finding = rule_process(environ, {name: str(python)})

    assert finding.status == PROBLEM
    assert said in str(finding.problem)
    assert f"({name})" in finding.found


def test_a_missing_interpreter_is_found(tmp_path: Path, jar: Path) -> None:
    finding = rule_process(ENVIRON, {"spark.pyspark.driver.python": str(tmp_path / "python")})

    assert finding.status == PROBLEM


def test_a_notebook_front_end_is_no_interpreter(jar: Path) -> None:
    finding = rule_process({**ENVIRON, "PYSPARK_DRIVER_PYTHON": "/opt/jupyter"}, {})

    assert finding.status == OK, finding


# The table of the trial session.


def write_log(table: Path, *metadata: tuple[str, str], feature: str) -> Path:
    (table / "_delta_log").mkdir(parents=True)
    for version, (flag, names) in enumerate(metadata):
        fields = [
            {"name": name, "metadata": {"delta.columnMapping.physicalName": physical}}
            for name, physical in dict(pair.split("=") for pair in names.split()).items()
        ]
        configuration = {"delta.columnMapping.hasDroppedOrRenamed": flag}
        actions = [
            {"protocol": {"writerFeatures": [feature]}},
            {
                "metaData": {
                    "configuration": configuration,
                    "schemaString": json.dumps({"fields": fields}),
                }
            },
        ]
        file = table / "_delta_log" / f"{version:020}.json"
        file.write_text("\n".join(map(json.dumps, actions)))
    return table


SOUND = [("false", "a=a b=b"), ("false", "a=a b=b c=c"), ("true", "d=a b=b c=c")]


@pytest.mark.parametrize(
    ("last", "feature", "is_sound"),
    [
        (SOUND[-1], "columnMappingUsageTracking", True),
        (SOUND[-1], "columnMapping", False),
        (("false", "d=a b=b c=c"), "columnMappingUsageTracking", False),
        (("true", "d=a b=b c=col-1"), "columnMappingUsageTracking", False),
    ],
)
def test_a_table_that_was_not_tracked_is_a_problem(
    tmp_path: Path, last: tuple[str, str], feature: str, is_sound: bool
) -> None:
    table = write_log(tmp_path / "t", *SOUND[:-1], last, feature=feature)

    assert (fault(table) is None) == is_sound


def test_a_table_without_a_log_is_a_problem(tmp_path: Path) -> None:
    assert fault(tmp_path) is not None


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exec sleep 60", "It did not end"),
        ("echo no session here >&2; exit 3", "It failed: no session here"),
        ("exit 0", "The protocol lacks columnMappingUsageTracking"),
    ],
)
def test_a_trial_that_tracks_no_table_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    python = program(tmp_path / "python", script)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(trial, "_SECONDS", 2)

    finding = trial.session(ENVIRON)

    assert finding.status == PROBLEM
    assert str(finding.problem).startswith(said)
    assert finding.advice


# All together.


def test_a_check_that_fails_is_a_problem_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(environ: Mapping[str, str]) -> Diagnosis:
        raise ZeroDivisionError("of the check")

    monkeypatch.setattr(installation, "java", failing)

    findings = {finding.check: finding for finding in examine(ENVIRON, with_session=False)}

    assert findings["java"].status == PROBLEM
    assert "ZeroDivisionError" in str(findings["java"].problem)
    assert findings["python"].status == OK


def test_the_text_has_what_the_findings_have() -> None:
    findings = [Diagnosis("a", OK, "x"), Diagnosis("b", PROBLEM, "y", "wrong", "do this")]

    text = as_text(findings)

    assert [word for word in ("a", "x", "b", "y", "wrong", "do this") if word not in text] == []
    assert text.splitlines()[-1].endswith("1 problem(s) found.")
