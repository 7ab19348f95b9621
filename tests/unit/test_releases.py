# SPDX-License-Identifier: Apache-2.0
"""Tests which Spark and Delta `configure` accepts, by the names of their jars and packages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from pyspark.sql import SparkSession

import spark_ext
from hatch_build import requirements
from spark_ext.errors import UnsupportedSparkVersionError
from spark_ext.launch import session
from spark_ext.launch.releases import RELEASES, launched_spark, line_of, require_pair
from tests.matrix.pairs import SHORT, WHOLE, is_pair, numbers
from tests.matrix.places import PLACES, Place

CHECKOUT = Path(__file__).parents[2]
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
def test_old_spark_or_scala_is_refused(spark: str, scala: str, named: str) -> None:
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
        ("4.2.0", "delta-spark_4.2_2.13:4.4.1", "4.4.1, for which there are no jars"),
        ("4.2.0", "delta-spark_2.12:3.3.2", "3.3.2 of Scala 2.12"),
    ],
)
def test_wrong_pair_is_refused(spark: str, artifact: str, named: str) -> None:
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
        # Versions of vendors.
        ("4.0.2-amzn-0", "delta-spark_4.0_2.13:4.1.0"),
        ("4.1.1.5.2", "delta-spark_2.13:4.2.0"),
        # A vendor's Spark 4.1.2 may have the class that the released one lacks. The jar checks it.
        ("4.1.2", "delta-spark_4.1_2.13:4.2.0"),
        ("4.1.2", "delta-spark_4.1_2.13:4.2.0.dataproc-1"),
        ("4.0.2", "delta-spark_4.0_2.13:4.0.0-amzn-1"),
        # The jar checks releases that are newer than all known releases.
        ("4.3.0", "delta-spark_4.3_2.13:4.99.0"),
        ("4.2.0", "delta-spark_2.13:4.99.0"),
    ],
)
def test_pair_is_accepted(spark: str, artifact: str) -> None:
    require_pair(spark, "2.13", [f"io.delta:{artifact}", "io.delta:delta-sharing-spark_2.13:9"])


def test_configure_refuses_a_wrong_pair_and_does_not_change_the_builder() -> None:
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
        # Jars without a known version.
        (["spark-assembly.jar"], ("4.1.0", "2.13")),
    ],
)
def test_launched_spark_is_the_one_of_spark_home(
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


PAIRS = {
    (spark, delta) for spark in SPARKS for delta in RELEASES["deltas"] if is_pair(spark, delta)
}


def sparks_of(words: str) -> list[str]:
    """Returns the releases of Spark in `4.2`, `4.0 to 4.1.1`, `4.1.2 and later 4.1`, or a list."""
    first, *last = re.findall(r"[\d.]+", words)
    if " to " in words:
        return between(first, last[0], SPARKS)
    if " and later " in words:
        return [spark for spark in between(first, SPARKS[-1], SPARKS) if line_of(spark) == last[0]]
    return [first, *last] if last else RELEASES["sparks"][first]


def between(first: str, last: str, releases: Iterable[str]) -> list[str]:
    return [found for found in releases if numbers(first) <= numbers(found) <= numbers(last)]


def test_supported_releases_in_words_name_the_pairs() -> None:
    named = set()
    for sparks, oldest, newest in re.findall(
        r"Spark ([^,;]+?) with delta-spark ([\d.]+)(?: to ([\d.]+))?", RELEASES["supported"]
    ):
        deltas = between(oldest, newest or oldest, RELEASES["deltas"])
        named |= {(spark, delta) for spark in sparks_of(sparks) for delta in deltas}

    assert named == PAIRS
    assert RELEASES["supported"].endswith(f"; Scala {RELEASES['scala']}")


def test_versions_page_names_the_pairs() -> None:
    page = (CHECKOUT / "docs" / "versions.md").read_text()
    named = set()
    for sparks, deltas, line in re.findall(r"\| (.+) \| (.+) \| `delta-spark(.*)_2.13` \|", page):
        assert {f"_{line_of(spark)}" for spark in sparks_of(sparks)} == {line or "_4.0"}
        assert (line == "") == set(deltas.split(", ")).issubset(RELEASES["artifactsWithoutLine"])
        named |= {(spark, delta) for spark in sparks_of(sparks) for delta in deltas.split(", ")}

    assert named == PAIRS


def test_matrix_page_has_a_result_of_every_pair_of_the_matrix() -> None:
    page = (CHECKOUT / "docs" / "test-matrix.md").read_text()
    results = re.findall(
        r"^\| ([\d.]+) \| ([\d.]+) \| (.+?) \| yes \| \d+ \| 0 \| ", page, re.MULTILINE
    )
    named = {f"{spark}+{delta}": run for spark, delta, run in results}

    assert {*WHOLE, *SHORT} <= named.keys()
    assert {pair for pair in WHOLE if not named[pair].startswith("all")} == set()


def test_matrix_has_every_delta_of_every_line_and_no_other_pair() -> None:
    default = RELEASES["default"]["spark"], RELEASES["default"]["delta"]
    run = {tuple(pair.split("+")) for pair in [*WHOLE, *SHORT]} | {default}

    assert run <= PAIRS
    assert {(line_of(spark), delta) for spark, delta in run} == {
        (line_of(spark), delta) for spark, delta in PAIRS
    }
    assert {spark for spark, _ in run} == set(SPARKS)


def test_package_requires_releases_that_work() -> None:
    delta, spark = map(Requirement, requirements(dict(RELEASES)))
    refused = RELEASES["refusedDeltas"]

    assert (delta.name, spark.name) == ("delta-spark", "pyspark")
    assert list(delta.specifier.filter([*RELEASES["deltas"], *refused])) == [*RELEASES["deltas"]]
    assert list(spark.specifier.filter(SPARKS)) == SPARKS
    assert not delta.specifier.contains(after([*RELEASES["deltas"]][-1]))
    assert not spark.specifier.contains("4.0.0")
    assert not spark.specifier.contains(after(SPARKS[-1]))


def after(release: str) -> str:
    """Returns the first release of the next minor version."""
    major, minor, _ = numbers(release)
    return f"{major}.{minor + 1}.0"


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.file)
def test_file_has_the_text_that_make_format_writes(place: Place) -> None:
    assert (CHECKOUT / place.file).read_text() == place.written(), "run `make format`"
