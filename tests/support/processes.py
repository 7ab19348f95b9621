# SPDX-License-Identifier: Apache-2.0
"""Finds processes in /proc, and runs functions in separate Python processes."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from pyspark.sql import SparkSession

Result = TypeVar("Result")


def jvm_pid(spark: SparkSession) -> int:
    jvm: Any = spark._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def rule_workers(jvm: int) -> set[int]:
    """Returns the rule processes that a JVM started directly or through a script."""
    parents = {pid: _parent(pid) for pid in _pids()}
    return {pid for pid in parents if is_rule_worker(pid) and jvm in _ancestors(pid, parents)}


def is_rule_worker(pid: int) -> bool:
    """Returns whether this is a running rule process. An ended process has no command line."""
    line = command_line(pid)
    return " -E " in line and "spark-ext.jar" in line


def processes_that_name(text: str) -> set[int]:
    """Returns the processes with a text in their command line."""
    return {pid for pid in _pids() if text in command_line(pid)}


def command_line(pid: int) -> str:
    return _text(pid, "cmdline")


def environment(pid: int) -> str:
    return _text(pid, "environ")


def listening_addresses(pid: int) -> set[str]:
    """Returns the local addresses, in hexadecimal, on which a process accepts TCP connections."""
    sockets = {os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    listening = "0A"
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == listening and f"socket:[{inode}]" in sockets:
                found.add(local.split(":")[0])
    return found


@contextmanager
def new_process() -> Iterator[Callable[..., Any]]:
    """Yields a function that runs a module's function in a new Python process without a JVM."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        yield lambda *call: process.submit(_with_plain_errors, *call).result()


def in_new_process(function: Callable[..., Result], *arguments: object) -> Result:
    """Returns the result of a module's function in a new Python process."""
    with new_process() as run:
        result: Result = run(function, *arguments)
        return result


def _with_plain_errors(function: Callable[..., Result], *arguments: object) -> Result:
    try:
        return function(*arguments)
    except Exception:
        # A py4j error contains a connection, which cannot be sent to another process.
        raise AssertionError(traceback.format_exc()) from None


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _parent(pid: int) -> int:
    stat = _text(pid, "stat")
    return int(stat.rpartition(")")[2].split()[1]) if stat else 0


def _ancestors(pid: int, parents: dict[int, int]) -> set[int]:
    found = set()
    while pid in parents and pid not in found:
        found.add(pid)
        pid = parents[pid]
    return found


def _text(pid: int, file: str) -> str:
    try:
        return Path(f"/proc/{pid}/{file}").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""
