# SPDX-License-Identifier: Apache-2.0
"""The file of `--report`, whose name decides the form."""

from __future__ import annotations

import argparse
import json
import uuid
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from spark_ext.lakehouse.report import LakehouseReport


_STYLE = (
    "body{font-family:system-ui,sans-serif;margin:2em}table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:.2em .8em;border-bottom:1px solid #cbd5e1;vertical-align:top}"
)


def as_json_lines(report: LakehouseReport) -> Iterator[str]:
    """Yields an object with the sums, and one for each table."""
    yield from map(json.dumps, report.as_objects())


def _write_html(report: LakehouseReport, file: TextIO) -> None:
    title = escape(f"spark-ext: {report.goal}")
    file.write(
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n<h1>{title}</h1>\n{report.html()}\n{_next(report)}\n</html>\n"
    )


def _next(report: LakehouseReport) -> str:
    """Returns a paragraph that names the next command."""
    if report.dry_run:
        return "<p>Next, run the same command without <code>--dry-run</code>.</p>"
    if report.complete:
        return "<p>Every table has reached the goal.</p>"
    return "<p>Next, remove the reasons, and run the same command again to continue.</p>"


def _write_json(report: LakehouseReport, file: TextIO) -> None:
    file.writelines(f"{line}\n" for line in as_json_lines(report))


_FORMS: dict[str, Callable[[LakehouseReport, TextIO], object]] = {
    ".csv": lambda report, file: report.write_csv(file),
    ".html": _write_html,
    ".json": _write_json,
    ".txt": lambda report, file: file.write(f"{report.text()}\n"),
}


def report_file(text: str) -> Path:
    """Returns the file of a report, in which the report can be written.

    Raises:
        ArgumentTypeError: The name has no form of a report, or the folder is not writable.
    """
    path = Path(text)
    if path.suffix not in _FORMS:
        raise argparse.ArgumentTypeError(f"{text!r} does not end with one of {', '.join(_FORMS)}")
    part = _part(path)
    try:
        part.touch(exist_ok=False)  # before hours of work
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: {error.strerror}") from error
    part.unlink()
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: it is a folder")
    return path


def write(report: LakehouseReport, path: Path) -> None:
    """Writes the report at once, so that a reader of the file never sees a part of it.

    Raises:
        OSError: The file cannot be written.
    """
    part = _part(path)
    try:
        with part.open("x", encoding="utf-8", newline="") as file:
            _FORMS[path.suffix](report, file)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _part(path: Path) -> Path:
    """Returns a new file beside the report. Two runs may write the same report at once."""
    return path.with_name(f".{uuid.uuid4()}.part")
