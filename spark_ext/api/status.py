# SPDX-License-Identifier: Apache-2.0
"""Where a table stands with column mapping and usage tracking, for Python and for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_ext.model.status import StatusRow
from spark_ext.show.tables import Facts, Part, Rendered, Table
from spark_ext.wire.rows import of_row

if TYPE_CHECKING:
    from pyspark.sql import Row

# How many changes are shown, the newest: a table may have thousands.
_SHOWN = 20
_CHANGES = ("version", "timestamp", "operation", "user", "change", "old name", "new name")


@dataclass(frozen=True, repr=False)
class ColumnMappingStatus(Rendered, StatusRow):
    """Where a table stands, and how it got there.

    Args:
        table: Its full name.
        mode: The column mapping mode: `none`, `name` or `id`.
        tracked: Whether it has the feature `columnMappingUsageTracking`.
        has_dropped_or_renamed: The flag; None for an untracked table. One that is missing or not a
            boolean counts as true.
        true_since: What made the flag true; None where it is not, or where the log no longer
            tells (`history_from`).
        min_reader_version: Of the protocol.
        min_writer_version: Of the protocol.
        reader_features: None of them below reader version 3.
        writer_features: None of them below writer version 7.
        dropped_or_renamed: Every column that was, oldest change first, tracked or not.
        history_from: The oldest version of which the log still tells; what was before is in none
            of this.
    """

    table: str
    reader_features: tuple[str, ...]
    writer_features: tuple[str, ...]

    def _parts(self) -> Iterator[Part]:
        yield Facts(self._facts())
        if self.dropped_or_renamed:
            yield Table(_CHANGES, self._changes())

    def _facts(self) -> dict[str, Any]:
        features = sorted({*self.reader_features, *self.writer_features})
        versions = f"reader {self.min_reader_version}, writer {self.min_writer_version}"
        return {
            "table": self.table,
            "mode": self.mode,
            "tracked": self.tracked,
            "has dropped or renamed": self._flag(),
            "protocol": versions,
            "features": features,
            "history": "whole" if self.history_from == 0 else f"from version {self.history_from}",
            "columns dropped or renamed": self._number_of_changes(),
        }

    def _flag(self) -> str | None:
        if not self.has_dropped_or_renamed:
            return None if self.has_dropped_or_renamed is None else "false"
        since = self.true_since
        if since is None:
            return "true, since a version that the log no longer tells of"
        known = {"": since.operation, "by ": since.user_name, "at ": since.timestamp}
        details = [f"{word}{value}" for word, value in known.items() if value is not None]
        return f"true since version {since.version}" + (f" ({', '.join(details)})" * bool(details))

    def _number_of_changes(self) -> str:
        number = len(self.dropped_or_renamed)
        return f"{number:,}, the newest {_SHOWN}:" if number > _SHOWN else f"{number:,}"

    def _changes(self) -> list[tuple[Any, ...]]:
        return [
            (
                change.version,
                change.timestamp,
                change.operation,
                change.user_name,
                change.change,
                change.old_name,
                change.new_name,
            )
            for change in self.dropped_or_renamed[-_SHOWN:]
        ]


def status_of(table: str, row: Row) -> ColumnMappingStatus:
    """What the row of `column_mapping_status` says of a table. Raises as `of_row`."""
    told = vars(of_row(StatusRow, row))
    features = {name: told[name] or () for name in ("reader_features", "writer_features")}
    return ColumnMappingStatus(**(told | features), table=table)
