# SPDX-License-Identifier: Apache-2.0
"""Random histories for as long as asked: `python -m tests.model.soak --histories 1000`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]

from histories import World, histories  # noqa: E402
from hypothesis import HealthCheck, Phase, seed, settings  # noqa: E402
from hypothesis.stateful import run_state_machine_as_test  # noqa: E402
from plain_session import tiny_session  # noqa: E402
from readers import PlainSpark  # noqa: E402

import spark_ext  # noqa: E402


def run(world: World, *, first_seed: int, examples: int, steps: int, shrink: bool = True) -> None:
    """Runs histories; the first that the model does not agree with is shrunk and raised."""
    phases = [Phase.generate, *[Phase.shrink] * shrink]
    run_state_machine_as_test(
        seed(first_seed)(histories(world)),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            phases=phases,
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


def first_line(failure: str) -> str:
    return failure.partition("\n")[0]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.model.soak")
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--steps", type=int, default=12, help="of one history, at most")
    parser.add_argument("--batch", type=int, default=20, help="histories of one seed")
    parser.add_argument("--seed", type=int, help="of the first batch; each next has the next")
    parser.add_argument("--minutes", type=float, help="start no batch after this time")
    parser.add_argument("--no-shrink", action="store_true")
    return parser.parse_args()


def soak(world: World, options: argparse.Namespace) -> int:
    """Prints the result; 1 if a history failed."""
    batch_seed = random.randrange(10**6) if options.seed is None else options.seed
    started = time.monotonic()
    failed = 0
    while world.histories < options.histories and not failed:
        minutes = (time.monotonic() - started) / 60
        if options.minutes is not None and minutes > options.minutes:
            break
        examples = min(options.batch, options.histories - world.histories)
        try:
            run(
                world,
                first_seed=batch_seed,
                examples=examples,
                steps=options.steps,
                shrink=not options.no_shrink,
            )
            batch_seed += 1
        except Exception as failure:
            # The last is the shortest; Hypothesis' own report has the draws.
            print(f"FAILED: {world.failures[-1] if world.failures else failure}")
            if len(set(map(first_line, world.failures))) > 1:
                print("Failed before with", *map(first_line, world.failures[:-1]), sep="\n  ")
            print(f"Again: --seed {batch_seed} --histories {examples} --steps {options.steps}")
            failed = 1
        minutes = (time.monotonic() - started) / 60
        print(f"{world.histories} histories, {world.steps} steps, {minutes:.1f} min", flush=True)
    return failed


def main() -> int:
    options = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = PlainSpark(folder)
        spark = spark_ext.configure(tiny_session(folder / "warehouse")).getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        plain.wait_until_ready()
        try:
            return soak(World(spark, plain, folder), options)
        finally:
            plain.stop()
            spark.stop()


if __name__ == "__main__":
    sys.exit(main())
