# SPDX-License-Identifier: Apache-2.0
"""Tests that statements on metadata run no Spark job that SET TBLPROPERTIES does not run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import Progress
from tests.support.delta_table import NAME_MODE, NONE_MODE, TRACKED, Table
from tests.support.session_conf import SetConf

FUNCTIONS = (
    "column_mapping",
    "column_mapping_removal",
    "column_mapping_named_table",
    "column_mapping_history",
    "column_mapping_status",
)


def num_jobs(spark: SparkSession) -> int:
    """Returns how many jobs the application has started, on all threads."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def logs(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.spark.sql.delta.DeltaLog


def forget(table: Table, *, checksums: bool) -> None:
    """Lets Delta load the table again, with or without `.crc` files."""
    if not checksums:
        for file in (table.path / "_delta_log").glob("*.crc"):
            file.unlink()
    logs(table.spark).clearCache()


def ask(spark: SparkSession, function: str, path: str) -> None:
    spark.sql(f"SELECT * FROM {function}('delta.`{path}`')").collect()


def jobs_of(table: Table, statement: Callable[[], object], *, checksums: bool) -> int:
    """Returns the number of jobs of a statement, before which Delta loads the table again."""
    forget(table, checksums=checksums)
    before = num_jobs(table.spark)
    statement()
    return num_jobs(table.spark) - before


def set_property(table: Table, value: str, *, checksums: bool) -> int:
    """Returns the number of jobs of a statement that plain Delta runs in the same way."""
    change = f"SET TBLPROPERTIES ('k' = '{value}')"
    return jobs_of(table, lambda: table.alter(change), checksums=checksums)


def make(table: Table, *, checkpoint: bool) -> None:
    """Makes a table of eight files."""
    table.create("id BIGINT, x STRING", TRACKED, NAME_MODE)
    rows = table.spark.range(80).selectExpr("id", "CAST(id AS STRING) AS x").repartition(8)
    rows.write.format("delta").mode("append").save(str(table.path))
    assert len(table.log.live_files) == 8
    if checkpoint:
        logs(table.spark).forTable(table.spark._jsparkSession, str(table.path)).checkpoint()


@pytest.fixture
def with_checksums_of_files(conf: SetConf) -> None:
    conf("spark.databricks.delta.allFilesInCrc.enabled", "true")  # this is Delta's default


@pytest.mark.usefixtures("with_checksums_of_files")
@pytest.mark.parametrize(
    ("checksums", "checkpoint"), [(True, True), (False, False), (True, False), (False, True)]
)
def test_metadata_only_statements_run_no_job_of_ours(
    table: Table, tmp_path: Path, *, checksums: bool, checkpoint: bool
) -> None:
    """Without `.crc` files, Delta computes the state of a table in jobs for every statement."""
    make(table, checkpoint=checkpoint)
    spark, path, usage = table.spark, str(table.path), table.usage
    statements: dict[str, Callable[[], object]] = {
        **{function: partial(ask, spark, function, path) for function in FUNCTIONS},
        "status()": usage.status,
        "dry run of removal": lambda: usage.remove_column_mapping(dry_run=True),
        "dry run of align_names()": lambda: usage.align_names(dry_run=True),
        "align_names() of an aligned table": lambda: usage.align_names(progress=None),
        "survey": lambda: spark_ext.survey(spark, path, progress=None),
        "disable()": usage.disable,
        "enable()": usage.enable,
    }
    removed = Table(spark, tmp_path / "removed")
    make(removed, checkpoint=checkpoint)
    usage_of_removed = removed.usage
    changes: dict[str, Callable[[], object]] = {
        "SET mode none": lambda: removed.alter(f"SET TBLPROPERTIES ({NONE_MODE})"),
        "SET mode name": lambda: removed.alter(f"SET TBLPROPERTIES ({NAME_MODE})"),
        "remove_column_mapping()": lambda: usage_of_removed.remove_column_mapping(progress=None),
    }
    limit = set_property(table, "0", checksums=checksums)

    jobs = {name: jobs_of(table, run, checksums=checksums) for name, run in statements.items()}
    # Two statements that change no mode precede the next ones.
    for value in ("1", "2"):
        assert set_property(removed, value, checksums=checksums) == limit
    jobs |= {name: jobs_of(removed, run, checksums=checksums) for name, run in changes.items()}

    assert {name: number for name, number in jobs.items() if number > limit} == {}
    assert checksums == (limit == 0)


def jobs_of_alignment(table: Table, *, checksums: bool) -> dict[str, int]:
    """Returns the number of jobs of each statement of `align_names()`."""
    jobs: dict[str, list[int]] = {}

    def count(progress: Progress) -> None:
        if progress.statement not in jobs:
            forget(table, checksums=checksums)
        jobs.setdefault(progress.statement, []).append(num_jobs(table.spark))

    table.usage.align_names(progress=count)
    return {statement: counts[-1] - counts[0] for statement, counts in jobs.items()}


@pytest.mark.every_variant
@pytest.mark.parametrize("checksums", [True, False])
def test_align_names_runs_jobs_for_the_copies_only(table: Table, *, checksums: bool) -> None:
    # A change of the schema and a checkpoint would run jobs of Delta.
    table.create("a INT", TRACKED, NAME_MODE, "'delta.checkpointInterval' = '100'")
    table.insert("(1)")
    table.alter("RENAME COLUMN a TO b")
    limit = set_property(table, "0", checksums=checksums)

    jobs = jobs_of_alignment(table, checksums=checksums)

    ran = {statement.split("SET TBLPROPERTIES", 1)[-1]: jobs[statement] for statement in jobs}
    assert len(ran) == 5
    assert [change for change, number in ran.items() if number > limit] == [f" ({NONE_MODE})"]
    if checksums:  # otherwise Delta lists the files in jobs of its own
        assert (limit, ran[f" ({NONE_MODE})"]) == (0, 1)
