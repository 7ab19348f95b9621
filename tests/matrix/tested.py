# SPDX-License-Identifier: Apache-2.0
"""Runs pytest, and writes the failed tests where the nightly workflow reads them.

As a script, this module runs tests on the installed pair:
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
# The failed tests by pair. The workflow reads this file.
FAILED = HOME / "failed.json"


class Outcome(NamedTuple):
    """Counts the tests of a run by their outcome."""

    passed: int
    failed: int
    skipped: int


def run_pytest(python: Path, report: Path, *arguments: str | Path, **environ: str) -> int:
    """Runs tests by the Python of an environment with a JUnit report, and returns the exit code."""
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", *arguments, f"--junitxml={report}"]
    return subprocess.run(command, cwd=CHECKOUT, env={**os.environ, **environ}).returncode


def outcome_of(report: Path) -> Outcome:
    """Returns the counts of a JUnit report. A run without a report counts as one failure."""
    if not report.exists():
        return Outcome(0, 1, 0)
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))

    def total(name: str) -> int:
        return sum(int(suite.get(name, "0")) for suite in suites)

    failed, skipped = total("failures") + total("errors"), total("skipped")
    return Outcome(total("tests") - failed - skipped, failed, skipped)


def failures(report: Path) -> list[str]:
    """Returns the failed tests of a JUnit report."""
    if not report.exists():
        return ["pytest itself, which wrote no report"]
    cases = ElementTree.parse(report).getroot().iter("testcase")
    return [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]


def write_failures(failed: dict[str, list[str]]) -> None:
    """Writes the failures for the workflow, or removes the file if nothing failed."""
    if failed:
        FAILED.write_text(json.dumps(failed))
    else:
        FAILED.unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    HOME.mkdir(exist_ok=True)
    write_failures({})
    report = HOME / "report.xml"
    code = run_pytest(Path(sys.executable), report, *arguments)
    if code:
        # A run without a failed test may fail, for example if it collected no test.
        write_failures({DEFAULT: failures(report) or [f"pytest itself, with exit code {code}"]})
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
