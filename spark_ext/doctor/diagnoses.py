# SPDX-License-Identifier: Apache-2.0
"""The finding of a check, as data and as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from spark_ext.version import __version__

# A note may explain a problem. A skipped check needs another problem solved first.
STATUSES = OK, NOTE, PROBLEM, SKIPPED = "ok", "note", "problem", "skipped"


@dataclass(frozen=True)
class Diagnosis:
    """The finding of one check.

    Args:
        check: The name of the check.
        status: One of `STATUSES`.
        found: The facts that the check examined.
        problem: The problem, if there is one.
        advice: The advice for the user.
    """

    check: str
    status: str
    found: str
    problem: str | None = None
    advice: str | None = None


def is_sound(findings: Sequence[Diagnosis]) -> bool:
    """Returns whether no check found a problem."""
    return all(finding.status != PROBLEM for finding in findings)


def as_json(findings: Sequence[Diagnosis]) -> str:
    """Returns one JSON object.

    Shape:
        `{"version": "0.1.0", "sound": true, "findings": [{"check": "java", "status": "ok",
        "found": "..", "problem": null, "advice": null}]}`
    """
    listed = [asdict(finding) for finding in findings]
    return json.dumps({"version": __version__, "sound": is_sound(findings), "findings": listed})


def as_text(findings: Sequence[Diagnosis]) -> str:
    """Returns a line for each check, each followed by its problem and its advice."""
    lines = []
    for finding in findings:
        lines.append(f"{finding.status:<8} {finding.check:<13} {finding.found}")
        lines += [f"{'':<23}{text}" for text in (finding.problem, finding.advice) if text]
    problems = sum(finding.status == PROBLEM for finding in findings)
    return "\n".join([*lines, "", f"spark-ext {__version__}: {problems or 'no'} problem(s) found."])
