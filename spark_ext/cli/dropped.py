# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext dropped`: where the data of dropped columns is, for schedulers."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from spark_ext.api.dropped_result import DroppedColumns
from spark_ext.cli.session import own_session, told
from spark_ext.wire.rows import as_row

GONE, LEFT, FAILED = 0, 1, 2


def add_to(commands: Any) -> None:
    """Adds the command to a parser's."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "dropped",
        help="tell where the data of dropped columns still is; exit code 1 where some is left or"
        " nobody can tell, 2 where a table cannot be read",
    )
    parser.add_argument(
        "tables", nargs="+", metavar="TABLE_OR_PATH", help="what has a slash is a path"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a column")


def run(chosen: argparse.Namespace) -> int:
    """Looks at every table that it can, and prints what is left; returns the exit code."""
    code = GONE
    try:
        for found in _found(chosen.tables):
            if isinstance(found, DroppedColumns):
                _print(found, as_json=chosen.json)
                code = max(code, GONE if found.gone else LEFT)
            else:
                print(told(found), file=sys.stderr)
                code = FAILED
    except Exception as error:  # no session could be started
        print(told(error), file=sys.stderr)
        return FAILED
    return code


def _found(tables: list[str]) -> Iterator[DroppedColumns | Exception]:
    from spark_ext.api.functions import is_path
    from spark_ext.api.table import UsageTracking

    with own_session("dropped") as spark:
        for table in tables:
            try:
                named = UsageTracking.forPath if is_path(table) else UsageTracking.forName
                yield named(spark, table).dropped_columns()
            except Exception as error:  # of Spark, of Java or of the storage: the next may be read
                yield error


def _print(found: DroppedColumns, *, as_json: bool) -> None:
    if not as_json:
        print(f"{found!r}\n")
        return
    for column in found.as_objects():
        print(json.dumps(column, default=_plain))


def _plain(value: Any) -> Any:
    """Times as text, and what is inside as objects."""
    return value.isoformat() if hasattr(value, "isoformat") else as_row(value)
