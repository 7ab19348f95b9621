# SPDX-License-Identifier: Apache-2.0
"""Tests calls over the tables of another catalog: names, schemas below schemas, and refusals."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import LakehouseReport
from tests.integration.lakehouse_tables import at, is_unmapped, outcomes, quiet, untracked
from tests.support.delta_table import write_tracked
from tests.support.java_catalogs import add_catalog
from tests.support.session_conf import SetConf, session_conf
from tests.support.table_log import TableLog

RESERVED = dict.fromkeys(
    ("spark.sql.ansi.enabled", "spark.sql.ansi.enforceReservedKeywords"), "true"
)

pytestmark = pytest.mark.without("auto-compact", "deletion-vectors", "row-tracking")


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of the catalog `lakes`, which lists the tables there."""
    home = tmp_path_factory.mktemp("lakes")
    return add_catalog(spark, home, "lakes", "PathCatalog", "ListingCatalog")


def test_tables_of_another_catalog_and_paths_may_have_any_name(
    spark: SparkSession, tables: Path, tmp_path: Path, conf: SetConf
) -> None:
    conf("x", "1")
    places = ["a.b", "below/tick`", "below/v${x}", "below/more/é 日本", "select"]
    for place in places:
        write_tracked(spark, tables / "deep" / place)
    copied = untracked(at(spark, tables, "deep", "below", "v1"))
    odd = tmp_path / "odd `path` ${x}"
    shutil.copytree(tables / "deep" / places[0], odd)

    def remove(until: str) -> LakehouseReport:
        return quiet(spark_ext.remove_column_mapping, spark, "lakes.deep", odd, until=until)

    with session_conf(spark, RESERVED):
        first = remove("readers")
        second = remove("writers")

    assert outcomes(first) == ["DONE"] * 7, first.text()
    paths = [odd, copied.path, *(tables / "deep" / place for place in places)]
    assert all(is_unmapped(TableLog(path)) for path in paths)
    counts = {each.table: each.copied and each.copied.num_files for each in first.tables}
    assert [name.replace("`", "") for name, count in counts.items() if count] == [
        "lakes.deep.below.v1"
    ]
    assert outcomes(second) == ["WAITING"] * 7, second.text()
    assert all(each.come_back is not None for each in second.tables)


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

    found = [(each.table, each.outcome) for each in report.tables]
    assert found == [("lakes.open.fact_a", "ALREADY_DONE"), ("lakes.secret", "UNREADABLE")]
    assert (report.complete, excluded.complete) == (False, True)
    assert (erased.verdict, erased.filters) == ("UNREADABLE", ("include fact_*",))
