# SPDX-License-Identifier: Apache-2.0
"""Plays schedules for a given time: `python -m tests.schedules.soak 0-1199 --minutes 30`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

import spark_ext
from tests.schedules.oracle import Finding
from tests.schedules.playing import Player, runner_in, seeds_of
from tests.support.sessions import small_session, with_one_driver, without_clusters


def main() -> int:
    """Prints findings and the faults that met each phase, and returns 1 if there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.schedules.soak")
    parser.add_argument("seeds", nargs="?", default="0-1199", help="such as 3,5-8")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start none after it")
    parser.add_argument("--report", type=Path, help="a JSON file of the seeds and the faults")
    options = parser.parse_args()
    findings = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        builder = with_one_driver(small_session(SparkSession.builder, home / "warehouse"))
        spark = spark_ext.configure(builder).getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        without_clusters(spark)
        player = Player(spark, runner_in(spark, home / "runner"), home)
        started = time.monotonic()
        for seed in seeds_of(options.seeds):
            minutes = (time.monotonic() - started) / 60
            if minutes > options.minutes:
                break
            try:
                player.play(seed)
            except Finding as finding:
                findings += 1
                print(f"FAILED after {minutes:.1f} min: {finding}\n", flush=True)
            if options.report:
                player.write(options.report)
        minutes = (time.monotonic() - started) / 60
        spark.stop()
    print(f"{len(player.played)} schedules, {findings} findings, {minutes:.1f} min")
    print(player.table())
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
