# SPDX-License-Identifier: Apache-2.0
"""Tests usage tracking together with Delta's other features."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration import routes
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.releases import CHANGE_DATA, PURGES, SQL_GENERATES_COLUMNS
from tests.support.table_log import UUID, TableLog

MAPPED = f"{TRACKED}, {NAME_MODE}"
COLUMN_DEFAULTS = "'delta.feature.allowColumnDefaults' = 'supported'"
COMPAT_V2 = "'delta.enableIcebergCompatV2' = 'true'"
DELETION_VECTORS = "'delta.enableDeletionVectors' = 'true'"
POSITIVE = json.dumps({"expression": {"expression": "a > 0"}})
EXCLUSIVE = "DELTA_ICEBERG_COMPAT_VIOLATION.DELETION_VECTORS_SHOULD_BE_DISABLED"


def assert_each_commit(
    table: Table, first: int, last: int, flag: str, columns: dict[str, tuple[int, str]]
) -> None:
    """Asserts that each version is tracked and has this flag and these columns."""
    for log in map(table.log.at, range(first, last + 1)):
        assert (log.is_tracked, log.flag, log.columns) == (True, flag, columns), log.operation


# Refusals.


@pytest.mark.without("deletion-vectors")
def test_iceberg_compat_v1_refuses_arrays(table: Table) -> None:
    table.create("a INT", MAPPED, "'delta.enableIcebergCompatV1' = 'true'")

    with table.refusal("DELTA_ICEBERG_COMPAT_VIOLATION.UNSUPPORTED_DATA_TYPE"):
        table.alter("ADD COLUMN r ARRAY<INT>")
    table.alter("ADD COLUMN b INT")

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})


@pytest.mark.without("deletion-vectors")
@pytest.mark.parametrize(
    ("existing", "added"), [(COMPAT_V2, DELETION_VECTORS), (DELETION_VECTORS, COMPAT_V2)]
)
def test_iceberg_compat_v2_and_deletion_vectors_exclude_each_other(
    table: Table, existing: str, added: str
) -> None:
    with refusal(EXCLUSIVE):
        table.create("a INT", MAPPED, existing, added)
    assert not table.path.exists()
    table.create("a INT", MAPPED, existing)
    table.insert("(1), (2)")

    with table.refusal(EXCLUSIVE):
        table.alter(f"SET TBLPROPERTIES ({added})")
    table.alter("ADD COLUMN b INT")

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})
    assert table.rows() == [(1, None), (2, None)]


def clone_in_sql(source: Table, target: Table, kind: str) -> None:
    source.spark.sql(f"CREATE TABLE {target.name} {kind} {source.name}")


def clone_by_builder(source: Table, target: Table, _: str) -> None:
    original = source.delta_table
    original.clone(str(target.path), isShallow=False)


@pytest.mark.parametrize(
    ("clone", "kind", "condition"),
    [
        (clone_in_sql, "CLONE", "PARSE_SYNTAX_ERROR"),
        (clone_in_sql, "DEEP CLONE", "PARSE_SYNTAX_ERROR"),
        (clone_by_builder, "DEEP CLONE", "DELTA_UNSUPPORTED_DEEP_CLONE"),
    ],
)
def test_refused_deep_clone_creates_nothing(
    table: Table, clone: Callable[[Table, Table, str], None], kind: str, condition: str
) -> None:
    target = Table(table.spark, table.path.with_name("target"))
    table.create_tracked("a INT, b INT")
    table.insert("(1, 2)")

    with table.refusal(condition):
        clone(table, target, kind)

    assert not target.path.exists()
    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})


# Features of columns.


def test_generated_column_is_computed_through_an_add_and_a_rename(table: Table) -> None:
    table.create_tracked("a INT, g INT GENERATED ALWAYS AS (a + 1)")
    table.alter("ADD COLUMN b INT")
    table.alter("RENAME COLUMN b TO c")
    with table.one_commit():
        table.spark.sql(f"INSERT INTO {table.name} (a, c) VALUES (1, 5)")

    assert table.log.flag == "true"
    assert table.log.columns == {"a": (1, "a"), "g": (2, "g"), "c": (3, "b")}
    assert table.log.written_columns() == ["a", "b", "g"]
    assert table.rows() == [(1, 2, 5)]


def test_default_of_a_column_is_kept_through_a_rename(table: Table) -> None:
    table.create("a INT, b INT", MAPPED, COLUMN_DEFAULTS)
    table.alter("ALTER COLUMN b SET DEFAULT 7")
    defaulted = table.log
    table.alter("RENAME COLUMN b TO c")
    table.spark.sql(f"INSERT INTO {table.name} (a) VALUES (1)")

    assert (defaulted.flag, defaulted.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})
    assert (table.log.flag, table.log.columns) == ("true", {"a": (1, "a"), "c": (2, "b")})
    assert table.log.written_columns() == ["a", "b"]
    assert table.rows() == [(1, 7)]


def test_check_constraint_keeps_the_flag_false(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.alter("ADD CONSTRAINT positive CHECK (a > 0)")
    constrained = table.log
    table.alter("RENAME COLUMN b TO c")

    with table.refusal("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"):
        table.insert("(-1, 2)")
    table.insert("(1, 2)")

    assert (constrained.flag, constrained.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})
    assert (table.log.flag, table.rows()) == ("true", [(1, 2)])


def test_invariant_is_kept_through_an_add_a_rename_and_a_removal(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    schema = json.loads(table.log.metadata["schemaString"])
    schema["fields"][0]["metadata"]["delta.invariants"] = POSITIVE
    # Delta enforces invariants, and no statement of it makes one.
    table.log.append_foreign(
        {"metaData": {**table.log.metadata, "schemaString": json.dumps(schema)}}
    )
    table.alter("ADD COLUMN c INT")
    added = table.log
    table.insert("(1, 2, 3)")
    table.alter("RENAME COLUMN b TO d")
    table.remove_mapping()

    with table.refusal("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"):
        table.insert("(-1, 2, 3)")
    assert (added.flag, added.physical_names) == ("false", {"a": "a", "b": "b", "c": "c"})
    assert (table.log.flag, table.log.is_mapped) == ("true", False)
    for log in (added, table.log):
        assert log.fields["a"].metadata["delta.invariants"] == POSITIVE
    assert table.rows() == [(1, 2, 3)]


def test_type_that_widens_keeps_name_id_and_flag(table: Table) -> None:
    table.create("a INT, s STRUCT<x: SMALLINT>", MAPPED, "'delta.enableTypeWidening' = 'true'")
    table.insert("(1, struct(2))")
    with table.one_commit():
        table.alter("ALTER COLUMN a TYPE BIGINT")
    with table.one_commit():
        table.alter("ALTER COLUMN s.x TYPE INT")
    widened = table.log
    table.alter("RENAME COLUMN a TO b")
    table.insert("(3000000000, struct(70000))")

    assert (widened.flag, widened.columns) == (
        "false",
        {"a": (1, "a"), "s": (2, "s"), "s.x": (3, "x")},
    )
    assert (widened.fields["a"].type, widened.fields["s.x"].type) == ("long", "integer")
    assert (table.log.flag, table.log.columns["b"]) == ("true", (1, "a"))
    assert table.log.written_columns() == ["a", "s.x"]
    assert table.selected("b, s.x") == [(1, 2), (3000000000, 70000)]


@pytest.mark.matrix
@PURGES
def test_rewrite_that_drops_type_widening_keeps_names_ids_and_flag(table: Table) -> None:
    columns = {"a": (1, "a"), "s": (2, "s"), "s.x": (3, "x")}
    table.create("a INT, s STRUCT<x: SMALLINT>", MAPPED, "'delta.enableTypeWidening' = 'true'")
    table.insert("(1, struct(2))")
    table.alter("ALTER COLUMN a TYPE BIGINT")
    table.alter("ALTER COLUMN s.x TYPE INT")
    since = table.log.version
    table.alter("DROP FEATURE typeWidening")
    dropped = table.log
    table.alter("ADD COLUMN b INT")

    commits = [dropped.at(version) for version in range(since + 1, dropped.version + 1)]
    (rewritten,) = (commit for commit in commits if commit.actions("add"))
    assert "typeWidening" in rewritten.writer_features
    assert "typeWidening" not in dropped.writer_features
    assert_each_commit(table, since, dropped.version, "false", columns)
    assert rewritten.written_columns() == ["a", "s.x"]
    assert (table.log.flag, table.log.columns) == ("false", {**columns, "b": (4, "b")})
    assert table.selected("a, s.x, b") == [(1, 2, None)]


# Features of files and rows.


@pytest.mark.matrix
def test_deletion_vectors_survive_an_add_and_a_rename(table: Table) -> None:
    table.create("a INT, b INT", MAPPED, DELETION_VECTORS)
    table.spark.sql(
        f"INSERT INTO {table.name} SELECT /*+ COALESCE(1) */ id, id * 10 FROM range(1, 5)"
    )
    table.spark.sql(f"DELETE FROM {table.name} WHERE a = 2")
    deleted = table.log
    table.alter("ADD COLUMN c INT")
    added = table.log
    table.alter("RENAME COLUMN b TO d")
    table.spark.sql(f"DELETE FROM {table.name} WHERE d = 30")
    table.insert("(5, 50, 500)")

    assert any("deletionVector" in add for add in deleted.actions("add"))
    assert (added.flag, added.columns["c"]) == ("false", (3, "c"))
    assert (table.log.flag, table.log.columns["d"]) == ("true", (2, "b"))
    assert table.log.written_columns() == ["a", "b", "c"]
    assert table.rows() == [(1, 10, None), (4, 40, None), (5, 50, 500)]


def row_ids_of(table: Table) -> dict[Any, Any]:
    rows: list[Any] = table.selected("a, _metadata.row_id")
    return dict(rows)


@pytest.mark.matrix
def test_row_ids_survive_an_add_a_rename_and_an_update(table: Table) -> None:
    table.create("a INT, b INT", MAPPED, "'delta.enableRowTracking' = 'true'")
    table.insert("(1, 10), (2, 20)")
    row_ids = row_ids_of(table)
    table.alter("ADD COLUMN c INT")
    added = table.log
    table.alter("RENAME COLUMN b TO d")
    with table.one_commit():
        table.spark.sql(f"UPDATE {table.name} SET c = d + 1 WHERE a = 1")

    assert (added.flag, added.columns["c"]) == ("false", (3, "c"))
    assert (table.log.flag, table.log.columns["d"]) == ("true", (2, "b"))
    assert {"a", "b", "c"} <= set(table.log.parquet_columns())
    assert row_ids_of(table) == row_ids
    assert table.rows() == [(1, 10, 11), (2, 20, None)]


@pytest.mark.without("row-tracking")
@pytest.mark.parametrize(
    ("change", "flag", "columns"),
    [
        ("ADD COLUMN c INT", "false", {"a": (1, "a"), "b": (2, "b"), "c": (3, "c")}),
        ("RENAME COLUMN b TO c", "true", {"a": (1, "a"), "c": (2, "b")}),
    ],
)
def test_row_tracking_that_is_enabled_later_fills_in_ids_without_a_change_of_columns(
    table: Table, change: str, flag: str, columns: dict[str, tuple[int, str]]
) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 10)")
    table.insert("(2, 20)")
    table.alter(change)
    since = table.log.version
    table.alter("SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    enabled, row_ids = table.log, row_ids_of(table)
    table.alter("ADD COLUMN d INT")
    table.spark.sql(f"UPDATE {table.name} SET d = a + 1 WHERE a = 1")

    operations = [table.log.at(version).operation for version in range(since + 1, enabled.version)]
    new = max(id for id, _ in columns.values()) + 1
    name = {"false": "d", "true": UUID}[flag]
    assert operations == ["UPGRADE PROTOCOL", "ROW TRACKING BACKFILL"]
    assert_each_commit(table, since, enabled.version, flag, columns)
    assert (table.log.flag, table.log.columns) == (flag, {**columns, "d": (new, name)})
    written = {physical for _, physical in table.log.columns.values()}
    assert written <= set(table.log.written_columns())
    assert sorted(row_ids.values()) == [0, 1]
    assert table.selected("a, d, _metadata.row_id") == [(1, 2, row_ids[1]), (2, None, row_ids[2])]


@pytest.mark.without("row-tracking")
@pytest.mark.parametrize(
    ("change", "readable"), [("ADD COLUMN c INT", True), ("RENAME COLUMN b TO c", False)]
)
def test_change_data_feed_reads_across_an_add_and_not_across_a_rename(
    table: Table, change: str, readable: bool
) -> None:
    table.create("a INT, b INT", MAPPED, "'delta.enableChangeDataFeed' = 'true'")
    table.insert("(1, 10)")
    table.alter(change)
    table.spark.sql(f"UPDATE {table.name} SET c = 30 WHERE a = 1")

    def changes() -> list[tuple[object, ...]]:
        reader = table.spark.read.format("delta").option("readChangeFeed", "true")
        rows = reader.option("startingVersion", 1).load(str(table.path))
        return [tuple(row) for row in rows.select("_change_type", "a", "c").collect()]

    if readable:
        assert sorted(changes()) == [
            ("insert", 1, None),
            ("update_postimage", 1, 30),
            ("update_preimage", 1, None),
        ]
    else:
        with table.refusal("DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA"):
            changes()
    assert table.log.flag == ("false" if readable else "true")
    assert table.log.columns["c"] == ((3, "c") if readable else (2, "b"))
    names = ["a", "b", "c"] if readable else ["a", "b"]
    assert table.log.written_columns("cdc") == [*CHANGE_DATA, *names]


def test_clustering_column_keeps_its_physical_name_through_a_rename(table: Table) -> None:
    table.spark.sql(
        f"CREATE TABLE {table.name} (a INT, b INT) USING delta CLUSTER BY (a)"
        f" TBLPROPERTIES ({MAPPED})"
    )
    created = table.log
    table.insert("(1, 10), (2, 20)")
    table.alter("RENAME COLUMN a TO c")
    table.alter("ADD COLUMN a INT")
    table.alter("CLUSTER BY (a, c)")
    clustered = table.log
    table.spark.sql(f"OPTIMIZE {table.name} FULL")

    def clustering(log: TableLog) -> str:
        return log.actions("domainMetadata")[0]["configuration"]

    new = clustered.physical_names["a"]
    assert created.flag == "false"
    assert '["a"]' in clustering(created)
    assert (clustered.flag, clustered.columns["a"]) == ("true", (3, UUID))
    assert f'[["{new}"],["a"]]' in clustering(clustered)
    assert table.log.columns == clustered.columns
    assert table.log.written_columns() == ["a", "b", UUID]
    assert table.rows() == [(1, 10, None), (2, 20, None)]


# Iceberg, and mapping by id.


@pytest.mark.without("deletion-vectors")
def test_nested_ids_of_iceberg_compat_v2_use_physical_names(table: Table) -> None:
    table.create("a INT, r ARRAY<INT>, m MAP<INT, INT>", MAPPED, COMPAT_V2)
    created = table.log
    table.alter("RENAME COLUMN r TO q")
    with table.one_commit():
        routes.save(table, "SELECT 1 AS a, array(2) AS q, map(3, 4) AS m, array(5) AS r")

    def nested_ids(path: str) -> dict[str, int]:
        return table.log.fields[path].metadata["delta.columnMapping.nested.ids"]

    new = table.log.physical_names["r"]
    everything = [*table.log.ids.values(), *nested_ids("q").values(), *nested_ids("m").values()]
    everything += nested_ids("r").values()
    assert (created.flag, created.physical_names["r"]) == ("false", "r")
    assert (table.log.flag, table.log.columns["q"][1]) == ("true", "r")
    assert table.log.columns["r"][1] == UUID
    assert set(nested_ids("q")) == {"r.element"}
    assert set(nested_ids("m")) == {"m.key", "m.value"}
    assert set(nested_ids("r")) == {f"{new}.element"}
    assert len(set(everything)) == len(everything) == 8
    assert table.log.max_column_id == max(everything)
    assert table.log.parquet_field_ids() == {
        **{str(field.physical_name): field.id for field in table.log.fields.values()},
        **nested_ids("q"),
        **nested_ids("m"),
        **nested_ids("r"),
    }
    assert table.selected("a, q[0], m[3], r[0]") == [(1, 2, 4, 5)]


def test_files_in_id_mode_keep_ids_through_a_rename_and_a_drop(table: Table) -> None:
    table.create("a INT, b INT", TRACKED, "'delta.columnMapping.mode' = 'id'")
    table.insert("(1, 10)")
    table.alter("RENAME COLUMN a TO c")
    table.alter("DROP COLUMN b")
    table.alter("ADD COLUMN b INT")
    table.insert("(2, 20)")

    new = table.log.physical_names["b"]
    assert (table.log.flag, table.log.columns) == ("true", {"c": (1, "a"), "b": (3, UUID)})
    assert table.log.parquet_field_ids() == {"a": 1, new: 3}
    assert table.rows() == [(1, None), (2, 20)]


def test_everything_at_once_keeps_the_flag_until_the_first_rename(table: Table) -> None:
    identity, generated = "GENERATED ALWAYS AS IDENTITY", "GENERATED ALWAYS AS (a + 1)"
    if not SQL_GENERATES_COLUMNS:  # other tests of such columns create them by the builder
        identity, generated = "DEFAULT 1", "DEFAULT 2"
    table.spark.sql(
        f"CREATE TABLE {table.name} (i BIGINT {identity}, a INT DEFAULT 1,"
        f" g INT {generated}, b INT) USING delta CLUSTER BY (a)"
        f" TBLPROPERTIES ({MAPPED}, {COLUMN_DEFAULTS}, 'delta.enableDeletionVectors' = 'true',"
        " 'delta.enableRowTracking' = 'true', 'delta.enableChangeDataFeed' = 'true',"
        " 'delta.enableTypeWidening' = 'true', 'delta.enableInCommitTimestamps' = 'true')"
    )
    table.spark.sql(f"INSERT INTO {table.name} (b) VALUES (10), (20)")
    table.alter("ADD COLUMN c INT")
    table.alter("ALTER COLUMN b TYPE BIGINT")
    table.spark.sql(f"UPDATE {table.name} SET c = 5 WHERE b = 10")
    table.spark.sql(f"DELETE FROM {table.name} WHERE b = 20")
    before = table.log
    table.alter("RENAME COLUMN c TO d")

    names = {name: name for name in ("i", "a", "g", "b", "c")}
    assert (before.flag, before.physical_names) == ("false", names)
    assert before.max_column_id == 5
    assert (table.log.flag, table.log.columns["d"]) == ("true", (5, "c"))
    assert table.selected("a, g, b, d") == [(1, 2, 10, 5)]
