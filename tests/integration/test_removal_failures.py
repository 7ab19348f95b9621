# SPDX-License-Identifier: Apache-2.0
"""Tests that a failed removal or purge changes nothing and deletes its copies."""

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
from tests.support.releases import PURGES
from tests.support.removal import (
    COPY,
    OPERATION,
    SETTING,
    add_again,
    counts,
    data_files,
    files_of,
    insert_one_file,
    live,
    local,
    newest_adds,
    unmap,
    untouched,
)
from tests.support.session_conf import SetConf, session_conf
from tests.support.table_log import TableLog
from tests.support.variants import in_matrix
from tests.support.waiting import wait_until

pytestmark = pytest.mark.without("optimize-write", "auto-compact")

UNREADABLE = "USAGE_TRACKING_UNREADABLE_DATA_FILE"
ROWS = [(0, "x"), (1, "x")]

Statement = Callable[[Table], object]


@made_once
def renamed(table: Table, *properties: str, tracked: bool = True, by: str = "") -> Table:
    """Makes a table of two files with a renamed and a dropped column."""
    properties += (NAME_MODE, *([TRACKED] if tracked else []))
    table.create("a INT, b STRING, g INT", *properties, partitioned_by=by)
    for row in ROWS:
        insert_one_file(table, str((*row, 7)))
    table.alter("RENAME COLUMN a TO c")
    table.alter("DROP COLUMN g")
    return table


def test_removal_is_refused_when_the_rules_are_unavailable(
    table: Table, driver_conf: SetConf
) -> None:
    table.create_tracked()
    driver_conf("spark.sparkext.worker.python", "no-such-python")

    with table.refusal("USAGE_TRACKING_RULES_UNAVAILABLE"):
        unmap(table)


# Unreadable files.


# Each harm changes the bytes of a file. None deletes the file; `spoiled` keeps its footer.
HARMS: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda content: None,
    "cut short": lambda content: content[:-20],
    "cut in the middle": lambda content: content[:4] + content[100:],
    "garbage": lambda content: b"PAR1" + bytes(len(content) - 8) + b"PAR1",
    "no Parquet": lambda content: b"x" * len(content),
    "empty": lambda content: b"",
    "spoiled": lambda content: content[:4] + b"\xff" * 90 + content[94:],
}


def harmed(file: Path, harm: str) -> bytes:
    """Harms a file, and returns its content of before."""
    content = file.read_bytes()
    changed = HARMS[harm](content)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    if changed is None:
        file.unlink()
    else:
        file.write_bytes(changed)
    return content


def look(table: Table) -> object:
    return table.usage.remove_column_mapping(dry_run=True, exact=True)


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("statement", "tracked", "harm"),
    [
        (Table.remove_mapping, True, "missing"),
        (Table.remove_mapping, True, "cut short"),
        *in_matrix(*((Table.remove_mapping, True, harm) for harm in list(HARMS)[2:6])),
        (look, True, "missing"),
        pytest.param(Table.purge, True, "missing", marks=PURGES),
        pytest.param(Table.purge, True, "no Parquet", marks=PURGES),
        pytest.param(Table.purge, False, "missing", marks=PURGES),
        pytest.param(Table.purge, False, "no Parquet", marks=PURGES),
    ],
)
def test_unreadable_file_is_named_and_the_statement_succeeds_once_it_is_repaired(
    table: Table, statement: Statement, tracked: bool, harm: str
) -> None:
    renamed(table, tracked=tracked)
    file = local(table.path, list(table.log.live_files)[1])
    content = harmed(file, harm)

    with untouched(table), table.refusal(UNREADABLE) as refused:
        statement(table)

    assert refused.value.getSqlState()
    assert refused.value.getMessageParameters()["path"].endswith(file.name)
    file.write_bytes(content)
    statement(table)
    assert table.rows() == ROWS


@PURGES
@pytest.mark.without("deletion-vectors")
@pytest.mark.every_variant
@pytest.mark.parametrize("tracked", [True, False])
def test_purge_names_a_file_that_delta_cannot_rewrite(table: Table, tracked: bool) -> None:
    """Delta rewrites a file with a deletion vector, and the other file is copied if possible."""
    renamed(table, "'delta.enableDeletionVectors' = 'true'", tracked=tracked)
    insert_one_file(table, "(2, 'y'), (3, 'y')")
    table.spark.sql(f"DELETE FROM {table.name} WHERE c = 2")
    (path,) = (path for path, add in live(table.log).items() if "deletionVector" in add)
    table.alter("DROP COLUMN b")
    harmed(local(table.path, path), "spoiled")

    with table.refusal(UNREADABLE) as refused:
        table.purge()

    assert refused.value.getMessageParameters()["path"].endswith(path)
    assert not orphans(table)


def text_of_the_error(table: Table) -> str:
    with table.refusal(UNREADABLE) as refused:
        table.remove_mapping()
    return str(refused.value)


def text_of_the_finding(table: Table) -> str:
    (finding,) = spark_ext.audit(table.spark, table.path).findings
    return finding.remedy


@pytest.mark.every_variant
@pytest.mark.parametrize("harm", ["missing", "cut short"])
@pytest.mark.parametrize("text_of", [text_of_the_error, text_of_the_finding])
def test_rows_of_an_unreadable_file_are_given_up_by_the_statement_in_the_text(
    table: Table, harm: str, text_of: Callable[[Table], str]
) -> None:
    """Every version with rows uses the file, so RESTORE would lose all rows."""
    renamed(table)
    lost = next(iter(table.log.live_files))
    harmed(local(table.path, lost), harm)
    text = text_of(table)

    with session_conf(table.spark, dict.fromkeys(re.findall(r"`(spark[.\w]+)`", text), "true")):
        (statement,) = re.findall(r"INSERT OVERWRITE t SELECT \* FROM t\b", text)
        table.spark.sql(re.sub(r"\bt\b", table.name, statement))

    assert lost not in live(table.log)
    assert table.selected() == ROWS[1:]
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
    lost, *_, kept = table.log.live_files
    local(table.path, lost).unlink()
    conf("spark.sql.files.ignoreMissingFiles", "true" if "SELECT" in statement else "false")

    table.spark.sql(statement.format(t=table.name))

    assert kept in live(table.log)
    assert lost not in live(table.log)
    conf("spark.sql.files.ignoreMissingFiles", "false")
    assert table.selected() == rows


@made_once
def with_a_rewritten_file(table: Table) -> Table:
    """Makes a table whose first two files a removal rewrites, and whose last it copies."""
    table.create_tracked("s STRUCT<x: INT>, b STRING")
    insert_one_file(table, "(named_struct('x', 1), 'x')")
    insert_one_file(table, "(named_struct('x', 2), 'y')")
    table.alter("ADD COLUMN s.y INT")
    table.alter("DROP COLUMN s.x")
    insert_one_file(table, "(named_struct('y', 3), 'z')")
    table.alter("RENAME COLUMN b TO c")
    return table


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("removal", "harm", "is_ignored"),
    [
        ("copy", "spoiled", "false"),
        ("copy", "spoiled", "true"),
        *in_matrix(("copy", "missing", "true")),
        *in_matrix(("rewrite", "spoiled", "true"), ("rewrite", "missing", "true")),
    ],
)
def test_unreadable_file_that_needs_a_rewrite_fails_the_removal(
    table: Table, conf: SetConf, removal: str, harm: str, is_ignored: str
) -> None:
    """The removal skips no row, also if the session ignores such files."""
    conf(SETTING, removal)
    conf("spark.sql.files.ignoreCorruptFiles", is_ignored)
    conf("spark.sql.files.ignoreMissingFiles", is_ignored)
    with_a_rewritten_file(table)
    file = local(table.path, next(iter(table.log.live_files)))
    content = harmed(file, harm)

    with table.no_commit(), pytest.raises((PySparkException, Py4JError)) as refused:
        table.remove_mapping()

    if is_ignored == "false":
        assert f"[{UNREADABLE}]" in str(refused.value)
        assert file.name in str(refused.value)
    else:
        assert len(table.selected()) == 2
    assert not orphans(table)  # files of Delta's writer remain until VACUUM
    file.write_bytes(content)
    assert files_of(unmap(table)) == ("0 1 2" if removal == "copy" else "delta")
    assert table.selected("c") == [("x",), ("y",), ("z",)]


@pytest.mark.broken_table("file_missing")
def test_missing_file_is_named_before_delta_rewrites_it(table: Table) -> None:
    """The log alone decides that Delta rewrites the file."""
    table.create_tracked()
    insert_one_file(table, "(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    ((path, add),) = live(table.log).items()
    add_again(table, stats='{"numRe')
    local(table.path, path).unlink()

    with untouched(table), table.refusal(UNREADABLE) as refused:
        table.remove_mapping()

    assert refused.value.getMessageParameters()["path"].endswith(local(table.path, path).name)
    add_again(table, stats=add["stats"])  # the audit reads statistics


def test_removal_refused_by_delta_writes_no_file(table: Table) -> None:
    """A later refusal would make the copies useless."""
    renamed(table, by="b")
    protocol = table.log.protocol
    features = [*protocol.get("writerFeatures", []), "icebergCompatV1"]
    table.log.append_properties(
        {"delta.enableIcebergCompatV1": "true"},
        {"protocol": {**protocol, "writerFeatures": features}},
    )
    folders = set(table.path.rglob("b=*"))

    with untouched(table), pytest.raises((PySparkException, Py4JError)) as refused:
        table.remove_mapping()

    assert "COMPAT" in str(refused.value)
    assert set(table.path.rglob("b=*")) == folders


# Two columns with the same id or physical name.


ID, PHYSICAL_NAME = "delta.columnMapping.id", "delta.columnMapping.physicalName"


@pytest.mark.every_variant
@pytest.mark.broken_table(
    "physical_name_used_again", "id_used_again", "dropped_column_shown", "physical_name_changed"
)
@pytest.mark.parametrize(
    ("mode", "key", "condition"),
    [
        ("name", PHYSICAL_NAME, "USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME"),
        ("id", ID, "USAGE_TRACKING_DUPLICATED_COLUMN_ID"),
        ("id", PHYSICAL_NAME, "USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME"),
        ("name", ID, None),
    ],
)
def test_columns_with_the_same_id_or_physical_name_are_refused(
    table: Table, mode: str, key: str, condition: str | None
) -> None:
    """A copy would give the values to one column, and nulls to the other. Ids repeat by name."""
    table.create("a INT, b INT", TRACKED, f"'delta.columnMapping.mode' = '{mode}'")
    table.insert("(1, 2)")
    table.alter("RENAME COLUMN a TO c")
    metadata = table.log.metadata
    schema = json.loads(metadata["schemaString"])
    first, second = (field["metadata"] for field in schema["fields"])
    second[key] = first[key]  # as another writer might
    table.log.append_foreign({"metaData": {**metadata, "schemaString": json.dumps(schema)}})

    if condition:
        with table.refusal(condition), untouched(table):
            table.remove_mapping()
    else:
        assert files_of(unmap(table)) == "0 1 0"
        assert table.selected("c, b") == [(1, 2)]


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

    assert files_of(table.log) == "0 2 0"


# A storage that only streams, delays or fails.


@pytest.fixture
def odd_table(disk: OddDisk, table: Table) -> Table:
    """Makes a table on the odd storage."""
    table.name = f"delta.`odd:{table.path}`"
    return renamed(table)


def test_removal_works_on_a_storage_that_only_streams(odd_table: Table) -> None:
    log = unmap(odd_table)

    assert files_of(log) == "0 2 0"
    assert not [file for file in data_files(odd_table.path) if file.suffix == ".crc"]


def test_removal_in_a_clone_copies_files_of_another_storage(
    disk: OddDisk, table: Table, tmp_path: Path
) -> None:
    source = renamed(Table(table.spark, tmp_path / "source"))
    table.name = f"delta.`odd:{table.path}`"
    table.spark.sql(f"CREATE TABLE {table.name} SHALLOW CLONE {source.name}")

    assert files_of(unmap(table)) == "0 2 0"

    assert {file.suffix for file in data_files(table.path)} == {".parquet"}


STATEMENTS = pytest.mark.parametrize(
    "statement", [Table.remove_mapping, pytest.param(Table.purge, marks=PURGES)]
)


@pytest.mark.every_variant
@STATEMENTS
def test_statement_fails_with_a_task_and_deletes_its_copies(
    odd_table: Table, disk: OddDisk, statement: Statement
) -> None:
    disk.fail()

    with untouched(odd_table), odd_table.refusal("USAGE_TRACKING_COPY_FAILED") as refused:
        statement(odd_table)

    assert "disk is odd" in str(refused.value)
    statement(odd_table)
    assert files_of(odd_table.log) == "0 2 0"


class Running:
    """Runs a statement on a separate thread in a job group."""

    def __init__(self, table: Table, statement: Statement = Table.remove_mapping) -> None:
        self._table = table
        self._statement = statement
        self.error: Exception | None = None
        self.jvm_thread: Any = None
        self.thread = InheritableThread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        jvm: Any = self._table.spark._jvm
        self.jvm_thread = jvm.java.lang.Thread.currentThread()
        set_group(self._table.spark)
        try:
            self._statement(self._table)
        except Exception as error:
            self.error = error


def set_group(spark: SparkSession) -> None:
    spark.sparkContext.setJobGroup("copies", "of the test", interruptOnCancel=False)


def statuses(spark: SparkSession) -> set[str]:
    tracker = spark.sparkContext.statusTracker()
    jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup("copies"))
    return {job.status for job in jobs if job}


def by_group(running: Running, spark: SparkSession) -> None:
    spark.sparkContext.cancelJobGroup("copies")


def by_interrupt(running: Running, spark: SparkSession) -> None:
    running.jvm_thread.interrupt()


@pytest.mark.parametrize(
    ("statement", "kill"),
    [
        (Table.remove_mapping, by_group),
        (Table.remove_mapping, by_interrupt),
        pytest.param(Table.purge, by_group, marks=PURGES),
    ],
)
def test_cancelled_statement_deletes_complete_copies(
    odd_table: Table,
    disk: OddDisk,
    statement: Statement,
    kill: Callable[[Running, SparkSession], None],
) -> None:
    """The tasks are held before the end of a file, and continue after the cancellation."""
    disk.hold()

    with untouched(odd_table):
        running = Running(odd_table, statement)
        wait_until(lambda: disk.has_delayed, "a copy")
        kill(running, odd_table.spark)
        time.sleep(1)
        assert running.thread.is_alive()  # the statement waits for its tasks
        disk.release()
        running.thread.join()
        assert running.error is not None
        assert "FAILED" in statuses(odd_table.spark)


def cancel_the_group(spark: SparkSession) -> None:
    spark.sparkContext.cancelJobGroup("copies")


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
        set_group(spark)
        odd_table.remove_mapping()

    def cancel_once_it_copies() -> None:
        wait_until(lambda: disk.has_delayed, "a copy")
        cancel(spark)
        wait_until(lambda: "FAILED" in statuses(spark), "a job that failed")
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
    assert files_of(unmap(odd_table)) == "0 3 0"


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
    running = Running(odd_table)
    wait_until(lambda: disk.has_delayed, "a copy")
    other = Table(odd_table.spark, odd_table.path)

    other.spark.sql(change.format(t=other.name))

    version, rows = other.log.version, other.rows()
    disk.release()
    running.thread.join()
    assert (condition or "None") in str(running.error)
    assert other.log.version == version + (condition is None)
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
    running = Running(table)
    wait_until(lambda: disk.has_delayed, "the copy of the second file")
    other = Table(table.spark, table.path)

    other.spark.sql(f"DELETE FROM {table.name} WHERE b = 1")
    disk.fail()
    disk.release()
    running.thread.join()

    assert running.error is None
    assert not disk.has_fault
    assert files_of(other.log) == "0 1 1"
    assert other.selected("b, s.y") == [(2, None), (3, 3)]


def orphans(table: Table) -> set[Path]:
    """Returns the copies that no version of the log names."""
    named = {local(table.path, path) for path in newest_adds(table.log)}
    return {file for file in data_files(table.path) if COPY.match(file.name)} - named


# A separate application, because the number of failures is a setting of the application.


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
