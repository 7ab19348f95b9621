# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext jars | submit-args | doctor | audit | survey | dropped`."""

from __future__ import annotations

import argparse
import os
import sys

from spark_ext.cli import audit, dropped, survey
from spark_ext.cli.session import error_text
from spark_ext.doctor.diagnoses import as_json, as_text, is_sound
from spark_ext.doctor.examination import examine
from spark_ext.errors import SparkExtError
from spark_ext.launch.session import CLIENT, DEPLOY_MODES, jar, submit_args


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m spark_ext", description="Column mapping usage tracking for Delta Lake."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("jars", help="print the jar's path, for --jars")
    submit = commands.add_parser(
        "submit-args", help="print all arguments that spark-submit, spark-sql or pyspark need"
    )
    submit.add_argument(
        "--deploy-mode",
        choices=DEPLOY_MODES,
        default=CLIENT,
        help="cluster: the driver runs elsewhere, with the Python that its cluster names",
    )
    doctor = commands.add_parser(
        "doctor", help="try sessions on this machine; exit code 1 if something is wrong"
    )
    doctor.add_argument("--json", action="store_true", help="print one JSON object")
    audit.add_to(commands)
    survey.add_to(commands)
    dropped.add_to(commands)
    chosen = parser.parse_args(arguments)
    if chosen.command == "audit":
        return audit.run(chosen)
    if chosen.command == "survey":
        return survey.run(chosen)
    if chosen.command == "dropped":
        return dropped.run(chosen)
    if chosen.command == "doctor":
        return _doctor(json=chosen.json)
    try:
        print(jar() if chosen.command == "jars" else " ".join(submit_args(chosen.deploy_mode)))
    except SparkExtError as error:
        print(error_text(error), file=sys.stderr)
        return 1
    return 0


def _doctor(*, json: bool) -> int:
    findings = examine(os.environ)
    print(as_json(findings) if json else as_text(findings))
    return 0 if is_sound(findings) else 1


if __name__ == "__main__":
    sys.exit(main())
