# SPDX-License-Identifier: Apache-2.0
"""Tests that jobs in Spark's web UI are named by the user's statement, not by a class of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import pytest
from py4j.protocol import Py4JJavaError

import spark_ext
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.pages import CHECKOUT
from tests.support.prepared import made_once
from tests.support.releases import PURGES
from tests.support.session_conf import SetConf

OURS = {path.name for path in (CHECKOUT / "jars/src/main/java").rglob("*.java")}
MODE = "delta.columnMapping.mode"
DESCRIBED = ("Column mapping of ", "Delta: ")


class Job(NamedTuple):
    names: set[str]
    description: str | None


def after(table: Table, act: Callable[[], object]) -> list[Job]:
    """Returns the jobs that Spark's web UI shows for an action."""
    context = table.spark.sparkContext._jsc.sc()
    with _counted(context) as jobs:
        act()
    return jobs


def _stage_names(store: Any, job: Any) -> Iterator[str]:
    """Yields the names of a job's stages, without skipped stages, which Spark forgets early."""
    for stage in _each(job.stageIds()):
        try:
            yield store.lastStageAttempt(stage).name()
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() != "NoSuchElementException":
                raise


@contextmanager
def _counted(context: Any) -> Iterator[list[Job]]:
    context.listenerBus().waitUntilEmpty()
    store = context.statusStore()
    known = {job.jobId() for job in _each(store.jobsList(None))}
    jobs: list[Job] = []
    yield jobs
    context.listenerBus().waitUntilEmpty()
    for job in _each(store.jobsList(None)):
        if job.jobId() not in known:
            text = job.description()
            jobs.append(
                Job(
                    {job.name(), *_stage_names(store, job)},
                    text.get() if text.isDefined() else None,
                )
            )


def _each(found: Any) -> list[Any]:
    return [found.apply(place) for place in range(found.size())]


def assert_named_by_the_user(jobs: list[Job]) -> None:
    names = {name for job in jobs for name in job.names}
    assert names
    assert {name for name in names if name.split(" at ")[-1].split(":")[0] in OURS} == set()


WRITES = [
    "INSERT INTO {t} SELECT id, 'x' FROM range(3)",
    "DELETE FROM {t} WHERE a = 1",
    "UPDATE {t} SET b = 'z' WHERE a = 2",
    "MERGE INTO {t} AS t USING (SELECT id AS a FROM range(9)) AS s ON t.a = s.a"
    " WHEN MATCHED THEN UPDATE SET b = 'y' WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, 'n')",
    "SELECT max(a) FROM {t} WHERE b > 'a'",
    "INSERT OVERWRITE {t} SELECT id, 'x' FROM range(3)",
]


def run(table: Table, statement: str) -> None:
    table.spark.sql(statement.format(t=table.name)).collect()


@made_once
def filled(table: Table, *properties: str) -> Table:
    table.create("a BIGINT, b STRING", TRACKED, NAME_MODE, *properties)
    table.insert("(1, 'x'), (2, 'y'), (3, 'z')")
    return table


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_jobs_of_statements_have_the_names_of_the_statements(table: Table, vectors: str) -> None:
    filled(table, f"'delta.enableDeletionVectors' = '{vectors}'")

    for statement in WRITES:
        assert_named_by_the_user(after(table, partial(run, table, statement)))


def test_jobs_of_data_frames_have_the_names_of_the_calls(table: Table) -> None:
    filled(table)
    rows = table.spark.sql("SELECT id AS a, 'x' AS b FROM range(3)")

    for way in (
        lambda: rows.write.insertInto(table.name),
        lambda: rows.write.format("delta").mode("append").save(str(table.path)),
        lambda: rows.writeTo(table.name).append(),
    ):
        assert_named_by_the_user(after(table, way))


@pytest.mark.every_variant
@pytest.mark.parametrize("way", ["copy", "rewrite"])
def test_removal_jobs_are_named_and_copies_described(table: Table, way: str, conf: SetConf) -> None:
    filled(table)
    table.alter("RENAME COLUMN b TO c")
    conf("spark.sparkext.columnMapping.removal", way)

    jobs = after(table, lambda: table.alter(f"SET TBLPROPERTIES ('{MODE}' = 'none')"))

    assert_named_by_the_user(jobs)
    if way == "copy":
        assert all((job.description or "").startswith(DESCRIBED) for job in jobs), jobs


@PURGES
def test_jobs_of_purge_have_names_and_some_have_descriptions(table: Table) -> None:
    filled(table)
    table.alter("DROP COLUMN b")

    jobs = after(table, lambda: table.purge())

    assert_named_by_the_user(jobs)
    assert any((job.description or "").startswith(DESCRIBED[0]) for job in jobs), jobs


def test_jobs_of_table_functions_have_names_and_descriptions(table: Table) -> None:
    filled(table)
    table.alter("DROP COLUMN b")
    usage = table.usage
    functions: dict[str, Callable[[], object]] = {
        "audit": lambda: spark_ext.audit(table.spark, table.path, progress=None),
        "dropped": lambda: usage.dropped_columns(progress=None),
        "exact": lambda: usage.remove_column_mapping(dry_run=True, exact=True, progress=None),
    }

    for function, act in functions.items():
        jobs = after(table, act)
        assert_named_by_the_user(jobs)
        assert all((job.description or "").startswith(DESCRIBED) for job in jobs), (function, jobs)


def test_call_site_that_the_user_set_is_kept(table: Table) -> None:
    filled(table)
    table.alter("RENAME COLUMN b TO c")
    context: Any = table.spark.sparkContext
    context._jsc.sc().setCallSite("mine")

    jobs = after(table, lambda: table.alter(f"SET TBLPROPERTIES ('{MODE}' = 'none')"))

    assert context.getLocalProperty("callSite.short") == "mine"
    context._jsc.sc().clearCallSite()
    assert {name for job in jobs for name in job.names} == {"mine"}
