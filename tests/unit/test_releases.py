# SPDX-License-Identifier: Apache-2.0
"""Which Spark and Delta `configure` accepts, by the names of their jars and packages."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext.errors import UnsupportedSparkVersionError
from spark_ext.launch import releases, session
from spark_ext.launch.releases import launched_spark, require_pair

CHECKOUT = Path(__file__).parents[2]
ERRORS = CHECKOUT / "jars/src/main/java/sparkext/error"
# Of each minor release of Spark; what is said of pairs elsewhere has to follow.
PAIRS = {(spark, delta) for spark, deltas in releases.DELTAS.items() for delta in deltas}


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

    assert params == {"spark": named, "delta": "3.3.2", "supported": releases.SUPPORTED_PAIRS}


@pytest.mark.parametrize(
    ("spark", "artifact", "named"),
    [
        ("4.2.0", "delta-spark_4.1_2.13:4.4.0", "4.4.0 for Spark 4.1"),
        ("4.1.1", "delta-spark_4.0_2.13:4.1.0", "4.1.0 for Spark 4.0"),
        ("4.0.1", "delta-spark_4.2_2.13:4.4.0", "4.4.0 for Spark 4.2"),
        ("4.2.0", "delta-spark_2.13:4.3.1", "4.3.1 for Spark 4.1"),
        ("4.1.0", "delta-spark_2.13:4.4.0", "4.4.0 for Spark 4.2"),
        ("4.2.0", "delta-spark_4.2_2.13:4.3.1", "4.3.1"),
        ("4.3.0", "delta-spark_4.3_2.13:4.4.0", "4.4.0"),
        ("4.2.0", "delta-spark_4.2_2.13:4.4.1", "4.4.1, of which there are no jars"),
        ("4.2.0", "delta-spark_2.12:3.3.2", "3.3.2 of Scala 2.12"),
        ("4.1.2", "delta-spark_4.1_2.13:4.1.0", "4.1.0 for Spark before 4.1.2"),
        ("4.1.4", "delta-spark_2.13:4.2.0", "4.2.0 for Spark before 4.1.2"),
    ],
)
def test_a_wrong_pair_is_refused(spark: str, artifact: str, named: str) -> None:
    assert refusal(spark, "2.13", "org.example:a:1", f"io.delta:{artifact}") == {
        "spark": spark,
        "delta": named,
        "supported": releases.SUPPORTED_PAIRS,
    }


@pytest.mark.parametrize(
    ("spark", "artifact"),
    [
        ("4.0.1", "delta-spark_4.0_2.13:4.1.0"),
        ("4.0.2", "delta-spark_4.0_2.13:4.4.0"),
        ("4.1.1", "delta-spark_4.1_2.13:4.3.1"),
        ("4.1.0", "delta-spark_2.13:4.1.0"),
        ("4.0.5", "delta-spark_4.0_2.13:4.1.0"),
        ("4.1.1", "delta-spark_4.1_2.13:4.2.0"),
        ("4.1.2", "delta-spark_4.1_2.13:4.3.0"),
        ("4.2.0", "delta-spark_4.2_2.13:4.4.0"),
        ("4.2.1-SNAPSHOT", "delta-spark_2.13:4.4.0"),
        # Newer than all known: the jar sees.
        ("4.3.0", "delta-spark_4.3_2.13:4.5.0"),
        ("4.2.0", "delta-spark_2.13:4.5.0"),
    ],
)
def test_a_pair_is_accepted(spark: str, artifact: str) -> None:
    require_pair(spark, "2.13", [f"io.delta:{artifact}", "io.delta:delta-sharing-spark_2.13:9"])


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


def test_both_halves_tell_the_same_pairs() -> None:
    conditions = (ERRORS / "Conditions.java").read_text()

    (java,) = re.findall(r"SUPPORTED_PAIRS =(.*?);\n", conditions, re.DOTALL)

    assert "".join(re.findall(r'"([^"]*)"', java)) == releases.SUPPORTED_PAIRS


def test_the_jar_knows_the_same_releases_of_delta() -> None:
    errors = (ERRORS / "UsageTrackingErrors.java").read_text()

    (java,) = re.findall(r'SUPPORTED_RELEASES = "(.*)";', errors)

    assert set(java.split(", ")) == {delta for _, delta in PAIRS}


def test_the_hooks_are_matched_in_the_jars_of_all_pairs() -> None:
    pom = (CHECKOUT / "jars" / "pom.xml").read_text()

    copied = re.findall(r"delta-spark_([\d.]+)_\S+</artifactId><version>(.*)</version>", pom)

    assert set(copied) == PAIRS


def test_the_matrix_has_all_pairs() -> None:
    matrix = runpy.run_path(str(CHECKOUT / "tests" / "matrix" / "__main__.py"))

    pairs = [pair.split("+") for pair in [*matrix["WHOLE"], *matrix["SHORT"]]]

    assert {(spark.rpartition(".")[0], delta) for spark, delta in pairs} == PAIRS
    for spark, delta in pairs:
        artifact = f"delta-spark_{spark.rpartition('.')[0]}_2.13"
        require_pair(spark, "2.13", [f"io.delta:{artifact}:{delta}"])


def test_the_page_tells_the_pairs() -> None:
    page = (CHECKOUT / "docs" / "install.md").read_text()
    rows = re.findall(r"\| (\d\.\d).* \| (.+) \| `delta-spark_(.*)_2.13` \|", page)

    told = {(spark, delta) for spark, deltas, _ in rows for delta in deltas.split(", ")}

    assert told == PAIRS
    assert all(spark == artifact for spark, _, artifact in rows)
