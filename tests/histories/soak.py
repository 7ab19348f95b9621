# SPDX-License-Identifier: Apache-2.0
"""Runs a number of random histories: `python -m tests.histories.soak --histories 1000`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

import spark_ext
from tests.histories.histories import histories
from tests.histories.plain_session import lasting_session
from tests.histories.readers import PlainSpark
from tests.histories.table_steps import World

world: World  # `begin_job` sets it


class Batch(NamedTuple):
    """The histories of one seed, which one process runs."""

    seed: int
    histories: int
    steps: int  # the largest number of steps of a history


class Done(NamedTuple):
    histories: int
    steps: int
    counts: Counter[str]
    failures: list[str]


def run(world: World, *, first_seed: int, examples: int, steps: int) -> None:
    """Runs histories, and raises the first failure after Hypothesis has shrunk it."""
    run_state_machine_as_test(
        seed(first_seed)(histories(world)),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            phases=[Phase.generate, Phase.shrink],
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


def begin_job(parent: Path) -> None:
    """Starts two sessions for all batches of this process."""
    global world
    folder = Path(tempfile.mkdtemp(dir=parent))
    plain = PlainSpark(folder, lasting=True)
    spark = spark_ext.configure(lasting_session(folder / "warehouse")).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    plain.wait_until_ready()
    world = World(spark, plain, folder)


def run_batch(batch: Batch) -> Done:
    world.histories, world.steps, world.counts = 0, 0, Counter()
    failures: list[str] = []
    try:
        run(world, first_seed=batch.seed, examples=batch.histories, steps=batch.steps)
    except Exception as failure:
        # The last failure is the shortest. The report of Hypothesis contains the draws.
        failures = world.failures or [str(failure)]
    return Done(world.histories, world.steps, world.counts, failures)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.histories.soak")
    parser.add_argument("--histories", type=int, default=100, help="the number of histories")
    parser.add_argument(
        "--steps", type=int, default=12, help="the largest number of steps in a history"
    )
    parser.add_argument(
        "--batch",
        type=int,
        default=50,
        help="the number of histories with one seed; Hypothesis draws a minimal history first",
    )
    parser.add_argument(
        "--seed", type=int, help="the seed of the first batch; each later batch has the next seed"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="the number of processes, each with two sessions"
    )
    return parser.parse_args()


def batches(options: argparse.Namespace) -> Iterator[Batch]:
    first_seed = random.randrange(10**6) if options.seed is None else options.seed
    for number, begun in enumerate(range(0, options.histories, options.batch)):
        some = min(options.batch, options.histories - begun)
        yield Batch(first_seed + number, some, options.steps)


def soak(pool: ProcessPoolExecutor, options: argparse.Namespace) -> int:
    """Prints the result and returns the exit code, 1 if a history failed."""
    started = time.monotonic()
    done = Done(0, 0, Counter(), [])
    running = {pool.submit(run_batch, batch): batch for batch in batches(options)}
    for future in as_completed(running):
        batch, result = running[future], future.result()
        done = Done(
            done.histories + result.histories,
            done.steps + result.steps,
            done.counts + result.counts,
            result.failures,
        )
        if done.failures:
            print(f"FAILED: {done.failures[-1]}")
            size = f"--histories {batch.histories} --batch {batch.histories} --steps {batch.steps}"
            print(f"Again: --seed {batch.seed} {size}")
        minutes = (time.monotonic() - started) / 60
        print(f"{done.histories} histories, {done.steps} steps, {minutes:.1f} min", flush=True)
        if done.failures:
            pool.shutdown(wait=False, cancel_futures=True)
            return 1
    print(*(f"{number} {kind}" for kind, number in done.counts.most_common()), sep=", ")
    return 0


def main() -> int:
    options = arguments()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        ProcessPoolExecutor(
            options.jobs, get_context("spawn"), initializer=begin_job, initargs=(Path(folder),)
        ) as pool,
    ):
        return soak(pool, options)


if __name__ == "__main__":
    sys.exit(main())
