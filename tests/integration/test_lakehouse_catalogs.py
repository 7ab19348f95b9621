# SPDX-License-Identifier: Apache-2.0
"""Tests calls over the tables of another catalog: names, schemas below schemas, and refusals."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_ext
from tests.integration.lakehouse_tables import at, is_unmapped, outcomes, quiet, untracked
from tests.support.delta_table import write_tracked
from tests.support.java_catalogs import add_catalog
from tests.support.session_conf import SetConf
from tests.support.table_log import TableLog

pytestmark = pytest.mark.without("auto-compact", "deletion-vectors", "row-tracking")


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of the catalog `lakes`, which lists the tables there."""
    home = tmp_path_factory.mktemp("lakes")
    return add_catalog(spark, home, "lakes", "PathCatalog", "ListingCatalog")


def test_tables_of_another_catalog_and_paths_may_have_any_name(
    spark: SparkSession, tables: Path, tmp_path: Path
) -> None:
    places = ["deep/a.b", "deep/below/tick`", "deep/below/v${x}", "deep/below/more/é 日本"]
    for place in places:
        write_tracked(spark, tables / place)
    odd = tmp_path / "odd `path` ${x}"
    shutil.copytree(tables / places[0], odd)

    report = quiet(spark_ext.remove_column_mapping, spark, "lakes.deep", odd)

    assert outcomes(report) == ["DONE"] * 5, report.text()
    assert all(is_unmapped(TableLog(path)) for path in [*(tables / each for each in places), odd])
    assert [len(each.statements) for each in report.tables] == [1] * 5


def test_tables_may_have_reserved_words_as_names(
    spark: SparkSession, tables: Path, conf: SetConf
) -> None:
    conf("spark.sql.ansi.enabled", "true")
    conf("spark.sql.ansi.enforceReservedKeywords", "true")
    logs = [write_tracked(spark, tables / "words" / name) for name in ("select", "table")]

    report = quiet(spark_ext.remove_column_mapping, spark, "lakes.words", until="readers")

    assert outcomes(report) == ["DONE", "DONE"], report.text()
    assert all(is_unmapped(TableLog(log.path)) for log in logs)


def test_schema_that_cannot_be_listed_is_in_the_result_of_patterns(
    spark: SparkSession, tables: Path
) -> None:
    write_tracked(spark, tables / "open" / "fact_a")
    write_tracked(spark, tables / "secret" / "fact_b")
    (tables / "secret" / "_denied").touch()
    try:
        report, excluded = (
            quiet(spark_ext.track, spark, "lakes", include="fact_*", exclude=exclude)
            for exclude in ("none", "secret.*")
        )
        erased = spark_ext.dropped_columns(
            spark, "lakes", column="ssn", include="fact_*", progress=None
        )
    finally:
        shutil.rmtree(tables / "secret")
        shutil.rmtree(tables / "open")

    found = {each.table: each.outcome for each in report.tables}
    assert found == {
        "lakes.open.fact_a": "ALREADY_DONE",
        "lakes.secret": "UNREADABLE",
    }
    assert (report.complete, excluded.complete) == (False, True)
    assert (erased.verdict, erased.filters) == ("UNREADABLE", ("include fact_*",))


def test_table_below_two_schemas_has_counts_and_the_time_of_the_next_call(
    spark: SparkSession, tables: Path
) -> None:
    place = tables / "counts" / "below" / "t"
    untracked(at(spark, place))

    copied = quiet(spark_ext.remove_column_mapping, spark, "lakes.counts")
    first = quiet(spark_ext.remove_column_mapping, spark, "lakes.counts", until="writers")
    version = TableLog(place).version
    second = quiet(spark_ext.remove_column_mapping, spark, "lakes.counts", until="writers")

    (row,) = copied.tables
    assert row.copied is not None
    assert (row.table, row.outcome, row.copied.num_files) == (
        *("lakes.counts.below.t", "DONE"),
        1,
    )
    assert (outcomes(first), outcomes(second)) == (["WAITING"], ["WAITING"])
    assert first.come_back == second.come_back
    assert first.come_back is not None
    # While the period lasts, nothing runs.
    assert TableLog(place).version == version
    shutil.rmtree(tables / "counts")
