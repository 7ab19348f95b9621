# SPDX-License-Identifier: Apache-2.0
"""Opens an issue with the failures of a nightly run, or comments on the open issue.

A failed job writes a folder with `job.json`. If its tests ended, the folder also contains the
`failed.json` of `tests.matrix`.

Usage:
    python -m tests.matrix.report <folder of those folders> <address of the run>
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

TITLE = "The nightly run failed"
# An issue contains at most 65,536 characters.
MOST_TESTS = 50


def body(folder: Path, run: str) -> str:
    """Returns the text of the issue."""
    lines = [line for job in sorted(folder.rglob("job.json")) for line in of_job(job)]
    if not lines:
        lines = ["- No job reported a reason: a job took too long, or ended before its tests."]
    return "\n".join([f"What failed in {run}:", "", *lines, ""])


def of_job(file: Path) -> Iterator[str]:
    job = json.loads(file.read_text())
    yield f"- {job['name']}: `{job['command']}`"
    failed = file.with_name("failed.json")
    if failed.exists():
        for pair, tests in json.loads(failed.read_text()).items():
            for test in tests[:MOST_TESTS]:
                yield f"  - {pair}: `{test}`"
            if len(tests) > MOST_TESTS:
                yield f"  - {pair}: and {len(tests) - MOST_TESTS} more"


def publish(text: str) -> None:
    """Reports to GitHub through the program `gh`, which its machines have."""
    listed = ["issue", "list", "--state", "open", "--json", "number,title", "--limit", "1000"]
    same = [issue["number"] for issue in json.loads(gh(*listed)) if issue["title"] == TITLE]
    if same:
        gh("issue", "comment", str(same[0]), "--body-file", "-", text=text)
    else:
        gh("issue", "create", "--title", TITLE, "--body-file", "-", text=text)


def gh(*arguments: str, text: str = "") -> str:
    return subprocess.run(
        ["gh", *arguments], check=True, input=text, stdout=subprocess.PIPE, text=True
    ).stdout


if __name__ == "__main__":
    publish(body(Path(sys.argv[1]), sys.argv[2]))
