# SPDX-License-Identifier: Apache-2.0
"""The status of a table's column mapping and usage tracking, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_ext.model.keys import MODE_NONE
from spark_ext.model.status import StatusRow
from spark_ext.show.states import CARE, GOOD, Coloured
from spark_ext.show.tables import Facts, Lines, Part, Rendered, Table
from spark_ext.wire.rows import of_row

if TYPE_CHECKING:
    from pyspark.sql import Row

# A table may have thousands of changes; only the newest are shown.
_SHOWN = 20
_NEXT = (
    "UsageTracking.align_names(dry_run=True)",
    "UsageTracking.remove_column_mapping(dry_run=True)",
)
_CHANGES = ("version", "timestamp", "operation", "user", "change", "old name", "new name")


@dataclass(frozen=True, repr=False)
class ColumnMappingStatus(Rendered, StatusRow):
    """The status of a table, and the changes that led to it.

    Args:
        table: The full name of the table.
        mode: The column mapping mode: `none`, `name` or `id`.
        tracked: Whether the table has the feature `columnMappingUsageTracking`.
        has_dropped_or_renamed: The flag; None for an untracked table. A flag that is missing or
            not a boolean counts as true.
        true_since: The commit that made the flag true; None if the flag is not true, or if the log
            no longer has that commit (`history_from`).
        min_reader_version: The reader version of the protocol.
        min_writer_version: The writer version of the protocol.
        reader_features: Empty below reader version 3.
        writer_features: Empty below writer version 7.
        dropped_or_renamed: The drops and renames of columns, oldest first, tracked or not.
        history_from: The oldest version in the log, from 0; earlier changes are unknown.
    """

    table: str
    reader_features: tuple[str, ...]
    writer_features: tuple[str, ...]

    def _parts(self) -> Iterator[Part]:
        yield Facts(self._facts())
        if self.dropped_or_renamed:
            yield Table(_CHANGES, self._changes(), "Columns that were dropped or renamed")
        if self.mode != MODE_NONE and self.has_dropped_or_renamed is not False:
            yield Lines("Next, see the cost of readable names, or of the removal:", _NEXT)

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
            return None if self.has_dropped_or_renamed is None else Coloured("false", GOOD)
        since = self.true_since
        if since is None:
            return Coloured("true, since a version that the log no longer has", CARE)
        known = {"": since.operation, "by ": since.user_name, "at ": since.timestamp}
        details = [f"{word}{value}" for word, value in known.items() if value is not None]
        more = f" ({', '.join(details)})" * bool(details)
        return Coloured(f"true since version {since.version}{more}", CARE)

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
    """Returns the status in the row of `column_mapping_status`. Raises as `of_row`."""
    values = vars(of_row(StatusRow, row))
    features = {name: values[name] or () for name in ("reader_features", "writer_features")}
    return ColumnMappingStatus(**(values | features), table=table)
