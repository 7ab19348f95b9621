# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext audit`: what is wrong with tables, for people and for programs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from spark_ext.api.audit_result import AuditResult
from spark_ext.cli.session import own_session, told

SOUND, FINDINGS, FAILED = 0, 1, 2


def add_to(commands: Any) -> None:
    """Adds the command to a parser's."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "audit",
        help="read the logs and files of tables and tell what is wrong; exit code 1 with findings,"
        " 2 where a table cannot be audited",
    )
    parser.add_argument(
        "tables", nargs="+", metavar="TABLE_OR_PATH", help="what has a slash is a path"
    )
    parser.add_argument(
        "--sample", type=_count, metavar="N", help="read the footers of N files of each table"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a finding")


def run(chosen: argparse.Namespace) -> int:
    """Audits every table that it can, and prints what it finds; returns the exit code."""
    code = SOUND
    try:
        for found in _audits(chosen.tables, chosen.sample):
            if isinstance(found, AuditResult):
                _print(found, as_json=chosen.json)
                code = max(code, FINDINGS if found.findings else SOUND)
            else:
                print(told(found), file=sys.stderr)
                code = FAILED
    except Exception as error:  # no session could be started
        print(told(error), file=sys.stderr)
        return FAILED
    return code


def _audits(tables: list[str], sample: int | None) -> Iterator[AuditResult | Exception]:
    from spark_ext.api.audit import audit

    with own_session("audit") as spark:
        for table in tables:
            try:
                yield audit(spark, table, sample=sample)
            except Exception as error:  # of Spark, of Java or of the storage: the next may be read
                yield error


def _print(found: AuditResult, *, as_json: bool) -> None:
    if as_json:
        for finding in found.as_objects():
            print(json.dumps(finding))
    else:
        print(f"{found!r}\n")


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number
