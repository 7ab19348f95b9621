# SPDX-License-Identifier: Apache-2.0
"""Functions for drivers in separate processes; tests start them with `multiprocessing`."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import UsageTracking
from tests.concurrency.statements import REMOVE_MAPPING, named_condition
from tests.concurrency.stops import STOPS, Stop
from tests.support.custom_sessions import session
from tests.support.delta_table import Table
from tests.support.held_statement import HeldStatement
from tests.support.odd_disk import OddDisk, with_odd_disk
from tests.support.processes import jvm_pid
from tests.support.table_files import Row
from tests.support.table_log import USER_METADATA
from tests.support.waiting import PATIENCE, wait_until

READY = "ready"
OUTCOME = "outcome"
TURNS = 2
TRY_AGAIN = {"DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "DELTA_CONCURRENT_APPEND"}
WORKER = """
import sys, threading
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from spark_ext.process import __main__ as worker

def block(self, question, request):
    Path({reached!r}).touch()
    threading.Event().wait()

worker.RuleService.ask = block
worker.main()
"""


def hold_at_every_stop(home: Path, jars: list[str], names: list[str]) -> None:
    """Runs the statements of some stops, each on a separate table, and holds each at its stop.

    The statement that is held in a rule call runs last, because the rule process stops answering.
    """
    spark = _tiny_session(home, jars)
    known = {str(stop): stop for stop in STOPS}
    for stop in [known[name] for name in names]:
        table = Table(spark, home / str(stop))

        def run(table: Table = table, stop: Stop = stop) -> None:
            stop.statement.run(table, stop.kind.is_mapped)

        if stop.step:
            HeldStatement(spark, run, stop.step, stop.nth).__enter__()
        else:
            reached = _block_rules(spark, home)
            threading.Thread(target=run, daemon=True).start()
            wait_until(reached.exists, "the rule call")
    write_whole(home / READY, str(jvm_pid(spark)))
    threading.Event().wait()


def align(table: Table) -> str:
    found = UsageTracking.forName(table.spark, table.name).align_names(progress=None)
    return "ALIGNED" if found.aligned else "NOT_ALIGNED"


def remove_from_all(table: Table) -> str:
    """Removes column mapping from the table and its neighbour, and returns the outcomes."""
    report = spark_ext.remove_column_mapping(
        table.spark,
        *(
            table.name.split("`")[1].replace(str(table.path), str(each))
            for each in pair(table.path)
        ),
        parallel=1,
        progress=None,
    )
    return " ".join(each.outcome for each in report.tables)


def pair(path: Path) -> tuple[Path, Path]:
    """Returns the tables of a lakehouse: one whose removal is metadata only, and another."""
    return path.with_name("free"), path


COPYING: dict[str, Callable[[Table], object]] = {
    "removal": lambda table: REMOVE_MAPPING.run(table, True),
    "alignment": align,
    "lakehouse": remove_from_all,
}
"""Calls that copy the files of a table."""


def hold_while_copying(home: Path, jars: list[str], what: str) -> None:
    """Makes a call on the storage `odd:`, and holds the first copy until the gate file is removed.

    Writes the result of the call to a file, or the condition of its error.
    """
    spark = with_odd_disk(session(home, jars).master("local[1]")).getOrCreate()
    disk = OddDisk(spark, home / "disk")
    disk.hold()
    table = Table(spark, home / "t", f"delta.`odd:{home / 't'}`")

    def run() -> None:
        try:
            result = str(COPYING[what](table))
        except Exception as error:
            result = str(named_condition(error))
        write_whole(home / OUTCOME, result)

    threading.Thread(target=run, daemon=True).start()
    wait_until(lambda: disk.has_delayed or (home / OUTCOME).exists(), "a copy")
    write_whole(home / READY, str(jvm_pid(spark)))
    threading.Event().wait()


def _tiny_session(home: Path, jars: list[str]) -> SparkSession:
    """Returns a session for a few rows that uses one core."""
    builder = session(home, jars).master("local[1]")
    builder.config("spark.ui.showConsoleProgress", "false")
    return builder.getOrCreate()


def _block_rules(spark: SparkSession, home: Path) -> Path:
    reached = home / "reached"
    (home / "worker.py").write_text(WORKER.format(reached=str(reached)))
    interpreter = home / "python"
    interpreter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{home}/worker.py" "$@"\n')
    interpreter.chmod(0o755)
    jvm: Any = spark._jvm
    application = jvm.org.apache.spark.SparkEnv.get().conf()
    application.set("spark.sparkext.worker.python", str(interpreter))
    return reached


def write_whole(file: Path, text: str) -> None:
    """Writes a file atomically."""
    part = file.with_suffix(".part")
    part.write_text(text)
    part.rename(file)


@dataclass
class Written:
    """Counts the successful statements of a writer."""

    rows: list[Row] = field(default_factory=list)
    columns: set[str] = field(default_factory=set)
    commits: int = 0
    lost: int = 0
    """The number of conflicts after which the writer repeated a statement."""


def write_beside_others(
    home: Path, jars: list[str], path: Path, writer: int, writers: int
) -> Written:
    """Runs statements beside other writers, and repeats each statement until it succeeds."""
    spark = _tiny_session(home / str(writer), jars)
    spark.conf.set(USER_METADATA, str(writer))
    table = Table(spark, path)
    (home / f"{READY}-{writer}").touch()
    wait_until(
        lambda: all((home / f"{READY}-{other}").exists() for other in range(writers)),
        "all writers ready",
    )
    written = Written()
    for turn in range(TURNS):
        for statement in _turn(table, writer, turn, written):
            _persist(statement, written)
    spark.stop()
    return written


def _turn(table: Table, writer: int, turn: int, written: Written) -> Iterator[Callable[[], object]]:
    added, merged, renamed, dropped = (
        f"{kind}{writer}_{turn}" for kind in ("added", "merged", "renamed", "dropped")
    )
    number = 10 * (10 * writer + turn)

    yield lambda: table.spark.sql(f"INSERT INTO {table.name} (id) VALUES ({number})")
    written.rows.append({"id": number})
    yield lambda: table.alter(f"ADD COLUMN {added} INT")
    yield (
        lambda: (
            table.spark.sql(
                f"SELECT {number + 1} AS id, {number + 2} AS {added}, 3 AS {merged}, 4 AS {dropped}"
            )
            .write.format("delta")
            .mode("append")
            .option("mergeSchema", "true")
            .save(str(table.path))
        )
    )
    yield lambda: table.alter(f"RENAME COLUMN {added} TO {renamed}")
    yield lambda: table.alter(f"DROP COLUMN {dropped}")
    written.rows.append({"id": number + 1, renamed: number + 2, merged: 3})
    written.columns |= {renamed, merged}


def _persist(statement: Callable[[], object], written: Written) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            statement()
        except (PySparkException, Py4JJavaError) as error:
            if named_condition(error) not in TRY_AGAIN or time.monotonic() > deadline:
                # A py4j error contains a connection, which cannot be sent to another process.
                raise AssertionError(str(error)) from None
            written.lost += 1
        else:
            written.commits += 1
            return
