# SPDX-License-Identifier: Apache-2.0
"""`jars`, `submit-args` and `doctor`: the installation, without a session in this process."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from spark_ext.cli.command import Command
from spark_ext.cli.output import print_error, standard_output
from spark_ext.cli.session import error_text
from spark_ext.doctor import as_json, as_text, examine, is_sound
from spark_ext.errors import SparkExtError
from spark_ext.launch.session import CLIENT, DEPLOY_MODES, jar, submit_args


def _jars(chosen: argparse.Namespace) -> int:
    return _printed(lambda: str(jar()))


def _submit_args(chosen: argparse.Namespace) -> int:
    return _printed(lambda: " ".join(submit_args(chosen.deploy_mode)))


def _doctor(chosen: argparse.Namespace) -> int:
    findings = examine(os.environ)
    printed = _printed(lambda: as_json(findings) if chosen.json else as_text(findings))
    return printed or (0 if is_sound(findings) else 1)


def _printed(text: Callable[[], str]) -> int:
    try:
        with standard_output() as out:
            print(text(), file=out)
    except SparkExtError as error:
        print_error(error_text(error))
        return 1
    except OSError as error:
        print_error(error_text(error))
        return 2
    return 0


def _add_deploy_mode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--deploy-mode",
        choices=DEPLOY_MODES,
        default=CLIENT,
        help="cluster: the driver runs on another machine, and the configuration of the cluster"
        " names its Python",
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


COMMANDS = (
    Command("jars", "print the path of the jar, for --jars of spark-submit", ("jars",), _jars),
    Command(
        "submit-args",
        "print all arguments that spark-submit, spark-sql or pyspark need",
        ("submit-args", "submit-args --deploy-mode cluster"),
        _submit_args,
        _add_deploy_mode,
    ),
    Command(
        "doctor",
        "start trial sessions on this machine and print what is wrong; exit code 1 if something is"
        " wrong",
        ("doctor", "doctor --json"),
        _doctor,
        _add_json,
    ),
)
