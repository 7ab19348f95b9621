# SPDX-License-Identifier: Apache-2.0
"""SHALLOW CLONE: as a new table, and over a table that exists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chispa.dataframe_comparer import assert_df_equality
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.releases import TAKES_PARQUET
from tests.support.table_log import FEATURE, FLAG, UUID

FEATURE_DEFAULT = f"spark.databricks.delta.properties.defaults.feature.{FEATURE}"
TRACK_MAPPED = "spark.sparkext.usageTracking.enabledByDefault"

ID_MODE = "'delta.columnMapping.mode' = 'id'"
NONE_MODE = "'delta.columnMapping.mode' = 'none'"

SetConf = Callable[[str, str], None]
Clone = Callable[[Table, Table], None]


def clone(source: Table, target: Table, properties: str = "") -> None:
    clause = f"TBLPROPERTIES ({properties})" if properties else ""
    source.spark.sql(f"CREATE OR REPLACE TABLE {target.name} SHALLOW CLONE {source.name} {clause}")


def clone_by_builder(source: Table, target: Table) -> None:
    original = DeltaTable.forPath(source.spark, str(source.path))
    original.clone(str(target.path), isShallow=True, replace=True)


@pytest.fixture
def source(table: Table) -> Table:
    return Table(table.spark, table.path.with_name("source"))


def add_column_and_row(table: Table, values: str) -> None:
    table.alter("ADD COLUMN new INT")
    table.insert(values)


# Refusals.


def test_clone_with_other_columns_over_a_table_with_rows_is_refused(
    source: Table, table: Table
) -> None:
    source.create_tracked("a INT, b INT")
    source.insert("(1, 10)")
    table.create_tracked("a INT")
    table.insert("(2)")

    with table.refusal("DELTA_UNSUPPORTED_NON_EMPTY_CLONE"):
        clone(source, table)

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a")})
    assert table.rows() == [(2,)]


@pytest.mark.parametrize(
    ("mode", "source_mode"),
    [
        pytest.param(NONE_MODE, NAME_MODE, id="none->name"),
        pytest.param(NAME_MODE, NONE_MODE, id="name->none"),
        pytest.param(ID_MODE, NAME_MODE, id="id->name"),
    ],
)
def test_clone_over_a_table_of_another_mode_is_refused(
    source: Table, table: Table, mode: str, source_mode: str
) -> None:
    source.create("a INT", TRACKED, source_mode)
    source.insert("(1)")
    table.create("a INT", TRACKED, mode)
    before = table.log

    with table.refusal("DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE"):
        clone(source, table)

    assert table.log.commits == before.commits
    assert (table.log.is_tracked, table.log.flag) == (True, "false")
    assert table.rows() == []


# As a new table.


@pytest.mark.parametrize("clone_by", [clone, clone_by_builder])
def test_clone_of_a_table_with_the_flag_false_gives_logical_names(
    source: Table, table: Table, clone_by: Clone
) -> None:
    source.create_tracked("a INT, s STRUCT<x: INT>")
    source.insert("(1, struct(2))")
    with source.no_commit():
        clone_by(source, table)
    cloned = table.log
    add_column_and_row(table, "(3, struct(4), 5)")

    assert (cloned.version, cloned.is_tracked, cloned.flag) == (0, True, "false")
    assert (cloned.columns, cloned.max_column_id) == (source.log.columns, 3)
    assert (table.log.flag, table.log.columns["new"]) == ("false", (4, "new"))
    assert table.log.written_columns() == ["a", "new", "s.x"]
    assert table.rows("a, s.x, new") == [(1, 2, None), (3, 4, 5)]


def test_clone_of_a_table_with_the_flag_true_gives_uuid_names(source: Table, table: Table) -> None:
    source.create_tracked("a INT, b INT, new INT")
    source.insert("(1, 10, 100)")
    source.alter("RENAME COLUMN b TO c")
    source.alter("DROP COLUMN new")
    clone(source, table)
    cloned = table.log
    add_column_and_row(table, "(2, 20, 200)")

    assert (cloned.version, cloned.is_tracked, cloned.flag) == (0, True, "true")
    assert (cloned.columns, cloned.max_column_id) == ({"a": (1, "a"), "c": (2, "b")}, 3)
    assert (table.log.flag, table.log.columns["new"]) == ("true", (4, UUID))
    assert table.log.written_columns() == ["a", "b", UUID]
    assert table.rows() == [(1, 10, None), (2, 20, 200)]


@pytest.mark.matrix
def test_clone_of_a_table_in_id_mode_keeps_ids_and_gives_logical_names(
    source: Table, table: Table
) -> None:
    source.create("a INT, b INT", TRACKED, ID_MODE)
    source.insert("(1, 10)")
    clone(source, table)
    cloned = table.log
    add_column_and_row(table, "(2, 20, 200)")

    assert cloned.configuration["delta.columnMapping.mode"] == "id"
    assert (cloned.is_tracked, cloned.flag) == (True, "false")
    assert cloned.columns == {"a": (1, "a"), "b": (2, "b")}
    assert (table.log.flag, table.log.columns["new"]) == ("false", (3, "new"))
    assert table.log.parquet_field_ids() == {"a": 1, "b": 2, "new": 3}
    assert table.rows() == [(1, 10, None), (2, 20, 200)]


@pytest.fixture
def copy(spark: SparkSession, named_table: Table) -> Iterator[Table]:
    """What a clone of `named_table` makes, once it is run."""
    yield Table(spark, named_table.path.with_name("copied"), "copied")
    spark.sql("DROP TABLE IF EXISTS copied")


@pytest.mark.parametrize("location", ["managed", "external"])
@pytest.mark.matrix
def test_table_of_the_catalog_is_cloned_by_name(
    named_table: Table, copy: Table, tmp_path: Path, location: str
) -> None:
    named_table.create_tracked("a INT, b INT")
    named_table.insert("(1, 10)")
    named_table.alter("RENAME COLUMN b TO c")
    cloned = copy if location == "managed" else Table(copy.spark, tmp_path / "t", "copied")
    clause = f"LOCATION '{tmp_path / 't'}'" if location == "external" else ""
    with named_table.no_commit():
        copy.spark.sql(f"CREATE TABLE copied SHALLOW CLONE named {clause}")
    first = cloned.log
    assert_df_equality(cloned.frame(), named_table.frame())
    add_column_and_row(cloned, "(2, 20, 200)")

    assert (first.version, first.is_tracked, first.flag) == (0, True, "true")
    assert first.columns == {"a": (1, "a"), "c": (2, "b")}
    assert (cloned.log.flag, cloned.log.columns["new"]) == ("true", (3, UUID))
    assert cloned.log.written_columns() == ["a", "b", UUID]
    assert cloned.rows() == [(1, 10, None), (2, 20, 200)]


@pytest.fixture
def parquet(spark: SparkSession, tmp_path: Path) -> str:
    """A folder of Parquet files as SQL names it."""
    spark.sql("SELECT 1 AS a, 10 AS b").write.parquet(str(tmp_path / "parquet"))
    return f"parquet.`{tmp_path / 'parquet'}`"


@TAKES_PARQUET
@pytest.mark.parametrize("over", ["nothing", "an empty tracked table"])
def test_clone_of_a_parquet_folder_is_mapped_with_logical_names(
    table: Table, parquet: str, over: str
) -> None:
    if over == "nothing":
        clause = f"TBLPROPERTIES ({TRACKED})"
    else:
        table.create("a INT, b INT", TRACKED)
        clause = ""
    table.spark.sql(f"CREATE OR REPLACE TABLE {table.name} SHALLOW CLONE {parquet} {clause}")
    cloned = table.log
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    add_column_and_row(table, "(2, 20, 200)")

    assert (cloned.operation, cloned.is_tracked, cloned.flag) == ("CLONE", True, "false")
    assert cloned.columns == {"a": (None, None), "b": (None, None)}
    assert table.log.flag == "false"
    assert table.log.columns == {"a": (1, "a"), "b": (2, "b"), "new": (3, "new")}
    assert table.log.written_columns() == ["a", "b", "new"]
    assert table.rows() == [(1, 10, None), (2, 20, 200)]


@pytest.mark.matrix
def test_clone_of_an_older_version_has_the_flag_of_that_version(
    source: Table, table: Table
) -> None:
    source.create_tracked("a INT, b INT")
    source.insert("(1, 10)")
    source.alter("DROP COLUMN b")
    source.spark.sql(f"CREATE TABLE {table.name} SHALLOW CLONE {source.name} VERSION AS OF 1")

    assert (table.log.is_tracked, table.log.flag) == (True, "false")
    assert table.log.columns == {"a": (1, "a"), "b": (2, "b")}
    assert table.rows() == [(1, 10)]


@pytest.mark.parametrize(
    ("properties", "flag", "columns"),
    [
        pytest.param([NAME_MODE], "true", {"a": (1, UUID), "new": (2, UUID)}, id="mapped"),
        pytest.param([], "false", {"a": (None, None), "new": (None, None)}, id="plain"),
    ],
)
@pytest.mark.parametrize("asked_by", ["nobody", "default", "property"])
def test_clone_of_an_untracked_table_is_tracked_only_when_asked(
    source: Table,
    table: Table,
    conf: SetConf,
    properties: list[str],
    flag: str,
    columns: dict[str, tuple[int, str]],
    asked_by: str,
) -> None:
    source.create("a INT", *properties)
    source.insert("(1)")
    if asked_by == "default":
        conf(FEATURE_DEFAULT, "supported")
    clone(source, table, TRACKED if asked_by == "property" else "")
    cloned = table.log
    add_column_and_row(table, "(2, 20)")

    # A clone takes over its source's features; a default for new tables does not count here.
    tracked = asked_by == "property"
    assert (cloned.is_tracked, cloned.flag) == (tracked, flag if tracked else None)
    assert table.log.columns == columns
    assert table.rows() == [(1, None), (2, 20)]


def test_clone_is_not_tracked_only_because_mapped_tables_are_by_default(
    source: Table, table: Table, conf: SetConf
) -> None:
    source.create("a INT", NAME_MODE)
    conf(TRACK_MAPPED, "true")
    clone(source, table)

    assert (table.log.is_tracked, table.log.flag) == (False, None)
    assert table.log.columns == {"a": (1, UUID)}


def test_plain_tracked_table_is_mapped_by_its_clone_with_logical_names(
    source: Table, table: Table
) -> None:
    source.create("a INT", TRACKED)
    source.insert("(1)")
    clone(source, table)
    cloned = table.log
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    add_column_and_row(table, "(2, 20)")

    assert (cloned.is_tracked, cloned.flag) == (True, "false")
    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a"), "new": (2, "new")})
    assert table.rows() == [(1, None), (2, 20)]


@pytest.mark.broken_table("flag_without_feature")
def test_stale_flag_of_the_source_is_true_once_the_clone_is_tracked(
    source: Table, table: Table
) -> None:
    # What a session without usage tracking leaves behind when it clones a tracked table.
    source.create("a INT, b INT", NAME_MODE)
    source.insert("(1, 10)")
    metadata = source.log.metadata
    stale = {**metadata, "configuration": {**metadata["configuration"], FLAG: "false"}}
    source.log.append_foreign({"metaData": stale})
    clone(source, table, TRACKED)
    cloned = table.log
    add_column_and_row(table, "(2, 20, 200)")

    assert (cloned.is_tracked, cloned.flag) == (True, "true")
    assert (table.log.flag, table.log.columns["new"]) == ("true", (3, UUID))
    assert table.rows() == [(1, 10, None), (2, 20, 200)]


# Over a table that exists, which Delta allows where it is empty.


@pytest.mark.parametrize(
    ("target_change", "source_change", "flag"),
    [
        pytest.param(None, None, "false", id="neither"),
        pytest.param("RENAME COLUMN a TO c", None, "true", id="the target's"),
        pytest.param(None, "RENAME COLUMN b TO c", "true", id="the source's"),
    ],
)
@pytest.mark.every_variant
def test_clone_over_a_tracked_table_has_the_flag_true_when_either_table_has(
    source: Table, table: Table, target_change: str | None, source_change: str | None, flag: str
) -> None:
    table.create_tracked("a INT, b INT")
    source.create_tracked("a INT, b INT")
    source.insert("(1, 10)")
    for changed, change in ((table, target_change), (source, source_change)):
        if change:
            changed.alter(change)
    with table.one_commit():
        clone(source, table)
    cloned = table.log
    add_column_and_row(table, "(2, 20, 200)")

    name = {"false": "new", "true": UUID}[flag]
    assert (cloned.is_tracked, cloned.flag) == (True, flag)
    assert (cloned.columns, cloned.max_column_id) == (source.log.columns, 2)
    assert (table.log.flag, table.log.columns["new"]) == (flag, (3, name))
    assert table.log.written_columns() == sorted(["a", "b", name])
    assert table.rows() == [(1, 10, None), (2, 20, 200)]


@pytest.mark.matrix
def test_clone_over_a_table_with_more_columns_keeps_the_highest_id(
    source: Table, table: Table
) -> None:
    table.create_tracked("a INT, b INT, new INT")
    source.create_tracked("a INT")
    source.insert("(1)")
    with table.one_commit():
        clone(source, table)
    cloned = table.log
    add_column_and_row(table, "(2, 20)")

    assert (cloned.is_tracked, cloned.flag) == (True, "true")
    assert (cloned.columns, cloned.max_column_id) == ({"a": (1, "a")}, 3)
    assert table.log.columns["new"] == (4, UUID)
    assert table.rows() == [(1, None), (2, 20)]


@pytest.mark.matrix
def test_clone_over_a_table_with_fewer_columns_keeps_the_flag_false(
    source: Table, table: Table
) -> None:
    table.create_tracked("a INT")
    source.create_tracked("a INT, b INT")
    source.insert("(1, 10)")
    with table.one_commit():
        clone(source, table)
    add_column_and_row(table, "(2, 20, 200)")

    assert (table.log.is_tracked, table.log.flag) == (True, "false")
    assert table.log.columns == {"a": (1, "a"), "b": (2, "b"), "new": (3, "new")}
    assert table.rows() == [(1, 10, None), (2, 20, 200)]


def test_clone_of_an_untracked_table_over_a_tracked_one_sets_the_flag(
    source: Table, table: Table
) -> None:
    table.create_tracked("a INT")
    source.create("a INT", NAME_MODE)
    source.insert("(1)")
    with table.one_commit():
        clone(source, table)
    cloned = table.log
    add_column_and_row(table, "(2, 20)")

    assert (cloned.is_tracked, cloned.flag) == (True, "true")
    assert cloned.columns == source.log.columns
    assert table.log.columns["new"] == (2, UUID)
    assert table.rows() == [(1, None), (2, 20)]


@pytest.mark.parametrize("source_flag", ["false", "true"])
def test_clone_of_a_tracked_table_over_an_untracked_one_sets_the_flag(
    source: Table, table: Table, source_flag: str
) -> None:
    table.create("z INT", NAME_MODE)
    source.create_tracked("a INT, b INT")
    source.insert("(1, 10)")
    if source_flag == "true":
        source.alter("DROP COLUMN b")
        source.alter("ADD COLUMN b INT")
    with table.one_commit():
        clone(source, table)
    cloned = table.log
    table.alter("ADD COLUMN z INT")

    assert (cloned.is_tracked, cloned.flag) == (True, "true")
    assert cloned.columns == source.log.columns
    assert cloned.max_column_id == source.log.max_column_id
    assert table.log.columns["z"][1] == UUID
    assert table.rows() == [(1, 10 if source_flag == "false" else None, None)]
