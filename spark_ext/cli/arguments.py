# SPDX-License-Identifier: Apache-2.0
"""The arguments that commands share, and their values: bytes, durations, numbers and files."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from inspect import getdoc
from pathlib import Path
from typing import Any

from spark_ext.cli.output import PROGRESS
from spark_ext.errors import InvalidFileNameError
from spark_ext.removal.stages import STAGES
from spark_ext.tables.calls import remove_column_mapping
from spark_ext.tables.find import LakehouseOptions
from spark_ext.tables.inspect import audit, dropped_columns
from spark_ext.tables.report import require_form, require_writable
from spark_ext.tables.table import UsageTracking

_BYTES: dict[str, int] = {
    "B": 1,
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGTP", 1)},
    **{f"{prefix}IB": 1024**power for power, prefix in enumerate("KMGTP", 1)},
}
_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d+)?) ?([A-Za-z]+)", re.ASCII)
# Each unit is given at most once.
_DURATION = re.compile(
    "(?=.)" + "".join(rf"(?:\d{{1,6}}(?:\.\d+)?{unit})?" for unit in _SECONDS), re.ASCII
)


def size(text: str) -> int:
    """Returns the bytes of a number with a unit; raises ArgumentTypeError, as all functions here.

    Example:
        >>> size("500GB"), size("1.5 MiB"), size("0")
        (500000000000, 1572864, 0)
    """
    match = _SIZE.fullmatch("0B" if text == "0" else text)
    unit = _BYTES.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size: write a number and a unit, such as 500GB (10^9 bytes each) "
            "or 500GiB (2^30 bytes each)"
        )
    return int(float(match[1]) * unit)


def duration(text: str) -> timedelta:
    """Returns the duration of a list of numbers with units of time.

    Example:
        >>> str(duration("1h30m")), str(duration("45s"))
        ('1:30:00', '0:00:45')
    """
    if not _DURATION.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a duration: write numbers and units, such as 6h, 90m, 45s or 1h30m"
        )
    parts = re.findall(r"([\d.]+)([dhms])", text)
    return timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))


def count(text: str, least: int = 1) -> int:
    """Returns a number from 1 or from 0."""
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least}")
    return int(text)


def errors(text: str) -> str | int:
    """Returns `continue`, or a number from 1."""
    return text if text == "continue" else count(text)


def column(text: str) -> str:
    """Returns the name of a column, which is not empty."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the column is empty")
    return text


def output_file(forms: Sequence[str], text: str) -> Path:
    """Returns the file of an argument, which ends with one of the forms and can be written."""
    path = Path(text)
    try:
        require_form(path, forms)
        require_writable(path)  # otherwise the command would fail after hours of work
    except InvalidFileNameError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: {error.strerror}") from error
    return path


# The values of the arguments that a function of `spark_ext` has under the same name. Their help is
# the text of the function's docstring, and their default is the function's own.
OPTIONS: dict[str, dict[str, Any]] = {
    "include": {"action": "append", "metavar": "PATTERN"},
    "exclude": {"action": "append", "metavar": "PATTERN"},
    "parallel": {"type": count, "metavar": "N"},
    "max_bytes": {"type": size, "metavar": "SIZE"},
    "max_time": {"type": duration, "metavar": "TIME"},
    "on_error": {"type": errors, "metavar": "continue|N"},
    "dry_run": {"action": "store_true"},
    "until": {"choices": STAGES},
    "to_name_mode": {"action": "store_true"},
    "column": {"type": column, "metavar": "NAME"},
    "sample": {"type": partial(count, least=0), "metavar": "N"},
}
PLACES = ("include", "exclude")
_DOCUMENTED = (
    *(audit, dropped_columns, UsageTracking.align_names),
    *(remove_column_mapping, LakehouseOptions),
)
_TEXTS = re.findall(
    r"^ {4}(\w+): (.+(?:\n {8}.+)*)", "\n".join(getdoc(each) or "" for each in _DOCUMENTED), re.M
)
HELP = {name: " ".join(text.replace("%", "%%").split()) for name, text in _TEXTS}


def add_options(group: Any, *names: str) -> None:
    """Adds those names that `OPTIONS` has to a parser or a group of its arguments."""
    for name in filter(OPTIONS.__contains__, names):
        flag = f"--{name.replace('_', '-')}"
        group.add_argument(flag, default=argparse.SUPPRESS, help=HELP.get(name), **OPTIONS[name])


def given(chosen: argparse.Namespace) -> dict[str, Any]:
    """Returns those of `OPTIONS` that the command line has, for the function of the command."""
    return {name: value for name, value in vars(chosen).items() if name in OPTIONS}


def add_where(parser: argparse.ArgumentParser, number: str = "+", others: str = "") -> None:
    """Adds the places of the tables; `number` is `nargs`, and `others` is the help for no place."""
    parser.add_argument(
        "where",
        nargs=number,
        metavar="CATALOG[.SCHEMA] | SCHEMA | TABLE | PATH",
        help="a text with a slash is a path; a catalog includes all its schemas; tables of Hive"
        f" need spark.sql.catalogImplementation hive in spark-defaults.conf{others}",
    )


def add_places(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that choose tables."""
    add_where(parser)
    add_options(parser.add_argument_group("tables"), *PLACES)


def add_forms(group: Any, json: str, *, has_all: bool = False) -> None:
    """Adds the options to print JSON, or every table."""
    form = group.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help=f"print {json}")
    if has_all:
        row = "print a row for every table below the sums"
        form.add_argument("--all", action="store_true", help=row)


def add_progress(group: Any) -> None:
    """Adds the form of the progress."""
    group.add_argument(
        "--progress",
        choices=PROGRESS,
        default=PROGRESS[0],
        help="print to standard error: lines for people (default), objects of JSON, or nothing",
    )
