# SPDX-License-Identifier: Apache-2.0
"""The certificate of an erasure: what was read, what was found, and what was not read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from spark_ext.errors import NotACertificateError
from spark_ext.lakehouse.earlier import EarlierCertificate
from spark_ext.lakehouse.erasure_report import ErasureReport, reason
from spark_ext.lakehouse.erasure_results import TableErasure
from spark_ext.lakehouse.files import CERTIFICATE_FORMS, page, require_form, whole_file
from spark_ext.show.tables import Facts, Lines, Part, Rendered, Table
from spark_ext.wire.rows import in_utc, plain

_KIND: Final = "spark-ext certificate of erasure"
_FORMAT: Final = 1
_SCRIPT = '<script type="application/json" id="certificate">'
_IN_HTML = re.compile(re.escape(_SCRIPT) + "(.*?)</script>", re.DOTALL)

OUT_OF_REACH: Final = (
    "Clones, copies, exports and backups of the table, and tables that were computed from it.",
    "Versions, snapshots and deleted objects that the storage keeps, and unfinished uploads.",
    "Versions of the table that log cleanup removed: each table says from which version it is"
    " known.",
    "Values in other columns, in comments, properties and tags, and in bytes that no footer names.",
    "Data that was written while the table was read.",
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate(Rendered):
    """Reports the remaining data of a column in many tables, the evidence, and the unread tables.

    Args:
        report: The report of the erasure.
        time: The time of the certificate, in UTC.
    """

    report: ErasureReport
    time: datetime

    @classmethod
    def of(cls, report: ErasureReport) -> Certificate:
        """Returns the certificate of a report, which must be about one column.

        Raises:
            ValueError: The report is about every dropped column.
        """
        if report.column is None:
            raise ValueError("Cannot certify every dropped column: ask for one by `column`.")
        return cls(report=report, time=datetime.now(timezone.utc))

    @property
    def verdict(self) -> str:
        """Returns the worst verdict of all tables; `UNKNOWN` without tables."""
        return self.report.verdict

    def as_object(self) -> dict[str, Any]:
        """Returns the certificate for JSON; times are in UTC."""
        found: dict[str, Any] = {
            "certificate": _KIND,
            "format": _FORMAT,
            "sparkExt": self.report.version,
            "time": self.time,
            "column": self.report.column,
            "where": self.report.where,
            "filters": self.report.filters,
            "verdict": self.verdict,
            "verdicts": self.report.verdicts,
            "views": self.report.num_views,
            "interrupted": self.report.interrupted,
            "outOfReach": OUT_OF_REACH,
            "tables": [
                {"because": reason(table), **table.as_object()} for table in self.report.tables
            ],
            "earlier": self.report.earlier,
            "nextCall": self.report.next_call,
        }
        return {key: plain(value) for key, value in found.items()}

    def json(self) -> str:
        """Returns the certificate as the text of a JSON file."""
        return json.dumps(self.as_object(), indent=2) + "\n"

    def html(self) -> str:
        """Returns the certificate as a page, which contains the JSON too."""
        data = self.json().replace("<", "\\u003c")
        body = f"{self._repr_html_()}\n{_SCRIPT}{data}</script>"
        return page(f"{_KIND}: {self.report.column}", body)

    def write(self, file: str | os.PathLike[str]) -> None:
        """Writes the certificate to a file, in the format of its extension: `CERTIFICATE_FORMS`.

        A reader of the file never sees an incomplete certificate. The next call in the certificate
        continues this file.

        Raises:
            InvalidFileNameError: USAGE_TRACKING_INVALID_FILE_NAME, if the name ends otherwise.
            OSError: The file cannot be written.
        """
        path = Path(file)
        form = require_form(path, CERTIFICATE_FORMS)
        known = replace(self, report=self.report.certified(path))
        with whole_file(path) as written:
            written.write(known.html() if form == ".html" else known.json())

    def _parts(self) -> Iterator[Part]:
        yield Facts(
            {
                "certificate of erasure": self.report.column,
                "where": list(self.report.where),
                **({"filters": self.report.filters} if self.report.filters else {}),
                "verdict": self.verdict,
                **({"interrupted by": self.report.interrupted} if self.report.interrupted else {}),
                "time": in_utc(self.time),
                "spark-ext": self.report.version,
                "tables": len(self.report.tables),
                **self.report.verdicts,
                "views": self.report.num_views,
            }
        )
        for table in self.report.tables:
            yield from _of_table(table)
        earlier = [
            (each["table"], each["verdict"], each["time"], each["because"])
            for each in self.report.earlier
        ]
        if earlier:
            yield Table(
                ("table", "verdict", "time", "because"),
                earlier,
                "Tables of an earlier certificate only",
            )
        yield Lines("Out of reach:", OUT_OF_REACH)
        if self.report.next_call is not None:
            yield from self.report.next_call.parts()


def _of_table(table: TableErasure) -> Iterator[Part]:
    yield Lines(f"{table.table}: {table.verdict}, {reason(table)}")
    found = table.erasure
    if found is None:
        return
    names = [
        path for column in found.columns for path in (*column.former_paths, column.path) if path
    ]
    names += [path for live in found.live_columns for path in (*live.former_paths, live.path)]
    names += [name.path for name in found.names_in_log]
    if table.earlier is not None:
        names += [
            path
            for column in table.earlier.columns
            for path in (*column.former_paths, column.path)
            if path
        ]
    yield Facts(
        {
            "table id": found.table_id,
            "location": found.location,
            "version": found.version,
            "read at": in_utc(found.timestamp),
            "schemas known from version": found.oldest_version,
            "time of that version": found.oldest_timestamp and in_utc(found.oldest_timestamp),
            "names of the column": list(dict.fromkeys(names)),
        }
    )
    read = [(each.kind, each.num_files, each.size_in_bytes) for each in found.files_read]
    if read:
        yield Table(("files read", "number", "bytes"), read, "Files that were read")
    steps = [(step.step, step.statement, _from(step.earliest)) for step in table.steps]
    if steps:
        yield Table(("step", "what to do", "from"), steps, "What deletes the data")


def earlier_certificate(
    previous: Certificate | str | os.PathLike[str] | None, column: str | None
) -> EarlierCertificate:
    """Returns what an earlier certificate found.

    Raises:
        NotACertificateError: USAGE_TRACKING_NOT_A_CERTIFICATE, if the file is not a certificate of
            the same column.
        OSError: The file cannot be read.
    """
    if previous is None:
        return EarlierCertificate()
    if isinstance(previous, Certificate):
        file, found = "certificate", json.loads(previous.json())
    else:
        file = os.fspath(previous)
        found = _content(file, Path(file).read_bytes())
    if found.get("column") != column:
        problem = f"It is about the column {found.get('column')!r} and not {column!r}."
        raise NotACertificateError(file=file, problem=problem)
    try:
        now = [{"time": found["time"], **table} for table in found["tables"]]
        earlier = EarlierCertificate((*now, *found["earlier"]))
        earlier.require_values()
    except (AttributeError, KeyError, TypeError) as lacking:
        problem = f"It lacks a value of a certificate: {lacking!r}."
        raise NotACertificateError(file=file, problem=problem) from lacking
    return earlier


def _content(file: str, content: bytes) -> dict[str, Any]:
    try:
        text = content.decode()
        in_html = _IN_HTML.search(text)
        found = json.loads(text if in_html is None else in_html[1])
    except ValueError as error:
        raise NotACertificateError(file=file, problem=f"It is not valid JSON: {error}.") from error
    if not isinstance(found, dict) or found.get("certificate") != _KIND:
        raise NotACertificateError(file=file, problem="It has no key of a certificate.")
    if found.get("format") != _FORMAT:
        problem = f"Its format is {found.get('format')!r}, and this version reads {_FORMAT}."
        raise NotACertificateError(file=file, problem=problem)
    return found


def _from(earliest: datetime | None) -> str:
    return "now" if earliest is None else in_utc(earliest)
