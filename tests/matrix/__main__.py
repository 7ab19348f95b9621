# SPDX-License-Identifier: Apache-2.0
"""Runs the integration tests on pairs of Spark and Delta: `make test-pairs`.

Each pair of `pairs.py` has a virtual environment below `.matrix/` and uses the jar of the checkout.
A run links the jar against the jars of the pair, runs the tests, and prints the table of
docs/test-matrix.md.

Usage:
    .venv/bin/python -m tests.matrix --maven <the command that builds the jar> [--short]
        [--pairs '4.0.1+4.1.0 4.2.1+4.4.0'] [-- <arguments of pytest>]
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from tests.matrix.environment import CHECKOUT, HOME, make_environment
from tests.matrix.pairs import SHORT, WHOLE
from tests.matrix.releases import RELEASES, line_of

DELTAS = CHECKOUT / "jars" / "target" / "delta"
SCALA = RELEASES["scala"]

TESTS = Path("tests") / "integration"
# The Python part of Spark Connect differs most between releases.
CONNECT_TESTS = Path("tests") / "ways_in" / "test_connect.py"
# Delta's conflict checks differ between releases.
HELD_TESTS = Path("tests") / "concurrency" / "test_stale_statements.py"
# Each line of Spark has a different Hadoop.
STORE_TESTS = Path("tests") / "object_stores"

# Session start, one statement for each of our hooks, Delta's own commands, and log reading.
SHORT_TESTS = [
    "test_session_start.py",
    "test_statements.py",
    "test_removals.py",
    "test_describe_table.py",
    "test_column_history.py",
    "test_audited_tables.py",
    "test_stale_plans.py",
    "test_reused_names.py",
]


@dataclass(frozen=True)
class Pair:
    """Names a release of Spark and a release of Delta, written `4.0.1+4.1.0`."""

    spark: str
    delta: str

    def __str__(self) -> str:
        return f"{self.spark}+{self.delta}"

    @property
    def home(self) -> Path:
        return HOME / str(self)

    @property
    def python(self) -> Path:
        return self.home / "bin" / "python"

    @property
    def report(self) -> Path:
        return self.home / "report.xml"

    @property
    def delta_jar(self) -> Path:
        return DELTAS / f"delta-spark_{line_of(self.spark)}_{SCALA}-{self.delta}.jar"

    @property
    def jars(self) -> list[Path]:
        """Returns the jars of Spark and the jar of Delta."""
        sparks = self.home.glob("lib/python*/site-packages/pyspark/jars/*.jar")
        return [*sorted(sparks), self.delta_jar]


def pair_of(text: str) -> Pair:
    spark, _, delta = text.partition("+")
    return Pair(spark, delta)


class Outcome(NamedTuple):
    """Counts the tests of a run by their outcome."""

    passed: int
    failed: int
    skipped: int


def outcome_of(report: Path) -> Outcome:
    """Returns the counts of a JUnit report. A run without a report counts as one failure."""
    if not report.exists():
        return Outcome(0, 1, 0)
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))

    def total(name: str) -> int:
        return sum(int(suite.get(name, "0")) for suite in suites)

    failed, skipped = total("failures") + total("errors"), total("skipped")
    return Outcome(total("tests") - failed - skipped, failed, skipped)


def fetch_delta_jar(pair: Pair, maven: list[str]) -> bool:
    """Fetches the jar of Delta for the tests, and returns whether it exists."""
    artifact = f"io.delta:delta-spark_{line_of(pair.spark)}_{SCALA}:{pair.delta}"
    command = [*maven, "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={DELTAS}"]
    if not pair.delta_jar.exists():
        subprocess.run(command, cwd=CHECKOUT)
    return pair.delta_jar.exists()


def is_linked(pair: Pair, maven: list[str]) -> bool:
    """Returns whether the jars of the pair contain all that our classes call."""
    jars = os.pathsep.join(map(str, pair.jars))
    if not fetch_delta_jar(pair, maven):
        return False
    test = [*maven, "-q", "test", "-Dtest=PairLinkageTest", f"-DargLine=-Dsparkext.pair={jars}"]
    return subprocess.run(test, cwd=CHECKOUT).returncode == 0


def run_tests(pair: Pair, *, whole: bool, arguments: list[str]) -> Outcome:
    """Runs the tests on a pair."""
    everything = [TESTS, CONNECT_TESTS, HELD_TESTS, STORE_TESTS]
    tests = everything if whole else [TESTS / name for name in SHORT_TESTS]
    # Spark starts the first `python3` and the first `spark-submit` on the path.
    path = f"{pair.python.parent}{os.pathsep}{os.environ['PATH']}"
    pair.report.unlink(missing_ok=True)
    command: list[str | Path] = [
        pair.python,
        "-m",
        "pytest",
        *tests,
        *arguments,
        f"--junitxml={pair.report}",
    ]
    subprocess.run(command, cwd=CHECKOUT, env={**os.environ, "PATH": path})
    return outcome_of(pair.report)


def row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix")
    parser.add_argument("--pairs", default="", help="e.g. '4.0.1+4.1.0 4.2.1+4.4.0'; default: all")
    parser.add_argument("--short", action="store_true", help="the short tests on every pair")
    parser.add_argument("--maven", required=True, help="the command that builds the jar")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest")
    options = parser.parse_args()
    table = [row("Spark", "Delta", "tests", "linked", "passed", "failed", "skipped", "minutes")]
    table.append(row(*["---"] * 8))
    failed = False
    for pair in map(pair_of, options.pairs.split() or [*WHOLE, *SHORT]):
        print(f"== Spark {pair.spark}, Delta {pair.delta}", flush=True)
        make_environment(pair.home, pair.spark, pair.delta)
        linked = is_linked(pair, shlex.split(options.maven))
        whole = str(pair) in WHOLE and not options.short
        start = time.monotonic()
        outcome = run_tests(pair, whole=whole, arguments=options.pytest)
        minutes = f"{(time.monotonic() - start) / 60:.0f}"
        depth = "all" if whole else "short"
        table.append(
            row(pair.spark, pair.delta, depth, "yes" if linked else "NO", *outcome, minutes)
        )
        failed |= bool(not linked or outcome.failed or not outcome.passed)
        print("\n".join([f"Measured on {date.today()}", "", *table]), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
