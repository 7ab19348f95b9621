# SPDX-License-Identifier: Apache-2.0
"""A run of pytest, what of it failed, and where the nightly workflow looks for that.

As a script it runs the tests of a job that is no pair, on the one that is installed here:
    .venv/bin/python -m tests.matrix.tested <arguments of pytest>
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from tests.matrix.pairs import DEFAULT

CHECKOUT = Path(__file__).parents[2]
HOME = CHECKOUT / ".matrix"
# For the workflow: what failed, by pair.
FAILED = HOME / "failed.json"


class Outcome(NamedTuple):
    """How many tests did what."""

    passed: int
    failed: int
    skipped: int


def run_pytest(python: Path, report: Path, *arguments: str | Path, **environ: str) -> int:
    """Runs tests by the Python of an environment, for a JUnit report, and gives the exit code."""
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", *arguments, f"--junitxml={report}"]
    return subprocess.run(command, cwd=CHECKOUT, env={**os.environ, **environ}).returncode


def outcome_of(report: Path) -> Outcome:
    """The counts of a JUnit report; a run that wrote none failed."""
    if not report.exists():
        return Outcome(0, 1, 0)
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))

    def total(name: str) -> int:
        return sum(int(suite.get(name, "0")) for suite in suites)

    failed, skipped = total("failures") + total("errors"), total("skipped")
    return Outcome(total("tests") - failed - skipped, failed, skipped)


def failures(report: Path) -> list[str]:
    """The tests of a JUnit report that failed."""
    if not report.exists():
        return ["pytest itself, which wrote no report"]
    cases = ElementTree.parse(report).getroot().iter("testcase")
    return [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]


def leave(failed: dict[str, list[str]]) -> None:
    """Leaves for the workflow what failed by now; nothing, if nothing did."""
    if failed:
        FAILED.write_text(json.dumps(failed))
    else:
        FAILED.unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    HOME.mkdir(exist_ok=True)
    leave({})
    report = HOME / "report.xml"
    code = run_pytest(Path(sys.executable), report, *arguments)
    if code:
        # A run may fail and no test of it, such as one that collected none.
        leave({DEFAULT: failures(report) or [f"pytest itself, with exit code {code}"]})
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
