# SPDX-License-Identifier: Apache-2.0
"""All checks, in the order in which one would ask."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping

from spark_ext.doctor import installation, settings
from spark_ext.doctor.diagnoses import PROBLEM, Diagnosis
from spark_ext.doctor.rule_process import rule_process
from spark_ext.doctor.trial import session
from spark_ext.launch.class_path import class_path
from spark_ext.launch.spark_defaults import defaults_file
from spark_ext.launch.spark_home import is_client_only, spark_home


def examine(environ: Mapping[str, str], *, with_session: bool) -> list[Diagnosis]:
    """What every check found on this machine.

    Args:
        environ: The environment that a session would be started in.
        with_session: Whether to start one, which takes half a minute.
    """
    home = spark_home(environ)
    file = defaults_file(environ, home)
    defaults, found = settings.defaults_and_finding(file)
    checks: dict[str, Callable[[], Diagnosis]] = {
        "python": installation.python,
        "java": lambda: installation.java(environ),
        "spark": lambda: installation.spark(environ),
        "defaults": lambda: found,
        "delta": lambda: installation.delta(environ, defaults),
        "pair": lambda: installation.pair(environ, file, defaults),
        "jar": installation.extension_jar,
        "class path": lambda: settings.class_path(class_path(home, defaults, environ), defaults),
        "extensions": lambda: settings.extensions(file, defaults),
        "catalogs": lambda: settings.catalogs(file, defaults),
        "rule process": lambda: rule_process(environ, defaults),
    }
    if is_client_only(environ):
        # A client of Spark Connect: what a session needs is on its server.
        checks = {name: checks[name] for name in ("python", "spark", "jar")}
    elif with_session:
        checks["session"] = lambda: session(environ)
    return [_made(name, check) for name, check in checks.items()]


def _made(name: str, check: Callable[[], Diagnosis]) -> Diagnosis:
    """What a check found; one that fails has found something, too."""
    try:
        return check()
    except Exception as failure:
        text = "".join(traceback.format_exception(failure))
        advice = "Please report this, unless the error itself says what to do."
        return Diagnosis(name, PROBLEM, "the check itself failed", text, advice)
