# SPDX-License-Identifier: Apache-2.0
"""Finds the tables of a call that read files in the folders of other tables, as clones do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from spark_ext.lakehouse.erasure_results import TableErasure
from spark_ext.model.dropped import VACUUM, ErasureStep
from spark_ext.model.erasure import ColumnErasure

_SHOWN = 3


def with_readers(tables: Mapping[str, TableErasure]) -> dict[str, TableErasure]:
    """Returns the tables, each with the other tables that have live files in its folder.

    The step `VACUUM` of a table with readers says so, because `VACUUM` may delete their files.
    """
    readers = _readers(tables)
    return {
        name: _with_readers(table, tuple(sorted(readers[name]))) if name in readers else table
        for name, table in tables.items()
    }


def _readers(tables: Mapping[str, TableErasure]) -> dict[str, list[str]]:
    """Maps each table to the full names of its readers. A table without readers has no entry."""
    known = {name: table.erasure for name, table in tables.items() if table.erasure is not None}
    at: dict[PurePosixPath, list[str]] = {}
    for name, erasure in known.items():
        at.setdefault(_folder(erasure.location), []).append(name)
    found: dict[str, list[str]] = {}
    for reader, erasure in known.items():
        sources = map(_folder, erasure.sources)
        above = {each for source in sources for each in (source, *source.parents)}
        for name in {name for folder in above for name in at.get(folder, ()) if name != reader}:
            found.setdefault(name, []).append(tables[reader].table)
    return found


def _folder(location: str) -> PurePosixPath:
    """Returns a folder without its scheme, since s3 and s3a, for example, mean the same storage."""
    return PurePosixPath(location.partition(":")[2])


def _with_readers(table: TableErasure, readers: tuple[str, ...]) -> TableErasure:
    if table.erasure is None:
        return table
    names = ", ".join(readers[:_SHOWN])
    more = f" and {len(readers) - _SHOWN} more" if len(readers) > _SHOWN else ""
    first = f"First purge or rewrite each table that reads files in this folder: {names}{more}."
    return replace(table, erasure=_vacuum_later(table.erasure, first), read_by=readers)


def _vacuum_later(erasure: ColumnErasure, first: str) -> ColumnErasure:
    def later(step: ErasureStep) -> ErasureStep:
        is_vacuum = step.step == VACUUM
        return replace(step, statement=f"{first} Then: {step.statement}") if is_vacuum else step

    columns = (replace(column, steps=tuple(map(later, column.steps))) for column in erasure.columns)
    return replace(erasure, columns=tuple(columns))
