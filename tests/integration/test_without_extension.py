# SPDX-License-Identifier: Apache-2.0
"""Tests tables, clones and streams in a session of plain delta-spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.functions import lit

import spark_ext
from spark_ext import UsageTracking
from tests.integration.streams import OTHER_STREAM, checkpoint_of, start_sink
from tests.support.custom_sessions import DELTA, Failure, failure_of, resolved_jars, session
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.processes import new_process
from tests.support.table_log import UUID

WRITES = [
    "INSERT INTO {t} VALUES (3, 'z')",
    "ALTER TABLE {t} ADD COLUMN d INT",
    "ALTER TABLE {t} RENAME COLUMN b TO d",
    "ALTER TABLE {t} SET TBLPROPERTIES ('note' = 'n')",
]

Plain = Callable[..., Any]


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plain]:
    """Yields a function that runs functions with a plain session in one process."""
    home, jars = tmp_path_factory.mktemp("plain"), resolved_jars(spark)
    with new_process() as run:
        yield lambda function, *arguments: run(with_session, function, home, jars, *arguments)


def with_session(
    function: Callable[..., object], home: Path, jars: list[str], *arguments: object
) -> object:
    return function(session(home, jars, extensions=[DELTA]).getOrCreate(), *arguments)


Visit = tuple[
    list[tuple[object, ...]], dict[str, Failure | None], dict[str, tuple[str, str | None]]
]


def visit(spark: SparkSession, path: Path) -> Visit:
    """Returns the rows, the error of each write, and the errors of `UsageTracking`."""
    table = Table(spark, path)
    failures = {
        write: failure_of(partial(spark.sql, write.format(t=table.name))) for write in WRITES
    }
    refusals = {
        "name": conditions_of(UsageTracking.forName, spark, str(path)),
        "path": conditions_of(UsageTracking.forPath, spark, path),
    }
    return table.selected(), failures, refusals


def conditions_of(
    find: Callable[..., object], spark: SparkSession, table: str | Path
) -> tuple[str, str | None]:
    """Returns the condition of the refusal and that of Spark's error behind it."""
    with pytest.raises(spark_ext.SparkExtError) as refused:
        find(spark, table)
    cause = refused.value.__cause__
    assert isinstance(cause, AnalysisException)
    return refused.value.condition, cause.getCondition()


def test_tracked_table_can_be_read_and_not_written(table: Table, plain: Plain) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x'), (2, 'y')")
    table.alter("RENAME COLUMN a TO c")
    version = table.log.version

    rows, failures, refusals = plain(visit, table.path)

    assert rows == table.selected() == [(1, "x"), (2, "y")]
    assert list(failures) == WRITES
    for failure in failures.values():
        assert failure is not None
        assert failure.condition == "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"
        assert failure.sql_state == "56038"
        assert "columnMappingUsageTracking" in failure.parameters["unsupported"]
    assert refusals == dict.fromkeys(
        ["name", "path"], ("USAGE_TRACKING_NOT_IN_SESSION", "UNRESOLVABLE_TABLE_VALUED_FUNCTION")
    )
    assert table.log.version == version
    assert table.log.flag == "true"


def audit_and_write(spark: SparkSession, path: Path) -> tuple[object, Failure | None]:
    """Returns the findings of an audit, and the error of a write after the audit."""
    findings = spark_ext.audit(spark, path, progress=None).findings
    return findings, failure_of(lambda: spark.sql(WRITES[0].format(t=Table(spark, path).name)))


@pytest.mark.broken_table("file_missing")
def test_audit_does_not_change_the_session(table: Table, plain: Plain) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    (table.path / next(iter(table.log.live_files))).unlink()

    found, failure = plain(audit_and_write, table.path)

    assert found == spark_ext.audit(table.spark, table.path, progress=None).findings != ()
    assert failure is not None
    assert failure.condition == "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"


def clone_and_change(spark: SparkSession, source: Path, path: Path) -> None:
    """Makes a clone with a dropped column whose name in files is its logical name."""
    clone = Table(spark, path)
    spark.sql(f"CREATE TABLE {clone.name} SHALLOW CLONE delta.`{source}`")
    clone.alter("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')")
    clone.alter("ADD COLUMN c INT")
    clone.insert("(2, 'y', 20)")
    clone.alter("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    clone.alter("DROP COLUMN c")


@pytest.mark.broken_table("flag_without_feature")
@pytest.mark.matrix
def test_clone_of_a_table_changed_without_the_extension_has_the_flag_true(
    table: Table, plain: Plain
) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    clone = Table(table.spark, table.path.with_name("changed"))
    plain(clone_and_change, table.path, clone.path)
    # The clone has the flag and the creation time of the source.
    assert (clone.log.is_tracked, clone.log.flag) == (False, "false")
    assert clone.log.metadata["createdTime"] == table.log.metadata["createdTime"]

    table.spark.sql(f"DELETE FROM {table.name}")
    table.spark.sql(f"CREATE OR REPLACE TABLE {table.name} SHALLOW CLONE {clone.name}")
    table.alter("ADD COLUMN c INT")

    assert (table.log.is_tracked, table.log.flag) == (True, "true")
    assert table.log.columns["c"] == (4, UUID)
    assert table.selected() == [(1, "x", None), (2, "y", None)]


def clone_and_drop(spark: SparkSession, source: Path, path: Path, *then: str) -> None:
    """Makes a clone in which `b` was dropped. The files contain `b` under its logical name."""
    clone = Table(spark, path)
    spark.sql(f"CREATE TABLE {clone.name} SHALLOW CLONE delta.`{source}`")
    for change in ("DROP COLUMN b", *then):
        clone.alter(change)


@pytest.mark.broken_table("flag_without_feature")
@pytest.mark.matrix
def test_restore_to_a_version_changed_without_the_extension_sets_the_flag(
    table: Table, plain: Plain
) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 10)")
    clone = Table(table.spark, table.path.with_name("changed"))
    unmapped = "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
    plain(clone_and_drop, table.path, clone.path, unmapped)
    assert (clone.log.at(1).is_tracked, clone.log.at(1).flag) == (False, "false")

    clone.alter(f"SET TBLPROPERTIES ({TRACKED})")
    assert clone.log.flag == "false"  # by the RFC, because the table has no column mapping
    clone.restore(1)
    clone.alter("ADD COLUMN b INT")

    assert clone.log.flag == "true"
    assert clone.log.columns == {"a": (1, "a"), "b": (3, UUID)}
    assert clone.selected() == [(1, None)]


@pytest.mark.broken_table("flag_without_feature")
def test_restore_to_a_version_before_an_alignment_sets_the_flag(table: Table, plain: Plain) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 10)")
    clone = Table(table.spark, table.path.with_name("changed"))
    plain(clone_and_drop, table.path, clone.path)
    version = clone.log.version
    clone.usage.align_names(progress=None)
    clone.alter("SET TBLPROPERTIES ('k' = 'v')")
    assert (clone.log.at(version).flag, clone.log.flag) == ("false", "false")

    clone.restore(version)
    clone.alter("ADD COLUMN b INT")

    assert clone.log.flag == "true"
    assert clone.log.columns == {"a": (1, "a"), "b": (3, UUID)}
    assert clone.selected() == [(1, None)]


def partly_unmapped(table: Table, plain: Plain) -> Table:
    """Returns an untracked clone with the flag `false`, from which `b` was dropped.

    Column mapping was only partly removed: for the value `None`, Delta changes only the mode.
    """
    table.create_tracked("a INT, b INT")
    table.insert("(1, 10)")
    changed = Table(table.spark, table.path.with_name("changed"))
    partly = "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'None')"
    plain(clone_and_drop, table.path, changed.path, partly)
    return changed


@pytest.mark.broken_table("flag_without_feature")
@pytest.mark.broken_table("mapping_keys_remain")
@pytest.mark.broken_table("file_columns")
@pytest.mark.broken_table("flag_too_early")
def test_restore_to_a_version_with_a_partly_removed_mapping_sets_the_flag(
    table: Table, plain: Plain
) -> None:
    clone = partly_unmapped(table, plain)
    version = clone.log.version
    table.spark.sql(f"CREATE OR REPLACE TABLE {clone.name} USING delta AS SELECT 1 AS a")
    clone.alter(f"SET TBLPROPERTIES ({TRACKED})")
    assert (clone.log.at(version).flag, clone.log.flag) == ("false", "false")

    clone.restore(version)
    assert clone.log.flag == "true"
    clone.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    clone.alter("ADD COLUMN b INT")

    assert clone.log.columns["b"][1] == UUID
    assert clone.selected() == [(1, None)]


@pytest.mark.broken_table("flag_without_feature")
@pytest.mark.broken_table("mapping_keys_remain")
@pytest.mark.broken_table("file_columns")
@pytest.mark.broken_table("flag_too_early")
def test_removal_is_completed_when_a_clone_has_only_the_highest_id(
    table: Table, plain: Plain
) -> None:
    clone = partly_unmapped(table, plain).clone(table.path.with_name("clone"))
    clone.alter(f"SET TBLPROPERTIES ({TRACKED})")
    clone.alter("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')")
    clone.alter("DROP FEATURE columnMappingUsageTracking")
    clone.alter(f"SET TBLPROPERTIES ({TRACKED})")

    clone.alter("ADD COLUMN b INT")

    assert clone.log.flag == "false"
    assert clone.selected() == [(1, None)]


@pytest.mark.broken_table("flag_without_feature")
@pytest.mark.broken_table("mapping_keys_remain")
@pytest.mark.broken_table("file_columns")
@pytest.mark.broken_table("flag_too_early")
def test_tracking_sets_the_flag_when_a_clone_has_only_the_highest_id(
    table: Table, plain: Plain
) -> None:
    clone = partly_unmapped(table, plain).clone(table.path.with_name("clone"))
    assert (clone.log.is_tracked, clone.log.flag) == (False, "false")

    clone.alter(f"SET TBLPROPERTIES ({TRACKED}, {NAME_MODE})")
    clone.alter("ADD COLUMN b INT")

    assert clone.log.flag == "true"
    assert clone.log.columns["b"][1] == UUID
    assert clone.selected() == [(1, None)]


@pytest.mark.broken_table("flag_without_feature")
@pytest.mark.matrix
def test_id_of_a_column_dropped_without_the_extension_is_not_reused(
    table: Table, plain: Plain
) -> None:
    source = Table(table.spark, table.path.with_name("source"))
    source.create_tracked("a ARRAY<INT>, b INT")
    source.insert("(array(1), 10)")
    clone = Table(table.spark, table.path.with_name("changed"))
    plain(clone_and_drop, source.path, clone.path)
    table.create_tracked("a ARRAY<INT>")
    table.alter("SET TBLPROPERTIES ('delta.enableIcebergCompatV2' = 'true')")
    nested = table.log.fields["a"].metadata["delta.columnMapping.nested.ids"]
    assert nested == {"a.element": 2}
    assert (clone.log.flag, clone.log.columns) == ("false", {"a": (1, "a")})

    table.spark.sql(f"CREATE OR REPLACE TABLE {table.name} SHALLOW CLONE {clone.name}")
    table.alter("ADD COLUMN b INT")

    assert table.log.flag == "true"
    assert table.log.columns == {"a": (1, "a"), "b": (3, UUID)}
    assert table.selected() == [([1], None)]


# Streams of the plain session, while a session with spark-ext removes column mapping.

EVOLUTION = "DELTA_STREAMING_METADATA_EVOLUTION"
ALLOWED = "spark.databricks.delta.streaming.allowSourceColumnRenameAndDrop"
# The streams that run in the process of the plain session, by the folders of their targets.
RUNNING: dict[Path, Any] = {}


def start_stream(spark: SparkSession, source: Path, target: Path, how: str) -> None:
    """Starts a sink, or a stream whose batches update all rows by the same `DeltaTable`."""
    rows = spark.readStream.format("delta").load(str(source))
    writer = rows.writeStream.option("checkpointLocation", str(checkpoint_of(target)))
    held = Table(spark, target).delta_table
    if how == "update":
        writer = writer.foreachBatch(lambda _, number: held.update(set={"b": lit(f"u{number}")}))
        query = writer.start()
    else:
        query = writer.format("delta").start(str(target))
    query.processAllAvailable()
    RUNNING[target] = query


def end_stream(_: SparkSession, target: Path) -> None:
    """Lets a stream read all rows, and stops it."""
    query = RUNNING.pop(target)
    query.processAllAvailable()
    query.stop()


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("how", "before", "after"),
    [
        ("sink", [(1, "x"), (2, "y")], [(1, "x"), (2, "y"), (3, "z")]),
        ("update", [(1, "u0")], [(None, "u1")]),
    ],
)
def test_running_plain_stream_has_no_error_after_a_removal(
    table: Table, plain: Plain, how: str, before: object, after: object
) -> None:
    """A sink writes by the newest names. A stale `DeltaTable` writes nulls."""
    table.create("a INT, b STRING", NAME_MODE)
    table.insert("(1, 'x')")
    source = Table(table.spark, table.path.with_name("source")).create("a INT, b STRING")
    source.insert("(2, 'y')")
    plain(start_stream, source.path, table.path, how)
    assert table.selected() == before

    table.usage.remove_column_mapping(progress=None)
    source.insert("(3, 'z')")
    plain(end_stream, table.path)

    assert table.selected() == after


def read_stream(spark: SparkSession, source: Path, target: Path, has_log: bool) -> str | None:
    """Reads all rows of a table into another one, and returns the condition of an error."""
    rows = spark.readStream.format("delta")
    if has_log:
        spark.conf.set(ALLOWED, "always")
        rows = rows.option("schemaTrackingLocation", str(checkpoint_of(target) / "schemas"))
    try:
        start_sink(rows.load(str(source)), target).awaitTermination()
    except StreamingQueryException as stopped:
        return re.findall(r"\[(DELTA_\w+)\]", str(stopped))[0]
    return None


def test_plain_stream_from_the_table_continues_with_a_schema_log_after_a_removal(
    table: Table, plain: Plain
) -> None:
    table.create("a INT, b STRING", NAME_MODE)
    table.insert("(1, 'x')")
    target = Table(table.spark, table.path.with_name("target"))
    assert plain(read_stream, table.path, target.path, False) is None
    table.insert("(2, 'y')")
    table.usage.remove_column_mapping(progress=None)
    table.insert("(3, 'z')")

    assert plain(read_stream, table.path, target.path, False) == OTHER_STREAM
    assert target.selected() == [(1, "x")]
    logged = [plain(read_stream, table.path, target.path, True) for _ in range(3)]

    assert logged == [EVOLUTION, EVOLUTION, None]
    assert target.selected() == [(1, "x"), (2, "y"), (3, "z")]
