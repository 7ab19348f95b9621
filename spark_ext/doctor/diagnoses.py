# SPDX-License-Identifier: Apache-2.0
"""What a check found, as data and as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from spark_ext.version import __version__

# A note may explain a problem; what was skipped cannot be asked until a problem is gone.
STATUSES = OK, NOTE, PROBLEM, SKIPPED = "ok", "note", "problem", "skipped"


@dataclass(frozen=True)
class Diagnosis:
    """What one check found.

    Args:
        check: The check's name.
        status: One of `STATUSES`.
        found: What is there.
        problem: What is wrong with it, where something is.
        advice: What to do then.
    """

    check: str
    status: str
    found: str
    problem: str | None = None
    advice: str | None = None


def without_jar(check: str) -> Diagnosis:
    """The finding of a check that needs our jar where it is missing."""
    return Diagnosis(check, SKIPPED, "not asked: the jar of spark-ext is missing")


def is_sound(findings: Sequence[Diagnosis]) -> bool:
    """Whether no check found a problem."""
    return all(finding.status != PROBLEM for finding in findings)


def as_json(findings: Sequence[Diagnosis]) -> str:
    """One JSON object.

    Shape:
        `{"version": "0.1.0", "sound": true, "findings": [{"check": "java", "status": "ok",
        "found": "..", "problem": null, "advice": null}]}`
    """
    listed = [asdict(finding) for finding in findings]
    return json.dumps({"version": __version__, "sound": is_sound(findings), "findings": listed})


def as_text(findings: Sequence[Diagnosis]) -> str:
    """For people: a line for each check, and what to do below those that found something."""
    lines = []
    for finding in findings:
        lines.append(f"{finding.status:<8} {finding.check:<13} {finding.found}")
        lines += [f"{'':<23}{said}" for said in (finding.problem, finding.advice) if said]
    problems = sum(finding.status == PROBLEM for finding in findings)
    return "\n".join([*lines, "", f"spark-ext {__version__}: {problems or 'no'} problem(s) found."])
