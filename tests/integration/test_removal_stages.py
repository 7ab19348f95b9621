# SPDX-License-Identifier: Apache-2.0
"""Tests what `remove_column_mapping()` reports while it runs and afterwards.

`statements/stages.txt` has the plans and refusals.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark import InheritableThread, SparkContext
from pyspark.sql import SparkSession

from spark_ext import FileCount
from spark_ext.tables.progress import Progress
from spark_ext.tables.sql import copying
from tests.support.delta_table import Table
from tests.support.session_conf import SetConf

MODE = "delta.columnMapping.mode"
REMOVAL = "spark.sparkext.columnMapping.removal"


def test_unknown_stage_is_refused(table: Table) -> None:
    table.create_tracked()

    with table.no_commit(), pytest.raises(ValueError, match="everyone"):
        table.usage.remove_column_mapping(until="everyone")  # type: ignore[arg-type]


def test_job_of_a_copy_has_a_description(table: Table) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    context = table.spark.sparkContext
    context.setJobDescription("mine")

    table.alter(f"SET TBLPROPERTIES ('{MODE}' = 'none')")

    jobs = context._jsc.sc().statusStore().jobsList(None)
    texts = [jobs.apply(place).description() for place in range(jobs.size())]
    texts = [text.get() for text in texts if text.isDefined()]
    [job] = [text for text in texts if text.startswith(f"Column mapping of file:{table.path}: ")]
    assert "round 1, copies up to 1 files, " in job
    assert context.getLocalProperty("spark.job.description") == "mine"
    context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]


@pytest.mark.without("auto-compact", "deletion-vectors")
def test_copy_reports_its_files_and_each_statement_its_progress(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    table.insert("(2, 'y')")
    table.alter("RENAME COLUMN b TO c")
    version, sizes = table.log.version, table.log.live_files
    seen: list[Progress] = []

    stages = table.usage.remove_column_mapping(until="readers", progress=seen.append)

    assert [step.reached for step in stages] == [True, True, False]
    (removed, dropped) = stages.done
    assert (removed.version_before, removed.version_after) == (version, version + 1)
    assert dropped.version_after == table.log.version
    assert (removed.copied, removed.kept) == (FileCount(2, sum(sizes.values())), FileCount())
    assert removed.rewritten == FileCount()
    assert (dropped.kept, dropped.copied, dropped.waits) == (None, None, False)
    assert removed.seconds > 0
    statements = list(dict.fromkeys(progress.statement for progress in seen))
    assert ["SET" in statements[0], "DROP FEATURE" in statements[1]] == [True, True]
    for statement in statements:
        of_one = [progress for progress in seen if progress.statement == statement]
        assert [of_one[0].seconds < 1, of_one[0].finished] == [True, False]
        assert of_one[-1].finished
        assert 0 < of_one[-1].tasks_done <= of_one[-1].tasks
    assert seen == sorted(seen, key=lambda p: (statements.index(p.statement), p.seconds))


@pytest.mark.without("auto-compact")
@pytest.mark.parametrize("rewritten", [False, True])
def test_removal_without_copies_reports_its_files(
    table: Table, conf: SetConf, *, rewritten: bool
) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    conf(REMOVAL, "rewrite" if rewritten else "copy")
    (size,) = table.log.live_files.values()

    (removed,) = table.usage.remove_column_mapping(progress=None).done

    assert (removed.kept, removed.copied) == (FileCount(), FileCount())
    assert removed.rewritten == (FileCount(1, size) if rewritten else FileCount())
    assert removed.version_after == table.log.version


@pytest.fixture
def job_group(spark: SparkSession) -> Iterator[dict[str, str | None]]:
    """Sets a job group and a tag of the user, and yields the properties of the thread's jobs."""
    context = spark.sparkContext
    context.addJobTag("my-tag")
    context.setJobGroup("mine", "my job", interruptOnCancel=True)
    keys = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
    yield {key: context.getLocalProperty(key) for key in (*keys, "spark.job.tags")}
    for key in keys:
        context.setLocalProperty(key, None)  # type: ignore[arg-type]
    context.removeJobTag("my-tag")


def wait_for_a_held_stage(context: SparkContext, group: str) -> None:
    """Waits until a task of the group has run for half a second: it waits for the pipe.

    The test must not open the pipe, or the task could fail before the cancellation.
    """
    tracker = context.statusTracker()
    seen: list[int] = []
    while len(seen) < 10:
        jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(group))
        stages = {
            stage: tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds
        }
        running = [stage for stage, info in stages.items() if info and info.numActiveTasks]
        seen = [*seen, *running] if running == seen[-1:] or not seen else []
        time.sleep(0.05)


@pytest.mark.parametrize("progress", [None, lambda _: None])
def test_rewrite_is_cancelled_by_the_job_group_of_the_user(
    table: Table,
    job_group: dict[str, str | None],
    progress: Callable[[Progress], None] | None,
    conf: SetConf,
) -> None:
    conf(REMOVAL, "rewrite")
    table.create_tracked()
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    context = table.spark.sparkContext
    (data_file,) = (table.path / file for file in table.log.live_files)
    kept = data_file.rename(table.path.parent / data_file.name)
    os.mkfifo(data_file)

    def cancel_when_a_task_waits() -> None:
        wait_for_a_held_stage(context, "mine")
        context.cancelJobGroup("mine")

    canceller = InheritableThread(target=cancel_when_a_task_waits, daemon=True)
    canceller.start()

    with table.refusal("SPARK_JOB_CANCELLED"):
        table.usage.remove_column_mapping(progress=progress)
    canceller.join()
    os.close(os.open(data_file, os.O_RDWR))  # the cancelled task ends

    assert {key: context.getLocalProperty(key) for key in job_group} == job_group
    kept.replace(data_file)
    assert table.selected() == [(1, "x")]


def test_progress_has_the_round_and_the_remaining_files(
    table: Table, job_group: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_ext.tables.progress.INTERVAL_SECONDS", 0.05)
    table.create_tracked()
    table.insert("(1, 'x')")
    table.insert(f"(2, '{'y' * 999}')")
    table.alter("RENAME COLUMN a TO c")
    context = table.spark.sparkContext
    sizes = {path: (table.path / path).stat().st_size for path in table.log.live_files}
    longest = max(sizes, key=sizes.__getitem__)
    kept = (table.path / longest).rename(table.path.parent / Path(longest).name)
    os.mkfifo(table.path / longest)
    seen: list[Progress] = []

    def cancel_when_one_file_remains(progress: Progress) -> None:
        seen.append(progress)
        if (progress.round, progress.num_files) == (1, 1):
            context.cancelJobGroup("mine")
            tracker = context.statusTracker()
            while {"RUNNING"} & {
                info.status
                for info in map(tracker.getJobInfo, tracker.getJobIdsForGroup("mine"))
                if info
            }:
                time.sleep(0.05)
            os.close(os.open(table.path / longest, os.O_RDWR))  # the task ends

    with table.refusal("SPARK_JOB_CANCELLED"):
        table.usage.remove_column_mapping(progress=cancel_when_one_file_remains)
    kept.replace(table.path / longest)

    last = next(progress for progress in seen if progress.num_files == 1)
    assert last.size_in_bytes == sizes[longest]
    assert [seen[-1].finished, seen[-1].round] == [True, 0]


def test_job_group_of_the_user_is_kept(table: Table, job_group: dict[str, str | None]) -> None:
    table.create_tracked()
    seen: list[dict[str, str | None]] = []
    context = table.spark.sparkContext

    def look(_: Progress) -> None:
        seen.append({key: context.getLocalProperty(key) for key in job_group})

    table.usage.remove_column_mapping(progress=look)

    assert {key: context.getLocalProperty(key) for key in job_group} == job_group
    # While the statement runs, the jobs of the thread have one more tag, and nothing else changes.
    assert seen[0]["spark.job.tags"] != job_group["spark.job.tags"]
    assert {**seen[0], "spark.job.tags": "my-tag"} == job_group


def test_progress_is_printed_to_standard_error_by_default(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    table.create_tracked()

    table.usage.remove_column_mapping()

    lines = capsys.readouterr().err.splitlines()
    assert sum("SET TBLPROPERTIES" in line for line in lines) >= 2
    assert any(": done, " in line for line in lines)


def test_removal_setting_of_the_user_is_kept_when_it_is_set_meanwhile(spark: SparkSession) -> None:
    session = spark.newSession()

    with copying(session):
        assert session.conf.get(REMOVAL) == "copy"
        session.conf.set(REMOVAL, "rewrite")
        with copying(session):
            assert session.conf.get(REMOVAL) == "rewrite"

    assert session.conf.get(REMOVAL) == "rewrite"
    session.conf.unset(REMOVAL)
    with copying(session), copying(session):
        assert session.conf.get(REMOVAL) == "copy"
    assert session.conf.get(REMOVAL, None) is None
