# SPDX-License-Identifier: Apache-2.0
"""Tests SHALLOW CLONE as a new table, and over an existing table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chispa.dataframe_comparer import assert_df_equality
from pyspark.sql import SparkSession

from tests.support.delta_table import ID_MODE, NAME_MODE, NONE_MODE, TRACKED, Table
from tests.support.prepared import made_once
from tests.support.releases import TAKES_PARQUET
from tests.support.session_conf import SetConf
from tests.support.table_log import FEATURE, FLAG, UUID, TableLog
from tests.support.variants import in_matrix

FEATURE_DEFAULT = f"spark.databricks.delta.properties.defaults.feature.{FEATURE}"
TRACK_MAPPED = "spark.sparkext.usageTracking.enabledByDefault"


Clone = Callable[[Table, Table], None]


def clone(source: Table, target: Table, properties: str = "") -> None:
    clause = f"TBLPROPERTIES ({properties})" if properties else ""
    source.spark.sql(f"CREATE OR REPLACE TABLE {target.name} SHALLOW CLONE {source.name} {clause}")


def clone_by_builder(source: Table, target: Table) -> None:
    source.delta_table.clone(str(target.path), isShallow=True, replace=True)


@pytest.fixture
def source(table: Table) -> Table:
    return Table(table.spark, table.path.with_name("source"))


def assert_continues(
    table: Table, cloned: TableLog, flag: str, columns: dict[str, tuple[int, str]], max_id: int
) -> None:
    """Asserts that the clone has this flag and these columns, and names new columns by its flag."""
    table.alter("ADD COLUMN new INT")
    table.insert("(2, 20, 200)")

    name = {"false": "new", "true": UUID}[flag]
    assert (cloned.is_tracked, cloned.flag) == (True, flag)
    assert (cloned.columns, cloned.max_column_id) == (columns, max_id)
    assert (table.log.is_tracked, table.log.flag) == (True, flag)
    assert table.log.columns == {**columns, "new": (max_id + 1, name)}
    assert table.log.written_columns() == sorted([*(name for _, name in columns.values()), name])
    assert table.selected() == [(1, 10, None), (2, 20, 200)]


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
    assert table.selected() == [(2,)]


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
    assert table.selected() == []


# Clones that are new tables.


@made_once
def never_changed(source: Table) -> None:
    source.create_tracked("a INT, b INT")
    source.insert("(1, 10)")


def in_id_mode(source: Table) -> None:
    source.create("a INT, b INT", TRACKED, ID_MODE)
    source.insert("(1, 10)")


def renamed(source: Table) -> None:
    never_changed(source)
    source.alter("RENAME COLUMN b TO c")


def renamed_and_dropped(source: Table) -> None:
    source.create_tracked("a INT, b INT, new INT")
    source.insert("(1, 10, 100)")
    source.alter("RENAME COLUMN b TO c")
    source.alter("DROP COLUMN new")


SAME = {"a": (1, "a"), "b": (2, "b")}
RENAMED = {"a": (1, "a"), "c": (2, "b")}


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("make", "flag", "columns", "max_id"),
    [
        (never_changed, "false", SAME, 2),
        (renamed_and_dropped, "true", RENAMED, 3),
        *in_matrix((in_id_mode, "false", SAME, 2)),
    ],
)
@pytest.mark.parametrize("clone_by", [clone, *in_matrix(clone_by_builder)])
def test_clone_has_the_flag_the_columns_and_the_ids_of_its_source(
    source: Table,
    table: Table,
    make: Callable[[Table], object],
    flag: str,
    columns: dict[str, tuple[int, str]],
    max_id: int,
    clone_by: Clone,
) -> None:
    make(source)
    with source.no_commit():
        clone_by(source, table)

    assert table.log.version == 0
    assert_continues(table, table.log, flag, columns, max_id)
    if make is in_id_mode:
        assert table.log.configuration["delta.columnMapping.mode"] == "id"
        assert table.log.parquet_field_ids() == {"a": 1, "b": 2, "new": 3}


@pytest.fixture
def copy(spark: SparkSession, named_table: Table) -> Iterator[Table]:
    """Yields the table that a clone of `named_table` creates."""
    yield Table(spark, named_table.path.with_name("copied"), "copied")
    spark.sql("DROP TABLE IF EXISTS copied")


@pytest.mark.parametrize("location", ["managed", "external"])
@pytest.mark.matrix
def test_table_of_the_catalog_is_cloned_by_name(
    named_table: Table, copy: Table, tmp_path: Path, location: str
) -> None:
    renamed(named_table)
    cloned = copy if location == "managed" else Table(copy.spark, tmp_path / "t", "copied")
    clause = f"LOCATION '{tmp_path / 't'}'" if location == "external" else ""
    with named_table.no_commit():
        copy.spark.sql(f"CREATE TABLE copied SHALLOW CLONE named {clause}")

    assert cloned.log.version == 0
    assert_df_equality(cloned.frame(), named_table.frame())
    assert_continues(cloned, cloned.log, "true", RENAMED, 2)


@pytest.fixture
def parquet(spark: SparkSession, tmp_path: Path) -> str:
    """Returns a folder of Parquet files as SQL names it."""
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
    table.alter("ADD COLUMN new INT")
    table.insert("(2, 20, 200)")

    assert (cloned.operation, cloned.is_tracked, cloned.flag) == ("CLONE", True, "false")
    assert cloned.columns == {"a": (None, None), "b": (None, None)}
    assert table.log.flag == "false"
    assert table.log.columns == {"a": (1, "a"), "b": (2, "b"), "new": (3, "new")}
    assert table.log.written_columns() == ["a", "b", "new"]
    assert table.selected() == [(1, 10, None), (2, 20, 200)]


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
    assert table.selected() == [(1, 10)]


@pytest.mark.parametrize(
    ("properties", "flag", "columns"),
    [
        pytest.param([NAME_MODE], "true", {"a": (1, UUID), "new": (2, UUID)}, id="mapped"),
        pytest.param([], "false", {"a": (None, None), "new": (None, None)}, id="plain"),
    ],
)
@pytest.mark.parametrize("asked_by", ["nobody", "default", "property"])
def test_clone_of_an_untracked_table_is_tracked_only_by_its_own_property(
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
    table.alter("ADD COLUMN new INT")
    table.insert("(2, 20)")

    # A clone takes the features of its source; a default for new tables has no effect.
    tracked = asked_by == "property"
    assert (cloned.is_tracked, cloned.flag) == (tracked, flag if tracked else None)
    assert table.log.columns == columns
    assert table.selected() == [(1, None), (2, 20)]


def test_clone_of_an_untracked_mapped_table_ignores_enabled_by_default(
    source: Table, table: Table, conf: SetConf
) -> None:
    source.create("a INT", NAME_MODE)
    conf(TRACK_MAPPED, "true")
    clone(source, table)

    assert (table.log.is_tracked, table.log.flag) == (False, None)
    assert table.log.columns == {"a": (1, UUID)}


def test_clone_of_a_plain_tracked_table_is_mapped_with_logical_names(
    source: Table, table: Table
) -> None:
    source.create("a INT", TRACKED)
    source.insert("(1)")
    clone(source, table)
    cloned = table.log
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    table.alter("ADD COLUMN new INT")
    table.insert("(2, 20)")

    assert (cloned.is_tracked, cloned.flag) == (True, "false")
    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a"), "new": (2, "new")})
    assert table.selected() == [(1, None), (2, 20)]


@pytest.mark.broken_table("flag_without_feature")
def test_stale_flag_of_the_source_becomes_true_in_a_tracked_clone(
    source: Table, table: Table
) -> None:
    # A session without usage tracking writes such a flag when it clones a tracked table.
    source.create("a INT, b INT", NAME_MODE)
    source.insert("(1, 10)")
    source.log.append_properties({FLAG: "false"})
    clone(source, table, TRACKED)

    assert_continues(table, table.log, "true", {"a": (1, UUID), "b": (2, UUID)}, 2)


# Clones over an existing table, which must be empty for Delta.


@pytest.mark.parametrize(
    ("target_change", "source_change", "flag"),
    [
        pytest.param(None, None, "false", id="neither"),
        pytest.param("RENAME COLUMN a TO c", None, "true", id="the target's"),
        pytest.param(None, "RENAME COLUMN b TO c", "true", id="the source's"),
    ],
)
def test_clone_over_a_tracked_table_has_the_flag_true_when_either_table_has(
    source: Table, table: Table, target_change: str | None, source_change: str | None, flag: str
) -> None:
    table.create_tracked("a INT, b INT")
    never_changed(source)
    for changed, change in ((table, target_change), (source, source_change)):
        if change:
            changed.alter(change)
    with table.one_commit():
        clone(source, table)

    assert_continues(table, table.log, flag, RENAMED if source_change else SAME, 2)


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("columns", "flag", "max_id"), [("a INT, b INT, new INT", "true", 3), ("a INT", "false", 2)]
)
def test_clone_over_a_table_with_other_columns_sets_the_flag_when_the_table_loses_one(
    source: Table, table: Table, columns: str, flag: str, max_id: int
) -> None:
    table.create_tracked(columns)
    never_changed(source)
    with table.one_commit():
        clone(source, table)

    assert_continues(table, table.log, flag, SAME, max_id)


def test_clone_of_an_untracked_table_over_a_tracked_one_sets_the_flag(
    source: Table, table: Table
) -> None:
    table.create_tracked("a INT, b INT")
    source.create("a INT, b INT", NAME_MODE)
    source.insert("(1, 10)")
    with table.one_commit():
        clone(source, table)

    assert table.log.physical_names == source.log.physical_names
    assert_continues(table, table.log, "true", {"a": (1, UUID), "b": (2, UUID)}, 2)


@pytest.mark.parametrize("make", [never_changed, renamed])
def test_clone_of_a_tracked_table_over_an_untracked_one_sets_the_flag(
    source: Table, table: Table, make: Callable[[Table], object]
) -> None:
    table.create("z INT", NAME_MODE)
    make(source)
    with table.one_commit():
        clone(source, table)

    columns = SAME if make is never_changed else RENAMED
    assert_continues(table, table.log, "true", columns, 2)
