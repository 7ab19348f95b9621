# SPDX-License-Identifier: Apache-2.0
"""Tests that a failed removal of column mapping changes nothing and deletes its copies."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import spark_ext
from tests.support.custom_sessions import our_jar, resolved_jars, session, stop
from tests.support.delta_table import NAME_MODE, NONE_MODE, TRACKED, Table, refusal
from tests.support.held_statement import HeldStatement, Step
from tests.support.odd_disk import OddDisk, odd_jar, with_odd_disk
from tests.support.prepared import made_once
from tests.support.processes import in_new_process
from tests.support.removal import (
    COPY,
    OPERATION,
    SETTING,
    counts,
    data_files,
    insert_one_file,
    live,
    local,
    newest_adds,
    unmap,
    untouched,
)
from tests.support.session_conf import session_conf
from tests.support.table_log import TableLog
from tests.support.variants import in_matrix
from tests.support.waiting import wait_until

pytestmark = pytest.mark.without("optimize-write", "auto-compact")

MATRIX = pytest.mark.matrix
UNREADABLE = "USAGE_TRACKING_UNREADABLE_DATA_FILE"


@made_once
def renamed(table: Table, partitioned_by: str = "") -> Table:
    """Makes a table of two files, in which the first column was renamed."""
    table.create("a INT, b STRING", TRACKED, NAME_MODE, partitioned_by=partitioned_by)
    table.insert("(0, 'x'), (1, 'x')")
    assert len(table.log.actions("add")) == 2
    table.alter("RENAME COLUMN a TO c")
    return table


# Unreadable files.


def missing(file: Path) -> None:
    file.unlink()


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def cut_in_the_middle(file: Path) -> None:
    """Cuts bytes out of a file. Its footer remains, and its size differs from the log."""
    content = file.read_bytes()
    file.write_bytes(content[:4] + content[100:])


def garbage(file: Path) -> None:
    file.write_bytes(b"PAR1" + bytes(file.stat().st_size - 8) + b"PAR1")


def no_parquet(file: Path) -> None:
    file.write_bytes(b"x" * file.stat().st_size)


def emptied(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.broken_table("file_missing", "file_unreadable")
@pytest.mark.parametrize(
    "broken", [missing, cut_short, *in_matrix(cut_in_the_middle, garbage, no_parquet, emptied)]
)
def test_unreadable_file_is_named_in_the_error(
    table: Table, broken: Callable[[Path], None]
) -> None:
    renamed(table)
    file = local(table.path, list(table.log.live_files)[1])
    broken(file)

    with untouched(table), table.refusal(UNREADABLE) as refused:
        table.remove_mapping()

    error = refused.value
    assert error.getSqlState()
    assert file.name in str(error.getMessageParameters())


@MATRIX
def test_removal_succeeds_after_an_unreadable_file_is_repaired(table: Table) -> None:
    renamed(table)
    file = local(table.path, list(table.log.live_files)[1])
    content = file.read_bytes()
    cut_short(file)
    with table.refusal(UNREADABLE):
        table.remove_mapping()
    file.write_bytes(content)

    assert counts(unmap(table)) == (0, 2, 0)
    assert table.rows() == [(0, "x"), (1, "x")]


def text_of_the_error(table: Table) -> str:
    with table.refusal(UNREADABLE) as refused:
        table.remove_mapping()
    return str(refused.value)


def text_of_the_finding(table: Table) -> str:
    (finding,) = spark_ext.audit(table.spark, table.path).findings
    return finding.remedy


@pytest.mark.every_variant
@pytest.mark.parametrize("broken", [missing, cut_short])
@pytest.mark.parametrize("text_of", [text_of_the_error, text_of_the_finding])
def test_rows_of_an_unreadable_file_are_given_up_by_the_statement_in_the_text(
    table: Table, broken: Callable[[Path], None], text_of: Callable[[Table], str]
) -> None:
    """Every version with rows uses the file, so RESTORE would lose all rows."""
    table.create_tracked()
    insert_one_file(table, "(1, 'x')")
    insert_one_file(table, "(2, 'x')")
    table.alter("RENAME COLUMN a TO c")
    (lost,) = (add["path"] for add in table.log.at(1).actions("add"))
    broken(local(table.path, lost))
    text = text_of(table)

    with session_conf(table.spark, dict.fromkeys(re.findall(r"`(spark[.\w]+)`", text), "true")):
        (statement,) = re.findall(r"INSERT OVERWRITE t SELECT \* FROM t\b", text)
        table.spark.sql(re.sub(r"\bt\b", table.name, statement))

    assert lost not in live(table.log)
    assert table.selected() == [(2, "x")]
    assert not spark_ext.audit(table.spark, table.path).findings
    unmap(table)


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("INSERT INTO {t} REPLACE WHERE p = 1 SELECT * FROM {t} WHERE p = 1", [(2, 1), (3, 2)]),
        ("DELETE FROM {t} WHERE p = 1", [(3, 2)]),
    ],
)
def test_rows_of_a_lost_file_are_given_up_in_one_partition(
    table: Table, conf: Any, statement: str, rows: list[tuple[object, ...]]
) -> None:
    """docs/audit.md, "A lost data file"."""
    table.create_tracked("a INT, p INT", partitioned_by="p")
    for values in ("(1, 1)", "(2, 1)", "(3, 2)"):
        insert_one_file(table, values)
    (lost,) = (add["path"] for add in table.log.at(1).actions("add"))
    missing(local(table.path, lost))
    conf("spark.sql.files.ignoreMissingFiles", "true" if "SELECT" in statement else "false")
    kept = {path for path, add in live(table.log).items() if "2" in add["partitionValues"].values()}

    table.spark.sql(statement.format(t=table.name))

    assert kept <= live(table.log).keys() - {lost}
    conf("spark.sql.files.ignoreMissingFiles", "false")
    assert table.selected() == rows


def spoil(file: Path) -> None:
    """Damages the pages of a file and not its footer, so only a reader of the values fails."""
    content = file.read_bytes()
    file.write_bytes(content[:4] + b"\xff" * 90 + content[94:])
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def test_unreadable_file_that_needs_a_rewrite_fails_the_removal(table: Table) -> None:
    table.create_tracked("s STRUCT<x: INT>, b STRING")
    insert_one_file(table, "(named_struct('x', 1), 'x')")
    insert_one_file(table, "(named_struct('x', 2), 'y')")
    table.alter("ADD COLUMN s.y INT")
    table.alter("DROP COLUMN s.x")
    insert_one_file(table, "(named_struct('y', 3), 'z')")
    table.alter("RENAME COLUMN b TO c")
    file = local(table.path, next(iter(table.log.live_files)))
    content = file.read_bytes()
    spoil(file)
    before = data_files(table.path)

    with table.refusal(UNREADABLE) as refused:
        table.remove_mapping()

    assert refused.value.getMessageParameters()["path"].endswith(file.name)
    # Files of Delta's writer remain until VACUUM, as after Delta's own rewrite.
    new_names = [new.name for new in data_files(table.path) - before]
    assert not [name for name in new_names if COPY.match(name)]
    file.write_bytes(content)
    log = unmap(table)
    assert counts(log) == (0, 1, 2)
    assert len([add for add in log.actions("add") if COPY.match(add["path"])]) == 1


@pytest.mark.broken_table("file_missing")
def test_missing_file_is_named_before_delta_rewrites_it(table: Table) -> None:
    """The log alone decides that Delta rewrites the file."""
    table.create_tracked()
    insert_one_file(table, "(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    ((path, add),) = live(table.log).items()
    table.log.append_foreign({"add": {**add, "stats": '{"numRe', "dataChange": False}})
    missing(local(table.path, path))

    with untouched(table), table.refusal(UNREADABLE) as refused:
        table.remove_mapping()

    assert refused.value.getMessageParameters()["path"].endswith(local(table.path, path).name)
    table.log.append_foreign({"add": {**add, "dataChange": False}})  # the audit reads statistics


@pytest.mark.parametrize("removal", ["copy", *in_matrix("rewrite")])
@pytest.mark.parametrize("harm", [spoil, *in_matrix(Path.unlink)])
def test_removal_skips_no_row_when_the_session_ignores_corrupt_files(
    table: Table, conf: Any, removal: str, harm: Callable[[Path], None]
) -> None:
    conf(SETTING, removal)
    conf("spark.sql.files.ignoreCorruptFiles", "true")
    conf("spark.sql.files.ignoreMissingFiles", "true")
    table.create_tracked("s STRUCT<x: INT>, b STRING")
    insert_one_file(table, "(named_struct('x', 1), 'x')")
    insert_one_file(table, "(named_struct('x', 2), 'y')")
    table.alter("ADD COLUMN s.y INT")
    table.alter("DROP COLUMN s.x")
    file = local(table.path, next(iter(table.log.live_files)))
    content = file.read_bytes()
    harm(file)
    assert len(table.selected()) == 1  # the session ignores such files

    with table.no_commit(), pytest.raises((PySparkException, Py4JError)):
        table.remove_mapping()

    file.write_bytes(content)
    assert unmap(table)
    assert table.selected("b") == [("x",), ("y",)]


def test_removal_refused_by_delta_writes_no_file(table: Table) -> None:
    """A later refusal would make the copies useless."""
    renamed(table, partitioned_by="b")
    protocol = table.log.protocol
    features = {
        key: [*protocol.get(key, []), "icebergCompatV1"] if key == "writerFeatures" else value
        for key, value in protocol.items()
    }
    table.log.append_properties({"delta.enableIcebergCompatV1": "true"}, {"protocol": features})
    folders = set(table.path.rglob("b=*"))

    with untouched(table), pytest.raises((PySparkException, Py4JError)) as refused:
        table.remove_mapping()

    assert "COMPAT" in str(refused.value)
    assert set(table.path.rglob("b=*")) == folders


# Two columns with the same id or physical name.


ID, PHYSICAL_NAME = "delta.columnMapping.id", "delta.columnMapping.physicalName"
ALIKE = pytest.mark.broken_table(
    "physical_name_used_again", "id_used_again", "dropped_column_shown", "physical_name_changed"
)


def twins(table: Table, mode: str, key: str) -> Table:
    """Gives the second column the id or the physical name of the first, as another writer might."""
    table.create("a INT, b INT", TRACKED, f"'delta.columnMapping.mode' = '{mode}'")
    table.insert("(1, 2)")
    table.alter("RENAME COLUMN a TO c")
    metadata = table.log.metadata
    schema = json.loads(metadata["schemaString"])
    first, second = (field["metadata"] for field in schema["fields"])
    second[key] = first[key]
    table.log.append_foreign({"metaData": {**metadata, "schemaString": json.dumps(schema)}})
    return table


@pytest.mark.every_variant
@ALIKE
@pytest.mark.parametrize(
    ("mode", "key", "condition"),
    [
        ("name", PHYSICAL_NAME, "USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME"),
        ("id", ID, "USAGE_TRACKING_DUPLICATED_COLUMN_ID"),
        ("id", PHYSICAL_NAME, "USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME"),
    ],
)
def test_columns_with_the_same_id_or_physical_name_are_refused(
    table: Table, mode: str, key: str, condition: str
) -> None:
    """A copy would give the values to one column, and nulls to the other."""
    twins(table, mode, key)

    with table.refusal(condition), untouched(table):
        table.remove_mapping()


@ALIKE
def test_columns_with_the_same_id_are_copied_in_mode_name(table: Table) -> None:
    """Removal repairs such a table."""
    twins(table, "name", ID)

    log = unmap(table)

    assert counts(log) == (0, 1, 0)
    assert table.selected("c, b") == [(1, 2)]
    assert table.frame().where("b = 2").count() == 1


# Failures after the commit.


@pytest.mark.without("deletion-vectors")
def test_files_are_kept_when_a_post_commit_hook_fails(table: Table) -> None:
    """The post-commit hook that writes manifests fails."""
    renamed(table)
    key = "delta.compatibility.symlinkFormatManifest.enabled"
    table.log.append_properties({key: "true"})
    (table.path / "_symlink_format_manifest").write_text("in the way")

    with refusal("DELTA_POST_COMMIT_HOOK_FAILED"):
        table.remove_mapping()

    assert table.log.operation == OPERATION
    assert counts(table.log) == (0, 2, 0)
    assert all(local(table.path, path).is_file() for path in table.log.live_files)
    assert table.rows() == [(0, "x"), (1, "x")]


# A storage that only streams, delays or fails.


@pytest.fixture
def odd_table(disk: OddDisk, table: Table) -> Table:
    """Makes a table on the odd storage."""
    table.name = f"delta.`odd:{table.path}`"
    return renamed(table)


def test_removal_works_on_a_storage_that_only_streams(odd_table: Table) -> None:
    insert_one_file(odd_table, "(3, 'y')")
    odd_table.alter("DROP COLUMN b")

    log = unmap(odd_table)

    assert counts(log) == (0, 3, 0)
    assert not [file for file in data_files(odd_table.path) if file.suffix == ".crc"]
    assert odd_table.rows() == [(0,), (1,), (3,)]


def test_removal_in_a_clone_copies_files_of_another_storage(
    disk: OddDisk, table: Table, tmp_path: Path
) -> None:
    source = renamed(Table(table.spark, tmp_path / "source"))
    table.name = f"delta.`odd:{table.path}`"
    table.spark.sql(f"CREATE TABLE {table.name} SHALLOW CLONE {source.name}")

    log = unmap(table)

    assert counts(log) == (0, 2, 0)
    assert {file.suffix for file in data_files(table.path)} == {".parquet"}
    assert table.rows() == source.rows() == [(0, "x"), (1, "x")]


def test_failed_task_fails_the_removal(odd_table: Table, disk: OddDisk) -> None:
    disk.fail()

    with untouched(odd_table), pytest.raises((PySparkException, Py4JError), match="disk is odd"):
        odd_table.remove_mapping()

    assert counts(unmap(odd_table)) == (0, 2, 0)


class Running:
    """Runs a statement on a separate thread in a job group."""

    def __init__(self, table: Table, group: str) -> None:
        self._table = table
        self._group = group
        self.error: Exception | None = None
        self.jvm_thread: Any = None
        self.thread = InheritableThread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        context = self._table.spark.sparkContext
        jvm: Any = self._table.spark._jvm
        self.jvm_thread = jvm.java.lang.Thread.currentThread()
        context.setJobGroup(self._group, "of the test", interruptOnCancel=False)
        try:
            self._table.remove_mapping()
        except Exception as error:
            self.error = error


def by_group(running: Running, spark: SparkSession) -> None:
    spark.sparkContext.cancelJobGroup("copies")


def by_interrupt(running: Running, spark: SparkSession) -> None:
    running.jvm_thread.interrupt()


@pytest.mark.parametrize("kill", [by_group, by_interrupt])
def test_cancelled_removal_deletes_complete_copies(
    odd_table: Table, disk: OddDisk, kill: Callable[[Running, SparkSession], None]
) -> None:
    """The tasks are held before the end of a file, and continue after the cancellation."""
    disk.hold()

    with untouched(odd_table):
        running = Running(odd_table, "copies")
        wait_until(lambda: disk.has_delayed, "a copy")
        kill(running, odd_table.spark)
        time.sleep(1)
        assert running.thread.is_alive()  # the statement waits for its tasks
        disk.release()
        running.thread.join()
        assert running.error is not None
        tracker = odd_table.spark.sparkContext.statusTracker()
        job = tracker.getJobInfo(max(tracker.getJobIdsForGroup("copies")))
        assert job is not None
        assert job.status == "FAILED"

    assert counts(unmap(odd_table)) == (0, 2, 0)


def cancel_the_group(spark: SparkSession) -> None:
    spark.sparkContext.cancelJobGroup("round two")


def interrupt_all(spark: SparkSession) -> None:
    assert spark.interruptAll()


@pytest.mark.parametrize("cancel", [cancel_the_group, interrupt_all])
def test_removal_cancelled_in_the_second_round_deletes_the_copies_of_the_first(
    odd_table: Table, disk: OddDisk, cancel: Callable[[SparkSession], object]
) -> None:
    """All copies are complete at the conflict, and the copy of the appended file is held."""
    spark = odd_table.spark
    other = Table(spark, odd_table.path)

    def remove_in_a_group() -> None:
        spark.sparkContext.setJobGroup("round two", "of the test", interruptOnCancel=False)
        odd_table.remove_mapping()

    def cancel_once_it_copies() -> None:
        wait_until(lambda: disk.has_delayed, "a copy")
        cancel(spark)
        wait_until(lambda: "FAILED" in statuses(spark, "round two"), "a job that failed")
        disk.release()

    with HeldStatement(spark, remove_in_a_group, Step.COMMIT) as held:
        first_round = orphans(other)
        insert_one_file(other, "(9, 'z')")
        before = data_files(other.path) - first_round
        disk.hold()
        canceller = InheritableThread(target=cancel_once_it_copies)
        canceller.start()
        with other.no_commit():
            error = held.release()
        canceller.join()

    assert len(first_round) == 2
    assert "SPARK_JOB_CANCELLED" in str(error)
    assert data_files(other.path) == before
    assert other.rows() == [(0, "x"), (1, "x"), (9, "z")]
    assert counts(unmap(odd_table)) == (0, 3, 0)


def statuses(spark: SparkSession, group: str) -> set[str]:
    tracker = spark.sparkContext.statusTracker()
    jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(group))
    return {job.status for job in jobs if job}


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ("INSERT INTO {t} VALUES (9, 'z')", None),
        *in_matrix(
            ("DELETE FROM {t} WHERE c = 1", None),
            ("OPTIMIZE {t}", None),
            ("ALTER TABLE {t} RENAME COLUMN b TO d", None),
        ),
        (f"ALTER TABLE {{t}} SET TBLPROPERTIES ({NONE_MODE})", "DELTA_METADATA_CHANGED"),
    ],
)
def test_removal_in_conflict_while_it_copies_continues_or_deletes_its_copies(
    odd_table: Table, disk: OddDisk, change: str, condition: str | None
) -> None:
    disk.hold()
    running = Running(odd_table, "conflict")
    wait_until(lambda: disk.has_delayed, "a copy")
    other = Table(odd_table.spark, odd_table.path)

    other.spark.sql(change.format(t=other.name))

    version, rows = other.log.version, other.rows()
    disk.release()
    running.thread.join()
    if condition:
        assert condition in str(running.error)
        assert other.log.version == version
    else:
        assert running.error is None
        assert other.log.version == version + 1
        assert other.log.operation == OPERATION
    assert not orphans(other)
    assert other.rows() == rows


def test_rewrite_that_failed_is_made_again_when_its_rows_were_deleted_meanwhile(
    disk: OddDisk, table: Table
) -> None:
    table.name = f"delta.`odd:{table.path}`"
    columns = "a INT, s STRUCT<x: INT>"
    table.create(columns, TRACKED, NAME_MODE, "'delta.enableDeletionVectors' = 'true'")
    insert_one_file(table, "(1, named_struct('x', 1)), (2, named_struct('x', 2))")
    table.alter("ADD COLUMN s.y INT")
    table.alter("DROP COLUMN s.x")
    table.alter("RENAME COLUMN a TO b")
    insert_one_file(table, "(3, named_struct('y', 3))")
    disk.hold()
    running = Running(table, "rewrite")
    wait_until(lambda: disk.has_delayed, "the copy of the second file")
    other = Table(table.spark, table.path)

    other.spark.sql(f"DELETE FROM {table.name} WHERE b = 1")
    disk.fail()
    disk.release()
    running.thread.join()

    assert running.error is None
    assert not disk.has_fault
    assert other.log.operation == OPERATION
    assert counts(other.log) == (0, 1, 1)
    assert other.selected("b, s.y") == [(2, None), (3, 3)]


def orphans(table: Table) -> set[Path]:
    """Returns the copies that no version of the log names."""
    named = {local(table.path, path) for path in newest_adds(table.log)}
    return {file for file in data_files(table.path) if COPY.match(file.name)} - named


# Separate applications.


@dataclass(frozen=True)
class Seen:
    rows: list[tuple[object, ...]]
    files: set[str]


def remove_with_tasks_that_fail(home: Path, jars: list[str]) -> Seen:
    """Runs four tasks in turn, each of which may fail twice, with Kryo as serializer."""
    builder = session(home, jars).master("local[1, 3]")
    builder.config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
    builder.config("spark.default.parallelism", "4")
    spark = with_odd_disk(builder).getOrCreate()
    disk = OddDisk(spark, home / "disk")
    table = Table(spark, home / "t", f"delta.`odd:{home / 't'}`")
    table.create_tracked("a BIGINT")
    rows = spark.range(8).selectExpr("id AS a")
    rows.repartitionByRange(8, "a").write.format("delta").mode("append").save(f"odd:{table.path}")
    table.alter("RENAME COLUMN a TO c")
    disk.fail(2, after=1)  # one file is complete when its task fails

    unmap(table)

    seen = Seen(table.rows(), {str(file) for file in orphans(table)})
    stop()
    return seen


def test_failed_tasks_are_retried_and_their_files_deleted(
    spark: SparkSession, tmp_path: Path
) -> None:
    jars = [*resolved_jars(spark), our_jar(), str(odd_jar(tmp_path))]

    seen = in_new_process(remove_with_tasks_that_fail, tmp_path, jars)

    assert seen == Seen([(n,) for n in range(8)], set())
    assert counts(TableLog(tmp_path / "t")) == (0, 8, 0)
    assert not list((tmp_path / "disk").glob("fail-*"))
