# SPDX-License-Identifier: Apache-2.0
"""Assertions about every table's log, in any order of writers, and about the rows of its files.

Reads files only, shares nothing with spark_ext. For tables of top-level columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet

from tests.support.table_log import TableLog, is_uuid_name

Row = dict[str, Any]


def assert_sound(path: Path) -> None:
    """The invariants of the log and of the tracked table, from the first version to the last."""
    entries = sorted((path / "_delta_log").glob("*.json"))
    assert [int(entry.stem) for entry in entries] == list(range(len(entries)))
    versions = [TableLog(path, version) for version in range(len(entries))]
    for log in versions:
        _assert_sound_version(log)
    for before, after in pairwise(versions):
        _assert_sound_change(before, after)
    for file in versions[-1].live_files:
        assert _local(path, file).is_file()


def _assert_sound_version(log: TableLog) -> None:
    assert len(log.actions("commitInfo")) == 1
    assert len(log.actions("metaData")) <= 1
    assert len(log.actions("protocol")) <= 1
    if log.is_tracked:
        assert log.flag in ("true", "false")
    if is_mapped(log):
        names = {name.lower() for name in log.physical_names.values() if name}
        assert len(set(log.ids.values())) == len(names) == len(log.fields)
        assert max(log.ids.values()) <= log.max_column_id
    else:
        assert set(log.ids.values()) == set(log.physical_names.values()) == {None}


def _assert_sound_change(before: TableLog, after: TableLog) -> None:
    if before.is_tracked and not after.is_tracked:
        assert after.operation == "DROP FEATURE"
    if not (before.is_tracked and after.is_tracked):
        return
    assert (before.flag, after.flag) != ("true", "false")
    if not (is_mapped(before) and is_mapped(after)):
        return
    assert after.max_column_id >= before.max_column_id
    old = {identity: name for name, identity in before.ids.items()}
    new = {identity: name for name, identity in after.ids.items()}
    if not old.items() <= new.items():
        assert after.flag == "true"
    for identity in old.keys() & new.keys():
        physical = before.physical_names[old[identity]]
        assert after.physical_names[new[identity]] == physical
    for identity in new.keys() - old.keys():
        name = new[identity]
        if after.flag == "false":
            assert after.physical_names[name] == name
        elif after.operation not in ("RESTORE", "CLONE"):
            assert is_uuid_name(after.physical_names[name])


def is_mapped(log: TableLog) -> bool:
    return log.configuration.get("delta.columnMapping.mode", "none") != "none"


def rows_in_files(log: TableLog) -> list[Row]:
    """The rows by logical names, nulls left out, as the schema and the Parquet files have them."""
    physical = {name: physical or name for name, physical in log.physical_names.items()}
    rows = []
    for file in log.live_files:
        for row in pyarrow.parquet.read_table(_local(log.path, file)).to_pylist():
            found = {name: row.get(stored) for name, stored in physical.items()}
            rows.append(_without_nulls(found))
    return in_order(rows)


def rows_in_table(rows: Iterable[Any]) -> list[Row]:
    """The rows that Spark collected, in the same form."""
    return in_order(_without_nulls(row.asDict()) for row in rows)


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: sorted(row.items(), key=repr).__repr__())


def _without_nulls(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


def _local(table: Path, file: str) -> Path:
    # A shallow clone names the files of its source.
    return table / unquote(file).removeprefix("file://").removeprefix("file:")
