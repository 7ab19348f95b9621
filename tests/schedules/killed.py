# SPDX-License-Identifier: Apache-2.0
"""Runs a driver that holds the first statements of schedules, and kills the driver."""

from __future__ import annotations

import json
import os
import signal
import threading
from multiprocessing import get_context
from pathlib import Path

from pyspark.java_gateway import ensure_callback_server_started

from tests.schedules.actors import hold
from tests.schedules.schedule import killed_schedule
from tests.schedules.table_kinds import Original
from tests.support.custom_sessions import session
from tests.support.processes import jvm_pid
from tests.support.waiting import PATIENCE, wait_until

READY = "ready"


def hold_all(home: Path, jars: list[str], seeds: dict[int, Original]) -> None:
    """Runs in the process of the driver."""
    builder = session(home, jars).master("local[1]")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    ensure_callback_server_started(spark.sparkContext._gateway)
    held = [
        seed
        for seed, original in seeds.items()
        if hold(spark, killed_schedule(seed), home / str(seed), original)
    ]
    part = home / "part"
    part.write_text(json.dumps([jvm_pid(spark), held]))
    part.rename(home / READY)
    threading.Event().wait()


def hold_and_kill(home: Path, jars: list[str], seeds: dict[int, Original]) -> set[int]:
    """Starts the driver on existing tables, and kills it when all statements are held.

    Returns the seeds whose statements did not end before their step.
    """
    process = get_context("spawn").Process(target=hold_all, args=(home, jars, seeds), daemon=True)
    process.start()
    try:
        ready = home / READY
        wait_until(
            lambda: ready.exists() or not process.is_alive(), "all statements held", 3 * PATIENCE
        )
        assert process.is_alive()
        pid, held = json.loads(ready.read_text())
        os.kill(pid, signal.SIGKILL)
        return set(held)
    finally:
        process.kill()
        process.join()
