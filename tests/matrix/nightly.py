# SPDX-License-Identifier: Apache-2.0
"""Prints the jobs of the nightly workflow as JSON.

Each night runs the short pairs, one whole pair in turn, and new releases that are not in
`spark_ext/releases.json`. Mondays also run the slow tests, and the integration tests with the
default settings of vendors.

Usage:
    .venv/bin/python -m tests.matrix.nightly --maven <the command that builds the jar>
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timezone
from typing import NamedTuple

from tests.matrix.newest import fetch_delta_jar, released, unlisted
from tests.matrix.pairs import SHORT, WHOLE

MONDAY = 0
# The number of pairs on one machine. The environment of a pair takes a gigabyte.
TOGETHER = 4
# This runner writes the names of the failed tests, as the runner of pairs does.
NAMED = "PYTEST=tests.matrix.tested"


class Job(NamedTuple):
    """Describes the work of one machine."""

    name: str
    command: str


def jobs(day: date, newest: Iterable[str]) -> Iterator[Job]:
    """Yields the jobs of a night. `newest` are the pairs that are not in the list."""
    for start in range(0, len(SHORT), TOGETHER):
        pairs = " ".join(SHORT[start : start + TOGETHER])
        yield Job(f"short pairs {pairs}", f"make test-pairs SHORT=--short PAIRS='{pairs}'")
    turn = WHOLE[day.toordinal() % len(WHOLE)]
    yield Job(f"whole pair {turn}", f"make test-pairs PAIRS='{turn}'")
    for pair in newest:
        yield Job(f"unlisted pair {pair}", f"make test-pairs SHORT=--short PAIRS='{pair}'")
    if day.weekday() == MONDAY:
        yield Job("slow tests", f"make test-slow {NAMED}")
        yield Job("settings of vendors", f"make test-integration TEST_SETTINGS=vendors {NAMED}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix.nightly")
    parser.add_argument("--maven", required=True, help="the command that builds the jar")
    maven = shlex.split(parser.parse_args().maven)

    def has_jar(delta: str, line: str) -> bool:
        return fetch_delta_jar(delta, line, maven)

    newest = unlisted(released("pyspark"), released("delta-spark"), has_jar)
    today = datetime.now(timezone.utc).date()
    print(json.dumps([job._asdict() for job in jobs(today, newest)]))


if __name__ == "__main__":
    main()
