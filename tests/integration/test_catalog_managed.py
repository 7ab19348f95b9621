# SPDX-License-Identifier: Apache-2.0
"""Tests tables of a catalog that refuses some statements, as Unity Catalog does.

No registry has Unity Catalog's server and connector. The tests use Delta's own part: the feature
`catalogManaged`, and a commit coordinator in memory that publishes no commit.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import UsageTracking
from spark_ext.errors import CannotAlignNamesError, CannotRemoveColumnMappingError
from tests.integration.catalog_managed import CATALOG_MANAGED, managed_table, staged
from tests.integration.connectors import MODE, TWO_CONNECTORS
from tests.integration.erasures import remaining, steps
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.java_catalogs import add_catalog
from tests.support.releases import ADAPTIVE_METADATA
from tests.support.removal import local
from tests.support.session_conf import session_conf
from tests.support.table_log import UUID, TableLog

NAME = "managed"
PATH_BLOCKED = "DELTA_PATH_BASED_ACCESS_TO_CATALOG_MANAGED_TABLE_BLOCKED"
BLOCKED = "DELTA_UNSUPPORTED_CATALOG_MANAGED_TABLE_OPERATION"


@pytest.fixture
def managed(spark: SparkSession) -> Iterator[Table]:
    with managed_table(spark, NAME, "a INT, b STRING, d INT", TRACKED, NAME_MODE) as table:
        table.insert("(1, 'x', 7)")
        yield table


@pytest.fixture(scope="module")
def unity(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder for tables of the catalog `unity`."""
    home = tmp_path_factory.mktemp("unity")
    return add_catalog(spark, home, "unity", "PathCatalog", "UnityLikeCatalog")


@pytest.fixture
def external(spark: SparkSession, unity: Path) -> Table:
    path = unity / "db" / "t"
    shutil.rmtree(path, ignore_errors=True)
    table = Table(spark, path).create_tracked("id INT, city STRING")
    table.insert("(1, 'Rome')")
    table.alter("RENAME COLUMN city TO `a b`")
    return Table(spark, path, "unity.db.t")


def published(table: Table) -> TableLog:
    """Returns the log after all staged commits were copied to the log's folder."""
    for commit in staged(table):
        shutil.copy(commit, commit.parents[1] / f"{commit.name[:20]}.json")
    return table.log


# A catalog that suggests column mapping for every new table.


def created(spark: SparkSession, unity: Path, *properties: str) -> Table:
    shutil.rmtree(unity / "db" / "new", ignore_errors=True)
    return Table(spark, unity / "db" / "new", "unity.db.new").create("a INT, b INT", *properties)


def test_ways_of_docs_unity_catalog_give_readable_names(spark: SparkSession, unity: Path) -> None:
    by_default = {"spark.sparkext.usageTracking.enabledByDefault": "true"}
    with session_conf(spark, by_default):
        made = [created(spark, unity).log]
    made.append(created(spark, unity, TRACKED).log)
    later = created(spark, unity)
    plain = later.log
    UsageTracking.forName(spark, later.name).enable()
    assert later.log.flag == "true"
    UsageTracking.forName(spark, later.name).align_names(progress=None)

    assert plain.columns == {"a": (1, UUID), "b": (2, UUID)}
    for log in (*made, later.log):
        assert (log.physical_names, log.is_tracked) == ({"a": "a", "b": "b"}, True)
        assert log.flag == "false"


# Erasure of dropped data.


@CATALOG_MANAGED
def test_managed_table_needs_a_rewrite_and_a_vacuum_by_its_catalog(managed: Table) -> None:
    managed.alter("DROP COLUMN d")
    tracking = UsageTracking.forName(managed.spark, NAME)

    assert steps(tracking.dropped_columns(progress=None)) == ["REWRITE", "LOG CLEANUP"]
    for refused in ("VACUUM managed", "REORG TABLE managed APPLY (PURGE)"):
        with refusal(BLOCKED):
            managed.spark.sql(refused)

    managed.spark.sql("INSERT OVERWRITE managed SELECT * FROM managed")  # this is the first step

    found = tracking.dropped_columns(progress=None)
    assert (steps(found), remaining(found)["older files"]) == (["VACUUM", "LOG CLEANUP"], 1)
    (statement,) = [each.statement for each in found.places if each.step == "VACUUM"]
    assert statement is not None
    assert "catalog" in statement


# Features that need column mapping.


@ADAPTIVE_METADATA
def test_adaptive_metadata_keeps_column_mapping_until_its_rows_are_copied(
    spark: SparkSession,
) -> None:
    feature = "adaptiveMetadata-preview"
    supported = f"'delta.feature.{feature}' = 'supported'"
    with managed_table(spark, "adaptive", "a INT", TRACKED, supported) as table:
        table.insert("(1)")
        tracking = UsageTracking.forName(spark, "adaptive")
        before = len(staged(table))

        with pytest.raises(CannotRemoveColumnMappingError) as refused:
            tracking.remove_column_mapping(progress=None)
        with refusal("DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE"):
            table.alter(f"DROP FEATURE `{feature}`")

        assert f"OTHER_FEATURE ({feature})" in refused.value.params["reasons"]
        assert "Copy the rows into a new table" in refused.value.params["advice"]
        assert len(staged(table)) == before


# Column names that block a removal.


@CATALOG_MANAGED
def test_column_name_of_a_managed_table_is_changed_without_a_rename(managed: Table) -> None:
    managed.alter("ADD COLUMN `a b` INT")
    managed.spark.sql("UPDATE managed SET `a b` = d")
    managed.alter("DROP COLUMN d")
    tracking = UsageTracking.forName(managed.spark, NAME)
    before = len(staged(managed))

    for dry_run in (True, False):
        with pytest.raises(CannotAlignNamesError) as refused:
            tracking.align_names(dry_run=dry_run, progress=None)
    assert "CATALOG_MANAGED (catalogManaged)" in refused.value.params["reasons"]
    assert "UPDATE" in refused.value.params["advice"]
    assert refused.value.params["advice"] in repr(tracking.remove_column_mapping(dry_run=True))
    assert len(staged(managed)) == before

    managed.alter("ADD COLUMN c INT")  # this is the advice
    managed.spark.sql("UPDATE managed SET c = `a b`")
    managed.alter("DROP COLUMN `a b`")
    assert tracking.align_names(progress=None).aligned

    assert managed.selected() == [(1, "x", 7)]
    log = published(managed)
    assert {name: physical for name, (_, physical) in log.columns.items()} == {
        name: name for name in "abc"
    }
    assert (log.is_tracked, log.flag) == (True, "false")


def test_column_name_of_an_external_table_is_changed_by_table_path(external: Table) -> None:
    tracking = UsageTracking.forName(external.spark, external.name)
    with external.no_commit(), pytest.raises(PySparkException):
        external.alter("RENAME COLUMN `a b` TO c")
    with external.no_commit(), pytest.raises(CannotAlignNamesError) as refused:
        tracking.align_names(progress=None)
    assert "delta.`<path>` RENAME COLUMN" in refused.value.params["advice"]

    # This is the advice.
    external.spark.sql(f"ALTER TABLE delta.`{external.path}` RENAME COLUMN `a b` TO c")

    assert tracking.align_names(progress=None).aligned
    assert external.log.columns["c"][1] == "c"
    assert external.selected() == [(1, "Rome")]


# Errors.

BY_PATH: dict[str, Callable[[SparkSession, Path], object]] = {
    "forPath": UsageTracking.forPath,
    "function": lambda spark, path: spark.sql(f"SELECT * FROM column_mapping('delta.`{path}`')"),
    "dropped": lambda spark, path: spark.sql(
        f"SELECT * FROM column_mapping_dropped('delta.`{path}`')"
    ),
    "audit": lambda spark, path: spark_ext.audit(spark, path, progress=None),
}


@CATALOG_MANAGED
def test_access_by_path_is_refused_with_the_condition_of_delta(managed: Table) -> None:
    for how, ask in BY_PATH.items():
        with pytest.raises(AnalysisException) as refused:
            ask(managed.spark, managed.path)

        error = refused.value
        assert (error.getCondition(), error.getSqlState()) == (PATH_BLOCKED, "KD00G"), how
        assert str(error).count("SQLSTATE") == 1, how


def test_error_without_a_condition_gets_one(external: Table, unity: Path) -> None:
    nowhere = {"spark.sql.catalog.nowhere": "UnityLikeCatalog"}
    nowhere["spark.sql.catalog.nowhere.root"] = "nosuchscheme://bucket"

    with session_conf(external.spark, nowhere), pytest.raises(AnalysisException) as refused:
        UsageTracking.forName(external.spark, "nowhere.db.t")

    assert refused.value.getCondition() == "USAGE_TRACKING_TABLE_FUNCTION_FAILED"
    params = refused.value.getMessageParameters() or {}
    assert params["function"] == "column_mapping_named_table"
    assert "nosuchscheme" in params["error"]


# Delta's second connector.


@TWO_CONNECTORS
@pytest.mark.broken_table("file_missing")
def test_audit_reads_a_table_of_another_catalog_that_kernel_loads(external: Table) -> None:
    with session_conf(external.spark, {MODE: "STRICT"}):
        assert not spark_ext.audit(external.spark, external.name, progress=None).findings
        with refusal("USAGE_TRACKING_KERNEL_TABLE"):
            UsageTracking.forName(external.spark, external.name)
        (file,) = external.log.live_files
        local(external.path, file).unlink()

        (finding,) = spark_ext.audit(external.spark, external.name, progress=None).findings
    assert finding.check == "file_missing"


@TWO_CONNECTORS
@pytest.mark.usefixtures("unity")
@pytest.mark.broken_table("file_missing")
def test_audit_reads_a_table_that_kernel_loads_with_its_catalog_entry(named_table: Table) -> None:
    named_table.create_tracked()
    named_table.insert("(1, 'x')")
    with session_conf(named_table.spark, {MODE: "STRICT"}):
        assert not spark_ext.audit(named_table.spark, "unity.default.named", progress=None).findings
        (file,) = named_table.log.live_files
        local(named_table.path, file).unlink()

        (finding,) = spark_ext.audit(
            named_table.spark, "unity.default.named", progress=None
        ).findings
    assert finding.check == "file_missing"


@TWO_CONNECTORS
def test_audit_of_a_table_with_staged_commits_has_no_findings_under_strict(managed: Table) -> None:
    assert staged(managed)

    with session_conf(managed.spark, {MODE: "STRICT"}):
        assert not spark_ext.audit(managed.spark, NAME, progress=None).findings
