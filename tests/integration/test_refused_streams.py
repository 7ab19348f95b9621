# SPDX-License-Identifier: Apache-2.0
"""Tests streams that cannot continue after a removal: they fail before they read a row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException

from tests.integration.streams import OLD, Stream, removal_in, used
from tests.support.delta_table import Table
from tests.support.name_changes import map_again, remove_mapping
from tests.support.session_conf import SetConf, session_conf
from tests.support.variants import in_matrix

CHANGES = "'delta.enableChangeDataFeed' = 'true'"

pytestmark = pytest.mark.without("auto-compact")


def test_batch_from_both_sides_of_the_removal_is_refused(table: Table, tmp_path: Path) -> None:
    """A program without spark-ext and with Delta's unsafe setting may have planned such a batch."""
    stream = Stream(used(table), tmp_path / "s")
    stream.run()
    table.insert("(3, 30)")
    stream.fail_in(batch=1)
    remove_mapping(table)
    table.insert("(4, 40)")
    planned = stream.checkpoint / "offsets" / "1"
    *head, end = planned.read_text().splitlines()
    later = json.dumps(json.loads(end) | {"reservoirVersion": table.log.version + 1})
    planned.write_text("\n".join([*head, later]))
    planned.with_name(".1.crc").unlink()

    stream.assert_refused()


def restore(table: Table) -> None:
    version = table.log.version
    remove_mapping(table)
    table.restore(version)


def removed_and(change: str) -> Callable[[Table], None]:
    def act(table: Table) -> None:
        remove_mapping(table)
        map_again(table)
        table.alter(change)

    return act


def add_nested(table: Table) -> None:
    table.alter("ADD COLUMN s STRUCT<x: INT>")
    remove_mapping(table)
    table.alter("ADD COLUMN s.y INT")


def widen(table: Table) -> None:
    table.alter("SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    table.alter("ALTER COLUMN b TYPE BIGINT")
    remove_mapping(table)


def repartition(table: Table) -> None:
    remove_mapping(table)
    table.frame().write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(
        str(table.path), partitionBy="b"
    )


def rename_first(table: Table) -> None:
    table.alter("RENAME COLUMN b TO c")
    remove_mapping(table)


def drop_and_add_first(table: Table) -> None:
    table.alter("DROP COLUMN b")
    table.alter("ADD COLUMN b INT")
    remove_mapping(table)


def test_stream_is_refused_when_the_table_was_replaced_after_the_removal(
    table: Table, tmp_path: Path
) -> None:
    """REPLACE gives the table another id."""
    stream = Stream(used(table), tmp_path / "s", ignoreChanges="true")
    stream.run()
    remove_mapping(table)
    table.spark.sql(f"CREATE OR REPLACE TABLE {table.name} USING delta AS SELECT 9 AS k, 900 AS b")

    stream.assert_refused("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE")


def test_stream_is_refused_when_a_clone_replaced_the_table_after_the_removal(
    table: Table, tmp_path: Path
) -> None:
    """The clone has the table's id, and columns of the same names and types."""
    stream = Stream(used(table), tmp_path / "s", ignoreChanges="true")
    stream.run()
    table.insert("(3, 30)")
    remove_mapping(table)
    source = Table(table.spark, table.path.with_name("source"))
    source.create("k INT, b INT")
    source.insert("(9, 900)")
    table.spark.sql(f"DELETE FROM {table.name}")
    table.spark.sql(f"CREATE OR REPLACE TABLE {table.name} SHALLOW CLONE {source.name}")

    stream.assert_refused()


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("change", "is_behind"),
    [
        (restore, False),
        (rename_first, True),
        (widen, True),
        *in_matrix(
            (restore, True),
            (rename_first, False),
            (drop_and_add_first, True),
            (removed_and("RENAME COLUMN b TO c"), True),
            (removed_and("DROP COLUMN b"), False),
            (add_nested, True),
            (repartition, True),
        ),
    ],
)
def test_stream_is_refused_when_the_table_changed_besides_the_removal(
    table: Table, tmp_path: Path, change: Callable[[Table], None], is_behind: bool
) -> None:
    stream = Stream(used(table), tmp_path / "s", skipChangeCommits="true")
    stream.run()
    if is_behind:
        table.insert("(3, 30)")
    change(table)

    stream.assert_refused()


def test_stream_is_refused_when_fields_of_a_struct_changed_their_order(
    table: Table, tmp_path: Path
) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT, y: INT>")
    table.alter("RENAME COLUMN a TO k")
    table.insert("(1, struct(10, 100))")
    stream = Stream(table, tmp_path / "s")
    stream.run()
    table.insert("(2, struct(20, 200))")
    remove_mapping(table)
    table.alter("ALTER COLUMN s.y FIRST")

    stream.assert_refused()


@pytest.mark.every_variant
@pytest.mark.parametrize("operation", ["RESTORE", "OTHER", ""])
def test_stream_is_refused_when_restore_restored_a_column_of_the_same_name(
    table: Table, tmp_path: Path, operation: str
) -> None:
    """The physical name of the dropped column is also `b`. A commit need not name its operation."""
    table.create_tracked("k INT, b INT")
    table.insert("(1, 100)")
    table.alter("DROP COLUMN b")
    table.alter("ADD COLUMN b INT")
    stream = Stream(table, tmp_path / "s", ignoreChanges="true")
    stream.run()
    remove_mapping(table)
    table.restore(1)
    table.log.rename_operation(operation)
    table.insert("(2, 200)")

    stream.assert_refused()


def test_stream_is_refused_when_its_version_is_not_in_the_log(table: Table, tmp_path: Path) -> None:
    stream = Stream(used(table), tmp_path / "s")
    stream.run()
    remove_mapping(table)
    table.insert("(3, 30)")
    table.cut_log(table.log.version)

    with pytest.raises(StreamingQueryException, match=r"\[DELTA_"):
        stream.run()
    assert stream.rows() == OLD


@pytest.mark.every_variant
@pytest.mark.parametrize("options", [{}, {"readChangeFeed": "true"}])
def test_stream_fails_when_vacuum_deleted_unread_files(
    table: Table, tmp_path: Path, conf: SetConf, options: dict[str, str]
) -> None:
    conf("spark.sql.files.ignoreMissingFiles", "true")
    stream = Stream(used(table, CHANGES), tmp_path / "s", **options)
    read = stream.run()
    table.insert("(3, 30)")
    remove_mapping(table)
    table.insert("(4, 40)")
    table.vacuum_at_once()

    with pytest.raises(StreamingQueryException):
        stream.run()

    assert stream.rows() == read


def test_stream_is_refused_when_another_operation_removed_the_mapping(
    table: Table, tmp_path: Path
) -> None:
    """An operation that spark-ext does not know may have changed the rows as well."""
    stream = Stream(used(table), tmp_path / "s")
    stream.run()
    remove_mapping(table)
    table.insert("(3, 30)")
    table.log.rename_operation("OTHER", removal_in(table))

    stream.assert_refused()


@pytest.mark.broken_table("id_used_again", "physical_name_changed")
def test_stream_is_refused_when_physical_names_changed_too(table: Table, tmp_path: Path) -> None:
    stream = Stream(used(table), tmp_path / "s")
    stream.run()
    table.insert("(3, 30)")
    metadata = table.log.metadata
    names = table.log.physical_names
    schema = metadata["schemaString"].replace(str(names["b"]), "col-other")
    table.log.append_foreign({"metaData": metadata | {"schemaString": schema}})
    remove_mapping(table)

    stream.assert_refused()


@pytest.mark.parametrize("change", [rename_first, restore])
def test_refused_stream_continues_with_a_schema_log(
    table: Table, tmp_path: Path, change: Callable[[Table], None]
) -> None:
    stream = Stream(used(table), tmp_path / "s", skipChangeCommits="true")
    stream.run()
    table.insert("(3, 30)")
    change(table)
    table.insert("(4, 40)")
    stream.assert_refused()
    stream.options["schemaTrackingLocation"] = str(stream.checkpoint / "schemas")
    allowed = "spark.databricks.delta.streaming.allowSourceColumnRenameAndDrop"

    with session_conf(table.spark, {allowed: "always"}):
        assert any(is_at_end(stream) for _ in range(8))

    values = [(row["k"], row.get("b", row.get("c"))) for row in stream.rows()]
    assert values == [(1, None), (2, 20), (3, 30), (4, 40)]


def is_at_end(stream: Stream) -> bool:
    """Runs a stream, and returns false if it stopped at a change of its schema."""
    try:
        stream.run()
    except StreamingQueryException as stopped:
        if "[DELTA_STREAMING_METADATA_EVOLUTION]" not in str(stopped):
            raise
        return False
    return True
