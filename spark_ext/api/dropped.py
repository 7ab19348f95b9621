# SPDX-License-Identifier: Apache-2.0
"""Reads what remains of the dropped columns of one table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from spark_ext.api.functions import answer, literal
from spark_ext.model.dropped import NOT_READ, UNREADABLE, Asked, ColumnVerdict, DroppedPlace
from spark_ext.show.tables import Facts, Lines, Part, Rendered, Table
from spark_ext.wire.rows import as_row, in_utc, of_row, plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, repr=False)
class DroppedColumns(Rendered):
    """The places that remain of the dropped columns of one table.

    Args:
        table: The full name of the table.
        found: The verdict and the places; None if the table was not read.
        error: The condition of the error, or its class without a condition; None if the table was
            read or has another format.
        message: The text of the error; None without one.
    """

    table: str
    found: ColumnVerdict | None = None
    error: str | None = None
    message: str | None = None

    @property
    def verdict(self) -> str:
        """Returns one of `VERDICTS`."""
        if self.found is not None:
            return self.found.verdict
        return NOT_READ if self.message is None else UNREADABLE

    @property
    def places(self) -> tuple[DroppedPlace, ...]:
        """Returns the places, in the order of their steps."""
        return () if self.found is None else self.found.places

    def as_object(self) -> dict[str, Any]:
        """Returns the table for JSON; times are in UTC."""
        found: dict[str, Any] = plain({"verdict": self.verdict, **as_row(self)})
        return found

    def _parts(self) -> Iterator[Part]:
        return self.parts()

    def parts(self) -> Iterator[Part]:
        """Yields the parts for people."""
        found = self.found
        because = self.message if found is None else found.reason
        yield Lines(f"{self.table}: {self.verdict}" + ("" if because is None else f", {because}"))
        if found is None:
            return
        # A table without a drop is clean since version -1.
        moment = None if found.moment_version == -1 else found.moment_version
        facts = {
            "table id": found.table_id,
            "location": found.location,
            "version": found.version,
            "read at": in_utc(found.timestamp),
            "schemas known from version": found.oldest_version,
            "clean since version": moment,
            "clean since": None if moment is None else from_time(found.moment_timestamp),
            "live columns": [column.path for column in found.live_columns],
            "files in the folders of": list(found.sources),
            "other tables, not read": list(found.other_tables),
            "check again before": found.check_again_by and in_utc(found.check_again_by),
        }
        yield Facts({name: value for name, value in facts.items() if value not in (None, [])})
        rows = [
            (each.place, each.num_listed, each.num_files, each.size_in_bytes, list(each.paths))
            for each in found.places
        ]
        yield Table(("place", "listed", "remaining", "bytes", "columns"), rows, "What was read")
        steps = [
            (each.place, each.step, from_time(each.earliest), each.statement)
            for each in found.places
            if each.step is not None
        ]
        if steps:
            yield Table(("place", "step", "from", "what to do"), steps, "What remains to do")


def dropped_columns_of(spark: SparkSession, name: str, asked: Asked) -> DroppedColumns:
    """Returns what remains in one table. Raises as the table functions."""
    text = literal(json.dumps(plain(as_row(asked))))
    (row,) = answer(spark, "column_mapping_verdict", literal(name), text).collect()
    return DroppedColumns(name, of_row(ColumnVerdict, row))


def from_time(earliest: datetime | None) -> str:
    """Returns a time in UTC as text; None is now."""
    return "now" if earliest is None else in_utc(earliest)
