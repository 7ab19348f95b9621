# SPDX-License-Identifier: Apache-2.0
"""What the nightly workflow runs: prints its jobs as JSON.

Each night the short pairs, one of the whole ones in turn, and the newest releases that
`spark_ext/releases.json` does not have yet; on Mondays also the tests that are in no other run, and
those on a session with what vendors set by default.

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
# Pairs on one machine, each with an environment of a gigabyte.
TOGETHER = 4
# By what leaves the names of the tests that failed, as pairs do.
NAMED = "PYTEST=tests.matrix.tested"


class Job(NamedTuple):
    """What one machine does."""

    name: str
    command: str


def jobs(day: date, newest: Iterable[str]) -> Iterator[Job]:
    """The jobs of a night; the newest are pairs like the others."""
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
