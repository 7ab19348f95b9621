# SPDX-License-Identifier: Apache-2.0
"""Reports what remains of dropped columns in many tables, and certifies an erasure."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from spark_ext.api.dropped import DroppedColumns, from_time
from spark_ext.errors import NotACertificateError
from spark_ext.lakehouse.files import CERTIFICATE_FORMS, require_form, whole_file
from spark_ext.model.dropped import (
    ERASED,
    NEVER_HAD,
    UNKNOWN,
    VERDICTS,
    CheckedTable,
    LiveColumn,
)
from spark_ext.show.tables import Facts, Lines, Part, Rendered
from spark_ext.wire.rows import in_utc, plain

_KIND: Final = "spark-ext certificate of erasure"
_FORMAT: Final = 2
OUT_OF_REACH: Final = (
    "Clones, copies, exports and backups of the table, and tables that were computed from it.",
    "Versions, snapshots and deleted objects that the storage keeps, and unfinished uploads.",
    "Values in other columns, in comments, properties and tags, and in bytes that no footer names.",
    "Data that was written while the table was read.",
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate(Rendered):
    """Reports what remains of a dropped column in many tables, the evidence, and unread tables.

    Args:
        column: The requested name or pattern; None for every dropped column.
        where: The places of the call.
        filters: The options that chose tables, in words.
        tables: The tables, without views.
        num_views: The number of views.
        time: The time of the certificate.
        version: The version of spark-ext.
    """

    column: str | None
    where: tuple[str, ...]
    filters: tuple[str, ...]
    tables: tuple[DroppedColumns, ...]
    num_views: int
    time: datetime
    version: str

    @property
    def verdict(self) -> str:
        """Returns the worst verdict of all tables; `UNKNOWN` without tables."""
        return min((each.verdict for each in self.tables), key=VERDICTS.index, default=UNKNOWN)

    @property
    def verdicts(self) -> Mapping[str, int]:
        """Returns the number of tables with each verdict, the worst first."""
        counts = Counter(each.verdict for each in self.tables)
        return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}

    @property
    def complete(self) -> bool:
        """Returns whether no data remains in any table."""
        return self.verdict in (ERASED, NEVER_HAD)

    def as_object(self) -> dict[str, Any]:
        """Returns the certificate for JSON; times are in UTC."""
        found: dict[str, Any] = plain(
            {
                "certificate": _KIND,
                "format": _FORMAT,
                "sparkExt": self.version,
                "time": self.time,
                "column": self.column,
                "where": self.where,
                "filters": self.filters,
                "verdict": self.verdict,
                "verdicts": self.verdicts,
                "views": self.num_views,
                "outOfReach": OUT_OF_REACH,
            }
        )
        return {**found, "tables": [each.as_object() for each in self.tables]}

    def json(self) -> str:
        """Returns the certificate as the text of a JSON file."""
        return json.dumps(self.as_object(), indent=2) + "\n"

    def write(self, file: str | os.PathLike[str]) -> None:
        """Writes the certificate to a JSON file. A reader never sees an incomplete one.

        Raises:
            InvalidFileNameError: USAGE_TRACKING_INVALID_FILE_NAME, if the name ends otherwise.
            OSError: The file cannot be written.
        """
        path = Path(file)
        require_form(path, CERTIFICATE_FORMS)
        with whole_file(path) as written:
            written.write(self.json())

    def _parts(self) -> Iterator[Part]:
        facts = {
            "column": self.column or "every dropped column",
            "where": list(self.where),
            "filters": list(self.filters),
            "verdict": self.verdict,
            "time": in_utc(self.time),
            "spark-ext": self.version,
            "tables": len(self.tables),
            **self.verdicts,
            "views": self.num_views or None,
        }
        yield Facts({name: value for name, value in facts.items() if value not in (None, [])})
        for table in self.tables:
            yield from table.parts()
        yield Lines("Out of reach:", OUT_OF_REACH)
        read = [table.found for table in self.tables if table.found is not None]
        times = [each.earliest for found in read for each in found.places if each.step]
        if times:
            due = [time for time in times if time is not None]
            earliest = "now" if len(due) < len(times) else from_time(min(due))
            again = [found.check_again_by for found in read if found.check_again_by is not None]
            before = f" before {from_time(min(again))}" if again else ""
            yield Lines(
                f"Next, from {earliest}: run the steps. Run this call again with its"
                f" certificate{before}: the log has to show every version since."
            )


class Checked:
    """The tables of an earlier certificate of the same column.

    Raises:
        NotACertificateError: USAGE_TRACKING_NOT_A_CERTIFICATE.
        OSError: The file cannot be read.
    """

    def __init__(self, given: Certificate | str | os.PathLike[str], column: str | None) -> None:
        file = "certificate" if isinstance(given, Certificate) else os.fspath(given)
        text = given.json() if isinstance(given, Certificate) else Path(file).read_bytes()
        try:
            found = json.loads(text)
            problem = _problem(found, column)
            read = [] if problem else [each["found"] for each in found["tables"]]
            self._tables = dict(_checked(each) for each in read if each is not None)
        except (AttributeError, KeyError, TypeError, ValueError) as lacking:
            problem = f"It lacks a value of a certificate: {lacking!r}."
            raise NotACertificateError(file=file, problem=problem) from lacking
        if problem:
            raise NotACertificateError(file=file, problem=problem)

    def at(self, location: str | None) -> CheckedTable | None:
        """Returns what the certificate says of the table at a path."""
        return None if location is None else self._tables.get(location)


def _problem(found: Any, column: str | None) -> str | None:
    if not isinstance(found, dict) or found.get("certificate") != _KIND:
        return "It has no key of a certificate."
    if found.get("format") != _FORMAT:
        return f"Its format is {found.get('format')!r}, and this version reads {_FORMAT}."
    if found["column"] != column:
        return f"It is about the column {found['column']!r} and not {column!r}."
    return None


def _checked(found: Mapping[str, Any]) -> tuple[str, CheckedTable]:
    def columns(key: str) -> tuple[LiveColumn, ...]:
        return tuple(
            LiveColumn(each["path"], each["physicalPath"], each["id"]) for each in found[key]
        )

    return found["location"], CheckedTable(
        table_id=found["tableId"],
        version=found["version"],
        moment_version=found["momentVersion"],
        moment_time=found["momentTime"],
        had=found["had"],
        known=found["known"],
        live=columns("liveColumns"),
        named=columns("namedColumns"),
    )
