# SPDX-License-Identifier: Apache-2.0
"""Runs all checks. If one problem may cause another, the check of the cause runs first."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from functools import cache

from spark_ext.doctor import installation, sessions
from spark_ext.doctor.diagnoses import PROBLEM, SKIPPED, Diagnosis
from spark_ext.doctor.trial import CONFIGURE, DEFAULTS, Trial
from spark_ext.launch.spark_home import is_client_only

Checks = dict[str, Callable[[], Diagnosis]]


def examine(environ: Mapping[str, str]) -> list[Diagnosis]:
    """Returns the findings of all checks on this machine.

    Args:
        environ: The environment in which a session would start.
    """
    before: Checks = {
        "python": installation.python,
        "java": lambda: installation.java(environ),
        "spark": lambda: installation.spark(environ),
        "jar": installation.jar,
    }
    if is_client_only(environ):
        # The JVM and the sessions of a Spark Connect client are on its server.
        del before["java"]
        return _findings(before)
    found = _findings(before)
    problems = [finding.check for finding in found if finding.status == PROBLEM]
    trials = _trials(environ)
    if problems:
        return [*found, *(_skipped(name, *problems) for name in trials)]
    return [*found, *_findings(trials)]


def _trials(environ: Mapping[str, str]) -> Checks:
    @cache
    def trial(way: str) -> Trial:
        return sessions.try_session(way, environ)

    def configured() -> Diagnosis:
        if installation.delta(has_jars=False).status == PROBLEM:
            return _skipped(CONFIGURE, "delta")
        return sessions.diagnosis(CONFIGURE, trial(CONFIGURE), trial(DEFAULTS))

    return {
        DEFAULTS: lambda: sessions.diagnosis(DEFAULTS, trial(DEFAULTS)),
        "delta": lambda: installation.delta(has_jars=bool(trial(DEFAULTS).delta_places)),
        CONFIGURE: configured,
    }


def _skipped(check: str, *problems: str) -> Diagnosis:
    return Diagnosis(check, SKIPPED, f"not tried because of problems with: {', '.join(problems)}")


def _findings(checks: Checks) -> list[Diagnosis]:
    """Returns the diagnoses of the checks; a check that fails is a diagnosis too."""
    return [_finding(name, check) for name, check in checks.items()]


def _finding(name: str, check: Callable[[], Diagnosis]) -> Diagnosis:
    try:
        return check()
    except Exception as failure:
        text = "".join(traceback.format_exception(failure))
        advice = "Please report this, unless the error itself says what to do."
        return Diagnosis(name, PROBLEM, "the check itself failed", text, advice)
