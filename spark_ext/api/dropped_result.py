# SPDX-License-Identifier: Apache-2.0
"""Reports where data of dropped columns exists, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from spark_ext.model.dropped import DroppedColumn
from spark_ext.model.metadata import FileCount
from spark_ext.show.states import size
from spark_ext.show.tables import Lines, Part, Rendered, Table
from spark_ext.wire.rows import as_row, plain

PLACES = (
    "column",
    "in files",
    "version",
    "operation",
    "gone",
    "live",
    "removed",
    "change data",
    "untracked",
    "unknown",
    "log files",
)
STEPS = ("column", "step", "from", "what to do")
_NO_COLUMN = "(unreadable files)"


@dataclass(frozen=True, repr=False)
class DroppedColumns(Rendered):
    """The dropped columns of one table.

    Args:
        table: The full name of the table.
        columns: The column that was dropped last comes first. Empty if the log has no drop, no
            file holds a column that the schema lacks, and no file is unknown.
    """

    table: str
    columns: tuple[DroppedColumn, ...]

    @property
    def gone(self) -> bool:
        """Returns whether no data of a dropped column exists, and no file is unknown."""
        return all(column.gone for column in self.columns)

    def as_objects(self) -> Iterable[dict[str, Any]]:
        """Returns each column with its table, for JSON; the keys are the columns of SQL."""
        return (plain({"table": self.table, **as_row(each)}) for each in self.columns)

    def _parts(self) -> Iterator[Part]:
        yield Lines(f"{self.table}: {self._summary()}")
        if self.columns:
            yield Table(PLACES, list(map(places, self.columns)), "Where the data is")
        if not self.gone:
            yield Table(STEPS, self._steps(), "What deletes the data")

    def _summary(self) -> str:
        dropped = [column for column in self.columns if name_of(column) != _NO_COLUMN]
        if not dropped:
            return "no dropped column" + (f", {_NO_COLUMN}" if self.columns else "")
        left = sum(not column.gone for column in dropped)
        return f"{len(dropped)} dropped, " + ("all gone" if left == 0 else f"{left} not gone")

    def _steps(self) -> list[tuple[Any, ...]]:
        return [
            (name_of(column), step.step, time_in_words(step.earliest), step.statement)
            for column in self.columns
            for step in column.steps
        ]


def places(column: DroppedColumn) -> tuple[Any, ...]:
    """Returns the cells of `PLACES`."""
    return (
        name_of(column),
        column.physical_path,
        column.version,
        column.operation,
        column.gone,
        _counted(column.live_files) or _sources(column),
        _counted(column.removed_files),
        _counted(column.change_data_files),
        _counted(column.untracked_files),
        _counted(column.unknown_files),
        column.commits + column.checkpoints + column.other_log_files + column.unknown_log_files,
    )


def name_of(column: DroppedColumn) -> str | None:
    """Returns the name of a column for people; None if only files have the column."""
    return column.path or (None if column.physical_path else _NO_COLUMN)


def time_in_words(earliest: datetime | None) -> str:
    """Returns a time in seconds, rounded up; None is now."""
    if earliest is None:
        return "now"
    return str(earliest.replace(microsecond=0) + timedelta(seconds=earliest.microsecond > 0))


def _sources(column: DroppedColumn) -> str | None:
    return f"in {', '.join(column.source_files)}" if column.source_files else None


def _counted(files: FileCount) -> str | None:
    """Returns number and size, or None if there are no files."""
    if not files.num_files:
        return None
    return f"{files.num_files} ({size(files.size_in_bytes)})"
