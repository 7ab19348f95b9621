# SPDX-License-Identifier: Apache-2.0
"""Starts and kills drivers, and reads the files that remain."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from urllib.parse import unquote

from tests.concurrency.driver_processes import READY
from tests.concurrency.stops import USED, Stop
from tests.support.delta_table import Table
from tests.support.flat_tables import differences, names, with_rows
from tests.support.removal import data_files
from tests.support.table_files import in_order, rows_in_files, rows_in_table
from tests.support.waiting import PATIENCE, wait_until

SetConf = Callable[[str, str], None]


def started(target: Callable[..., None], *arguments: object) -> BaseProcess:
    process = get_context("spawn").Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def wait_until_ready(process: BaseProcess, home: Path) -> None:
    """Waits until the statements of a process are held."""
    wait_until(
        lambda: (home / READY).exists() or not process.is_alive(),
        "all statements held",
        3 * PATIENCE,
    )
    assert process.is_alive()


def kill_when_ready(process: BaseProcess, home: Path) -> None:
    """Kills the JVM of a process when all its statements are held."""
    wait_until_ready(process, home)
    os.kill(int((home / READY).read_text()), signal.SIGKILL)


def orphans(table: Table) -> set[str]:
    """Returns the data files that are not live."""
    files = {file.relative_to(table.path) for file in table.path.rglob("*.parquet")}
    data_files = {str(file) for file in files if file.parts[0] != "_delta_log"}
    return data_files - {unquote(file) for file in table.log.live_files}


def unnamed(table: Table) -> set[str]:
    """Returns the data files in the folder of a table that no commit names."""
    actions = [action for commit in table.log.commits for action in commit]
    removed = {unquote(action["remove"]["path"]) for action in actions if "remove" in action}
    return orphans(table) - removed


def assert_vacuum_removes_the_copies(table: Table, conf: SetConf) -> None:
    assert orphans(table)
    conf("spark.databricks.delta.retentionDurationCheck.enabled", "false")

    table.spark.sql(f"VACUUM {table.name} RETAIN 0 HOURS")

    live = {table.path / unquote(file) for file in table.log.live_files}
    checksums = {file.with_name(f".{file.name}.crc") for file in live}  # of Hadoop
    assert live <= data_files(table.path) <= live | checksums
    assert rows_in_files(table.log) == in_order(USED.state.expected_rows())
    assert table.log.operation == "VACUUM END"


def assert_is_after(table: Table, stop: Stop) -> None:
    """Asserts that the statement is complete, and that another session can write the table."""
    changed = stop.statement.effect(stop.kind.state)
    assert table.log.is_tracked
    assert not list(differences(changed, table.log, rows_in_files(table.log)))

    new = dict(zip(names(changed), (9, "w", 90, 900), strict=False))
    table.insert(str(tuple(new.values())))

    rows = in_order(with_rows(changed, [new]).expected_rows())
    assert rows_in_files(table.log) == rows
    read = table.spark.read.format("delta").load(str(table.path))
    assert rows_in_table(read.collect()) == rows
