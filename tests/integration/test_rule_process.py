# SPDX-License-Identifier: Apache-2.0
"""Tests the rule process: one for each JVM, its interpreter, and its lines in the log."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tests.integration.session_log import session_log
from tests.support.custom_sessions import our_jar, resolved_jars, session, track_a_table
from tests.support.delta_table import Table
from tests.support.delta_table import refusal as refused_with
from tests.support.processes import (
    command_line,
    environment,
    in_new_process,
    is_rule_worker,
    jvm_pid,
    listening_addresses,
    rule_workers,
)
from tests.support.releases import STATIC_SETTING
from tests.support.rule_process import (
    PYTHON,
    TIMEOUT,
    add_column,
    kill,
    parameters,
    refusal,
)
from tests.support.session_conf import SetConf
from tests.support.table_log import TableLog
from tests.support.waiting import wait_until

# The interpreter.


@pytest.fixture
def unused_interpreter(tmp_path: Path) -> Iterator[Path]:
    """Yields an interpreter that a session sets and that must not run."""
    script = tmp_path / "unused"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    script.chmod(0o755)
    yield script
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda spark, key, value: spark.conf.set(key, value),
        lambda spark, key, value: spark.sql(f"SET {key} = {value}"),
        lambda spark, key, value: spark.newSession().conf.set(key, value),
        lambda spark, key, _: spark.conf.unset(key),
        lambda spark, key, _: spark.sql(f"RESET {key}"),
    ],
    ids=["conf", "SET", "new session", "unset", "RESET"],
)
@pytest.mark.parametrize("key", [PYTHON, TIMEOUT])
def test_session_may_not_configure_the_rule_process(
    tracked: Table,
    unused_interpreter: Path,
    change: Callable[[SparkSession, str, str], object],
    key: str,
) -> None:
    with refused_with(STATIC_SETTING):
        change(tracked.spark, key, str(unused_interpreter))

    add_column(tracked)


def test_interpreter_set_in_a_session_is_ignored(tracked: Table, unused_interpreter: Path) -> None:
    """A builder for a running session only warns. The rules never read the JVM's session state."""
    add_column(tracked)
    workers = rule_workers(jvm_pid(tracked.spark))
    SparkSession.builder.config(PYTHON, str(unused_interpreter)).getOrCreate()
    state = tracked.spark._jsparkSession.sessionState().conf()
    state.setConfString(PYTHON, str(unused_interpreter))
    state.setConfString(TIMEOUT, "soon")

    add_column(tracked)

    state.unsetConf(PYTHON)
    state.unsetConf(TIMEOUT)
    assert rule_workers(jvm_pid(tracked.spark)) == workers


# Start, calls and end.


def test_one_worker_serves_many_statements_and_two_threads(tracked: Table, table: Table) -> None:
    table.create_tracked("a INT")
    before = (tracked.log.version, table.log.version)
    workers = rule_workers(jvm_pid(table.spark))

    with ThreadPoolExecutor(2) as threads:
        for column in range(3):
            both = [threads.submit(t.alter, f"ADD COLUMN t{column} INT") for t in (tracked, table)]
            for alter in both:
                alter.result()

    assert (tracked.log.version, table.log.version) == (before[0] + 3, before[1] + 3)
    assert len(workers) == 1
    assert rule_workers(jvm_pid(table.spark)) == workers


def test_failed_call_does_not_fail_other_calls(
    tracked: Table, table: Table, rules: Callable[..., str], tmp_path: Path
) -> None:
    table.create_tracked("a INT")
    version = tracked.log.version
    # The first of two calls kills the worker. The second call may wait for the same worker.
    rules(
        """
        if "fails" in request:
            os._exit(7)
        return super().ask(question, request)
        """
    )

    with ThreadPoolExecutor(2) as threads:
        for column in range(3):
            failing = threads.submit(table.alter, f"ADD COLUMN fails{column} INT")
            working = threads.submit(tracked.alter, f"ADD COLUMN w{column} INT")
            with pytest.raises(AnalysisException) as refused:
                failing.result()
            working.result()
            assert parameters(refused.value)["exitCode"] == "7"

    assert table.log.version == 0
    assert tracked.log.version == version + 3


@pytest.fixture
def log(spark: SparkSession) -> Iterator[Callable[[], list[str]]]:
    """Yields a function that returns the log lines about the process since its first start."""
    with session_log(spark, "sparkext.process") as lines:
        for worker in rule_workers(jvm_pid(spark)):
            kill(worker)
        yield lines


def test_start_end_and_replacement_are_logged_with_process_and_interpreter(
    tracked: Table, rules: Callable[..., str], log: Callable[[], list[str]]
) -> None:
    def logged(level: str, interpreter: str, *processes: int) -> int:
        words = [line.replace("(", "( ").split() for line in log()]
        wanted = {interpreter, *map(str, processes)}
        return sum(line[0] == level and wanted <= set(line) for line in words)

    add_column(tracked)
    (killed,) = rule_workers(jvm_pid(tracked.spark))
    kill(killed)
    add_column(tracked)
    (second,) = rule_workers(jvm_pid(tracked.spark))
    third_python = rules("raise RuntimeError").split()[0]
    refusal(tracked)
    rules()
    add_column(tracked)
    (fourth,) = rule_workers(jvm_pid(tracked.spark))

    wait_until(lambda: logged("INFO", sys.executable, second) == 2, "two lines of the second")
    assert logged("INFO", sys.executable, killed) == 2
    assert logged("WARN", sys.executable, second, killed) == 1
    assert logged("WARN", third_python, second) == 1
    assert logged("INFO", third_python, fourth) == 1
    assert logged("WARN", third_python, fourth) == 1


def test_worker_listens_on_the_loopback_interface_only(tracked: Table) -> None:
    add_column(tracked)
    (worker,) = rule_workers(jvm_pid(tracked.spark))

    assert listening_addresses(worker) == {"0100007F"}


def test_token_is_on_standard_input_only(
    tracked: Table, tmp_path: Path, rules: Callable[..., str]
) -> None:
    seen = tmp_path / "token"
    rules(
        setup=f"""
            serve = worker.serve
            def noting_the_token(token):
                open({str(seen)!r}, "w").write(token)
                return serve(token)
            worker.serve = noting_the_token
            """
    )
    add_column(tracked)
    (worker,) = rule_workers(jvm_pid(tracked.spark))
    token = seen.read_text()

    assert len(token) >= 32
    assert token not in command_line(worker)
    assert token not in environment(worker)


def evolve_under(home: Path, jars: list[str], options: str) -> str:
    """Tracks a table in a JVM with these options, and returns the loopback address of the JVM."""
    spark = session(home, jars).config("spark.driver.extraJavaOptions", options).getOrCreate()
    track_a_table(spark, home / "t")
    jvm: Any = spark._jvm
    loopback = jvm.java.net.InetAddress.getLoopbackAddress().getHostAddress()
    spark.stop()
    return str(loopback)


@pytest.mark.parametrize(
    "preferred", [pytest.param("IPv4Stack", marks=pytest.mark.matrix), "IPv6Addresses"]
)
@pytest.mark.matrix
def test_worker_is_reached_with_any_preferred_loopback_address(
    spark: SparkSession, tmp_path: Path, preferred: str
) -> None:
    jars = [*resolved_jars(spark), our_jar()]

    loopback = in_new_process(evolve_under, tmp_path, jars, f"-Djava.net.prefer{preferred}=true")

    assert (":" in loopback) == (preferred == "IPv6Addresses")
    assert TableLog(tmp_path / "t").version == 2


def worker_outlives_its_jvm(home: Path, jars: list[str]) -> bool:
    """Kills a session's JVM, and returns whether its rule process still runs after a wait."""
    spark = session(home, jars).getOrCreate()
    jvm = jvm_pid(spark)
    untracked = Table(spark, home / "untracked").create("a INT")
    untracked.insert("(1)")
    assert untracked.selected() == [(1,)]
    assert rule_workers(jvm) == set()
    assert Table(spark, home / "t").selected() == [(1,)]
    wait_until(lambda: len(rule_workers(jvm)) == 1, "the start of the process")
    workers = rule_workers(jvm)
    Table(spark, home / "t").alter("ADD COLUMN b INT")
    assert rule_workers(jvm) == workers
    os.kill(jvm, signal.SIGKILL)
    (worker,) = workers
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: not is_rule_worker(worker), "its end")
    return is_rule_worker(worker)


def test_worker_starts_with_a_scan_of_a_tracked_table_and_ends_when_the_jvm_ends(
    spark: SparkSession, tmp_path: Path
) -> None:
    jars = [*resolved_jars(spark), our_jar()]
    table = Table(spark, tmp_path / "t").create_tracked("a INT")
    table.insert("(1)")

    assert not in_new_process(worker_outlives_its_jvm, tmp_path, jars)


def test_stream_stopped_in_a_call_does_not_fail(
    tmp_path: Path, table: Table, driver_conf: SetConf, rules: Callable[..., str]
) -> None:
    table.create_tracked("a INT")
    source = Table(table.spark, tmp_path / "source").create("a INT, b INT")
    source.insert("(1, 2)")
    rows = table.spark.readStream.format("delta").load(str(source.path))
    stream = rows.writeStream.format("delta").options(
        checkpointLocation=str(tmp_path / "checkpoint"), mergeSchema="true"
    )
    reached = tmp_path / "reached"
    rules(f"open({str(reached)!r}, 'w').close(); threading.Event().wait()")

    with table.no_commit():
        query = stream.start(str(table.path))
        wait_until(reached.exists, "the call")
        query.stop()
        assert query.exception() is None
    assert set(table.path.iterdir()) == {table.path / "_delta_log"}

    driver_conf(PYTHON, sys.executable)
    stream.trigger(availableNow=True).start(str(table.path)).awaitTermination()
    assert table.log.columns == {"a": (1, "a"), "b": (2, "b")}
    assert table.rows() == [(1, 2)]
