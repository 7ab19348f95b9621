# SPDX-License-Identifier: Apache-2.0
"""Reads what earlier certificates found, so that a new certificate continues them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spark_ext.model.erasure import IN_SCHEMA, ColumnErasure


@dataclass(frozen=True)
class EarlierColumn:
    """A column that an earlier certificate found.

    Args:
        path: The last path, quoted for SQL. Columns that only files had are omitted.
        former_paths: The earlier paths.
        physical_path: The path in data files, quoted for SQL.
        id: The column id; None if the column has none.
        version: The version that dropped the column, or the version of a name in the log; None if
            neither is known.
        live: Whether a schema had the column, and no version is known to have dropped it.
    """

    path: str | None
    former_paths: tuple[str, ...]
    physical_path: str | None
    id: int | None
    version: int | None
    live: bool = False

    def drops(self, other: EarlierColumn) -> bool:
        """Returns whether this dropped column is the same column as an earlier one."""
        if other.physical_path is None and other.live:  # in a schema older than the known history
            return False
        # After column mapping was removed, a column of the same name has no id.
        if self.physical_path is not None and other.id is not None and self.id != other.id:
            return False
        if self.physical_path is None or other.physical_path is None:
            return self.path == other.path
        return self.physical_path == other.physical_path


@dataclass(frozen=True)
class EarlierFinding:
    """Contains what earlier certificates found in the same table.

    Args:
        time: The time of the newest certificate with a column, in UTC.
        version: The lowest version of the table in these certificates.
        columns: The columns with the name, those of the newest certificate first.
    """

    time: str
    version: int
    columns: tuple[EarlierColumn, ...]

    @property
    def only_live(self) -> tuple[EarlierColumn, ...]:
        """Returns the columns that no newer certificate found as dropped. They may be renamed."""
        return tuple(
            each
            for number, each in enumerate(self.columns)
            if each.live
            and not any(newer.drops(each) for newer in self.columns[:number] if not newer.live)
        )


@dataclass(frozen=True)
class EarlierCertificate:
    """Contains what an earlier certificate, or one before it, found in each table.

    Args:
        entries: The tables as objects of its JSON, each with the time of its certificate.
    """

    entries: tuple[Mapping[str, Any], ...] = ()

    @cached_property
    def findings(self) -> Mapping[str, EarlierFinding]:
        """Maps the id of each table with a column to its finding."""
        found: dict[str, EarlierFinding] = {}
        for entry in self.entries:
            erasure = entry["erasure"]
            columns = () if erasure is None else tuple(_columns(entry))
            if columns:
                table_id, version = erasure["tableId"], erasure["version"]
                known = found.get(table_id, EarlierFinding(entry["time"], version, ()))
                columns = tuple(dict.fromkeys((*known.columns, *columns)))
                # The entry may continue a finding of a lower version.
                before = (entry["earlier"] or {}).get("version", version)
                version = min(known.version, version, before)
                found[table_id] = EarlierFinding(known.time, version, columns)
        return found

    def require_values(self) -> None:
        """Raises a KeyError, or another error, if the entries lack a value that is read later."""
        _ = self.findings, self.not_replaced_by({})

    def of(self, table_id: str | None) -> EarlierFinding | None:
        """Returns the finding for the table with an id; None if there is none."""
        return None if table_id is None else self.findings.get(table_id)

    def not_replaced_by(
        self, tables: Mapping[str, ColumnErasure | None]
    ) -> tuple[Mapping[str, Any], ...]:
        """Returns the entries whose id and location no table of a new report has.

        An entry of a table that was not read has no id, and is compared by name.

        Args:
            tables: The new findings by the name of the table; None for a table without an answer.
        """
        places = {
            (found.table_id, found.location) for found in tables.values() if found is not None
        }
        return tuple(
            entry
            for entry in self.entries
            if (
                entry["table"] not in tables
                if entry["erasure"] is None
                else (entry["erasure"]["tableId"], entry["erasure"]["location"]) not in places
            )
        )


def _columns(table: Mapping[str, Any]) -> Iterator[EarlierColumn]:
    """Yields the columns that had the name, also those of certificates before."""
    erasure, earlier = table["erasure"], table["earlier"]
    # A dropped column with the physical path of a live one is older than the live one.
    known = [{**column, "live": True} for column in erasure["liveColumns"]]
    known += [column for column in erasure["columns"] if column["path"] is not None]
    known += [
        {"path": name["path"], "version": name["version"], "live": name["source"] == IN_SCHEMA}
        for name in erasure["namesInLog"]
    ]
    known += [] if earlier is None else earlier["columns"]
    yield from dict.fromkeys(
        EarlierColumn(
            column["path"],
            tuple(column.get("formerPaths", ())),
            column.get("physicalPath"),
            column.get("id"),
            column.get("version"),
            column.get("live", False),
        )
        for column in known
    )
