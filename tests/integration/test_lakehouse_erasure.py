# SPDX-License-Identifier: Apache-2.0
"""Erases dropped columns in many tables, and compares each verdict with the bytes on the disk."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import Certificate, ErasureInterrupted
from tests.integration.erasures import (
    MARKER,
    SHORT,
    clean_up_log,
    footers_and_log,
    only,
    renamed_by_uuid,
    report,
    steps_of,
    top_level,
    verdict,
    with_marker,
)
from tests.integration.held_bytes import holders
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.odd_disk import OddDisk
from tests.support.releases import PURGES
from tests.support.session_conf import session_conf
from tests.support.waiting import wait_until

pytestmark = pytest.mark.without("parquet")


@pytest.fixture(autouse=True)
def _uncompressed(spark: SparkSession) -> Iterator[None]:
    with session_conf(spark, {"spark.sql.parquet.compression.codec": "uncompressed"}):
        yield


def nested(table: Table) -> None:
    table.create("id INT, p STRUCT<x: INT, ssn: STRING>", TRACKED, NAME_MODE, *SHORT)
    table.insert(f"(1, named_struct('x', 1, 'ssn', '{MARKER}'))")
    table.alter("RENAME COLUMN p TO person")
    table.alter("DROP COLUMN person.ssn")


def partition(table: Table) -> None:
    table.create("id INT, ssn STRING", *SHORT, partitioned_by="ssn")
    table.insert(f"(1, '{MARKER}')")
    table.overwrite("SELECT CAST(id AS INT) FROM range(2)")


ERASING: dict[Callable[[Table], object], list[str]] = {
    top_level: ["PURGE", "VACUUM"],
    renamed_by_uuid: ["PURGE", "VACUUM"],
    nested: ["PURGE", "VACUUM"],
    # The second statement deletes the folder `ssn=..`.
    partition: ["VACUUM", "VACUUM"],
}
"""The steps that erase the column of each table, except the cleanup of the log."""


@PURGES
def test_same_call_erases_the_column_of_each_table_and_certificates_contain_the_column(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = [Table(spark, tmp_path / str(number)) for number in range(len(ERASING))]
    for make, table in zip(ERASING, tables, strict=True):
        make(table)
    file = tmp_path / "ssn.json"

    first = report(*tables, column="SSN", apply=True)

    for make, table, found in zip(ERASING, tables, first.tables, strict=True):
        assert [step.step for step in found.applied] == ERASING[make]
        assert all((step.version_after or 0) > step.version_before for step in found.applied)
        assert all(step.error is None for step in found.applied)
        assert (found.verdict, steps_of(found)) == ("STILL_PRESENT", ["LOG CLEANUP"])
        assert set(holders(table.path, MARKER)) <= {"commits", "checkpoints", "other_log_files"}
        # The commit that removes a file of a partitioned table contains the partition's value.
        assert holders(table.path, MARKER)["commits"] == (2 if make is partition else 1)
    first = report(*tables, apply=True)
    assert [found.applied for found in first.tables] == [()] * len(tables)
    Certificate.of(first).write(file)

    for table in tables:
        clean_up_log(table)

    for make, table, alone in zip(ERASING, tables, report(*tables).tables, strict=True):
        assert holders(table.path, MARKER) == {}
        assert not re.search("ssn|hidden", footers_and_log(table))
        assert alone.verdict == "NEVER_HAD"
        assert alone.erasure is not None
        oldest = min(map(int, (f.name[:20] for f in (table.path / "_delta_log").glob("*.json"))))
        assert alone.erasure.oldest_version == oldest > 0
        # The column has no id without column mapping.
        assert alone.erasure.forgotten_ids == (None if make is partition else 1)
    last = report(*tables, previous=file)
    assert ({found.verdict for found in last.tables}, last.complete) == ({"ERASED"}, True)
    certified = json.loads(Certificate.of(last).json())
    earlier = [
        column["path"] for each in certified["tables"] for column in each["earlier"]["columns"]
    ]
    assert earlier == ["ssn", "hidden", "person.ssn", "ssn"]


@PURGES
def test_names_that_the_commit_of_a_step_deletes_from_the_log_are_certified(
    table: Table, tmp_path: Path
) -> None:
    renamed_by_uuid(table)
    clean_up = "SET TBLPROPERTIES ('delta.checkpointInterval' = '1')"
    table.alter(clean_up)
    table.age_log()

    first = report(table, apply=True)

    assert not re.search("ssn|hidden", footers_and_log(table))
    found = only(first)
    assert [step.step for step in found.applied] == ["PURGE", "VACUUM"]
    assert found.earlier is not None
    assert {"hidden"} == {column.path for column in found.earlier.columns}
    file = tmp_path / "ssn.json"
    Certificate.of(first).write(file)
    clean_up_log(table)
    assert holders(table.path, MARKER) == {}
    assert verdict(table, previous=file) == "ERASED"


def test_column_is_erased_without_a_certificate_while_the_log_has_its_name(table: Table) -> None:
    columns = "id INT, items ARRAY<STRUCT<x: INT, ssn: STRING>>, keep STRING"
    table.create(columns, TRACKED, NAME_MODE, *SHORT)
    table.alter("DROP COLUMN items.element.ssn")
    table.insert(f"(1, array(named_struct('x', 1)), '{MARKER}')")

    found = only(report(table))

    assert (found.verdict, [column.path for column in found.columns]) == (
        "ERASED",
        ["items.element.ssn"],
    )
    assert "ssn" in footers_and_log(table)


def test_commit_of_the_drop_names_the_column_when_older_schemas_are_deleted(table: Table) -> None:
    table.create("id INT, ssn STRING", TRACKED, NAME_MODE)
    table.alter("DROP COLUMN ssn")
    table.cut_log(1)

    found = only(report(table)).erasure

    assert found is not None
    assert [(name.path, name.version) for name in found.names_in_log] == [("ssn", 1)]
    assert (found.verdict, found.oldest_version, found.columns) == ("ERASED", 1, ())
    commit = table.path / "_delta_log" / f"{1:020}.json"
    written = datetime.fromtimestamp(commit.stat().st_mtime)
    assert found.oldest_timestamp is not None
    assert abs(found.oldest_timestamp - written) < timedelta(seconds=1)


def test_verdict_has_the_versions_that_it_covers(table: Table) -> None:
    table.create("id INT, kept STRING", TRACKED, NAME_MODE, *SHORT)
    table.insert("(1, 'x')")

    whole = only(report(table)).erasure
    assert whole is not None
    assert (whole.verdict, whole.oldest_version, whole.forgotten_ids) == ("NEVER_HAD", 0, 0)
    clean_up_log(table)
    found = only(report(table)).erasure
    assert found is not None
    assert (found.verdict, found.oldest_version) == ("NEVER_HAD", table.log.version)
    assert found.forgotten_ids == 0


def test_live_column_has_a_verdict_of_its_own(table: Table) -> None:
    top_level(table)
    table.alter("ADD COLUMN ssn STRING")

    found = only(report(table))

    assert found.verdict == "LIVE"
    assert [column.gone for column in found.columns] == [False]
    table.alter("RENAME COLUMN ssn TO token")
    assert verdict(table) == "LIVE"
    assert verdict(table, "tok*") == "LIVE"


@pytest.mark.broken_table("file_unreadable")
def test_unreadable_file_makes_the_answer_unknown(table: Table) -> None:
    table.create_tracked("id INT, kept STRING")
    table.insert("(1, 'x')")
    file = table.path / next(iter(table.log.live_files))
    file.with_name(f".{file.name}.crc").unlink()
    file.write_bytes(b"x" * file.stat().st_size)

    found = only(report(table))

    assert (found.verdict, steps_of(found)) == ("UNKNOWN", ["REWRITE", "VACUUM"])
    assert [column.path for column in found.columns] == [None]


def test_column_with_a_forgotten_name_makes_the_answer_unknown(table: Table) -> None:
    renamed_by_uuid(table)
    clean_up_log(table)

    found = only(report(table))

    assert found.erasure is not None
    (physical,) = found.erasure.unnamed_columns
    assert physical.strip("`") in footers_and_log(table)
    assert (found.verdict, steps_of(found)[0]) == ("UNKNOWN", "PURGE")
    # Nothing records that the column had this name, so its data is not removed.
    with table.no_commit():
        kept = only(report(table, column="other", apply=True))
    assert (kept.verdict, kept.applied, steps_of(kept)[0]) == ("UNKNOWN", (), "PURGE")


def test_files_read_are_the_files_on_the_disk(table: Table) -> None:
    top_level(table)
    table.spark.sql(f"DELETE FROM {table.name}")
    (table.path / "left.parquet").write_bytes(with_marker(table).read_bytes())

    found = only(report(table)).erasure

    assert found is not None
    counted = {each.kind: (each.num_files, each.size_in_bytes) for each in found.files_read}
    log = table.path / "_delta_log"
    for kind, pattern in (("commit", "*.json"), ("checksum", "0*.crc")):
        files = list(log.glob(pattern))
        assert counted[kind] == (len(files), sum(file.stat().st_size for file in files))
    data = [file for file in table.path.rglob("part-*.parquet") if log not in file.parents]
    assert counted["removed"] == (len(data), sum(file.stat().st_size for file in data))
    assert counted["untracked"] == (1, (table.path / "left.parquet").stat().st_size)
    lines = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    (metadata,) = [line["metaData"] for line in lines if "metaData" in line]
    assert (found.table_id, found.location) == (metadata["id"], f"file:{table.path}")
    assert found.version == table.log.version


def test_missing_source_of_a_clone_makes_the_answer_unknown(table: Table, tmp_path: Path) -> None:
    source = Table(table.spark, tmp_path / "source")
    source.create("id INT, kept STRING", NAME_MODE, "'delta.dataSkippingNumIndexedCols' = '0'")
    source.insert("(1, 'x')")
    table.spark.sql(f"CREATE TABLE {table.name} SHALLOW CLONE {source.name}")
    assert verdict(table, "other") == "NEVER_HAD"

    source.path.rename(tmp_path / "away")

    found = only(report(table, column="other"))
    assert found.erasure is not None
    assert (found.verdict, found.erasure.unknown_files.num_files) == ("UNKNOWN", 1)
    assert steps_of(found) == ["BY HAND", "SOURCE"]
    (tmp_path / "away").rename(source.path)
    assert verdict(table, "other") == "NEVER_HAD"


def test_column_is_found_by_a_name_in_another_case_when_spark_is_case_sensitive(
    table: Table,
) -> None:
    top_level(table)

    with session_conf(table.spark, {"spark.sql.caseSensitive": "true"}):
        assert verdict(table, "SSN") == "STILL_PRESENT"
    assert verdict(table, "`ssn`") == "STILL_PRESENT"
    with pytest.raises(ValueError, match="backtick"):
        report(table, column="`ssn")


# Steps.


@PURGES
def test_signal_ends_the_steps_and_the_report_has_those_that_ran(
    spark: SparkSession, tmp_path: Path, disk: OddDisk
) -> None:
    tables = [Table(spark, tmp_path / name, f"delta.`odd:{tmp_path / name}`") for name in "ab"]
    for each in tables:
        top_level(each)
    disk.hold()
    tracker = spark.sparkContext.statusTracker()

    def interrupt() -> None:
        try:
            wait_until(lambda: disk.has_delayed, "a copy")
            os.kill(os.getpid(), signal.SIGTERM)
            wait_until(lambda: not tracker.getActiveJobsIds(), "the end of all jobs")
        finally:
            disk.release()

    waiter = threading.Thread(target=interrupt)
    waiter.start()
    with tables[0].no_commit(), tables[1].no_commit(), pytest.raises(ErasureInterrupted) as raised:
        spark_ext.dropped_columns(
            spark,
            *(f"odd:{each.path}" for each in tables),
            column="ssn",
            apply=True,
            parallel=1,
            progress=None,
        )
    waiter.join()

    found = raised.value.report
    assert raised.value.signal == signal.SIGTERM
    assert (found.interrupted, found.complete) == ("SIGTERM", False)
    first, second = found.tables
    assert [(step.step, step.version_after) for step in first.applied] == [("PURGE", None)]
    assert (second.verdict, second.not_read, second.applied) == ("STILL_PRESENT", None, ())
    written = json.loads(Certificate.of(found).json())
    assert [len(each["applied"]) for each in written["tables"]] == [1, 0]


@PURGES
def test_vacuum_waits_for_the_retention_period_of_the_table(table: Table) -> None:
    table.create("id INT, ssn STRING", TRACKED, NAME_MODE)
    table.insert(f"(1, '{MARKER}')")
    table.alter("DROP COLUMN ssn")

    first = report(table, apply=True)

    assert [step.step for step in only(first).applied] == ["PURGE"]
    assert holders(table.path, MARKER)["removed_files"] == 1
    removals = [action["deletionTimestamp"] for action in table.log.actions("remove")]
    due = {step.step: step.earliest for step in only(first).steps}
    week_later = datetime.fromtimestamp(max(removals) / 1000) + timedelta(days=7)
    assert due["VACUUM"] is not None
    assert abs(due["VACUUM"] - week_later) < timedelta(seconds=5)
    assert first.due == due["VACUUM"]
    with table.no_commit():
        assert only(report(table, apply=True)).applied == ()
    table.alter(f"SET TBLPROPERTIES ({SHORT[0]})")
    again = only(report(table, column=None, apply=True))
    assert [step.step for step in again.applied] == ["VACUUM"]
    assert "removed_files" not in holders(table.path, MARKER)


def test_manual_steps_and_steps_that_are_not_due_are_not_run(table: Table, tmp_path: Path) -> None:
    table.create("id INT, ssn STRING")
    table.insert(f"(1, '{MARKER}')")
    table.overwrite("SELECT CAST(id AS INT) FROM range(1)")
    hidden = table.path / "_backup.parquet"
    hidden.write_bytes(with_marker(table).read_bytes())

    with table.no_commit():
        found = only(report(table, apply=True))

    assert found.applied == ()
    assert steps_of(found) == ["VACUUM", "LOG CLEANUP", "BY HAND"]
    assert hidden.exists()


def with_future_feature(table: Table) -> None:
    """Adds a feature of a newer writer: Delta reads the table and refuses to write it."""
    last = table.log.version
    protocol = {
        "minReaderVersion": 2,
        "minWriterVersion": 7,
        "writerFeatures": ["columnMapping", "columnMappingUsageTracking", "fromTheFuture"],
    }
    commit = table.path / "_delta_log" / f"{last + 1:020}.json"
    commit.write_text(json.dumps({"protocol": protocol}) + "\n")


@PURGES
@pytest.mark.broken_table("log_without_start")
def test_failing_step_and_unreadable_table_do_not_stop_the_other_tables(
    table: Table, tmp_path: Path
) -> None:
    refusing, broken = (Table(table.spark, tmp_path / name) for name in ("refusing", "broken"))
    for each in (refusing, broken, table):
        top_level(each)
    with_future_feature(refusing)
    (broken.path / "_delta_log" / f"{1:020}.json").unlink()

    found = report(refusing, broken, table, apply=True)

    first, second, third = found.tables
    assert [(step.step, step.error, step.version_after) for step in first.applied] == [
        ("PURGE", "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE", None)
    ]
    assert (first.verdict, steps_of(first)[0]) == ("STILL_PRESENT", "PURGE")
    assert holders(refusing.path, MARKER)["live_files"] == 1
    assert (second.verdict, second.error) == ("UNREADABLE", "DELTA_VERSIONS_NOT_CONTIGUOUS")
    assert [step.step for step in third.applied] == ["PURGE", "VACUUM"]
    assert set(holders(table.path, MARKER)) <= {"commits", "other_log_files"}
    assert found.verdicts == {"UNREADABLE": 1, "STILL_PRESENT": 2}
    for text in (repr(found), found._repr_html_()):
        assert "DELTA_VERSIONS_NOT_CONTIGUOUS" in text
        assert MARKER not in text
