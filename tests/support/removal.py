# SPDX-License-Identifier: Apache-2.0
"""Removes column mapping, also by Delta's own rewrite, and reads the commit of the removal."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow.parquet

from tests.support import vectors
from tests.support.delta_table import NONE_MODE as NONE_MODE
from tests.support.delta_table import Table
from tests.support.session_conf import session_conf
from tests.support.table_files import live as live
from tests.support.table_log import TableLog
from tests.support.table_log import local as local

SETTING = "spark.sparkext.columnMapping.removal"
PURGE_SETTING = "spark.sparkext.columnMapping.purge"
OPERATION = "REMOVE COLUMN MAPPING"
REPLACES_FILES = (OPERATION, "REORG")
COPY = re.compile(r"part-\d{5}-[0-9a-f-]{36}-\d+\.")

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
RANDOM = "delta.randomizeFilePrefixes"
CHANGING = {"path", "size", "modificationTime", "partitionValues", "stats", "dataChange"}
"""The keys of an action that may differ for a copy."""

Action = dict[str, Any]


def unmap(table: Table) -> TableLog:
    """Removes column mapping, and returns the log."""
    with table.one_commit():
        table.remove_mapping()
    log = table.log
    assert log.operation == OPERATION
    assert_checksum_holds(log)
    return log


def removal_of(log: TableLog) -> TableLog:
    """Returns the log at its newest removal. DROP FEATURE makes more commits afterwards."""
    newest = range(log.version, -1, -1)
    return log.at(next(version for version in newest if log.at(version).operation == OPERATION))


def assert_checksum_holds(log: TableLog) -> None:
    """Asserts that the checksum file of the version agrees with the live files."""
    numbers = json.loads((log.path / "_delta_log" / f"{log.version:020}.crc").read_text())
    assert numbers["numFiles"] == len(live(log))
    assert numbers["tableSizeBytes"] == sum(add["size"] for add in live(log).values())


def insert_one_file(table: Table, values: str) -> None:
    """Inserts rows as one file; `Table.insert` may write a file for each row."""
    table.spark.sql(f"INSERT INTO {table.name} SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")


def with_inline_vectors(table: Table) -> list[Action]:
    """Moves each deletion vector into the log, and returns the new descriptors."""
    made = []
    for path, add in live(table.log).items():
        if "deletionVector" in add:
            stored = add["deletionVector"]
            found = vectors.read(vectors.file_of(table.path, stored), stored["offset"])
            inline = {
                "storageType": "i",
                "pathOrInlineDv": vectors.to_z85(found.bitmap),
                "sizeInBytes": found.size,
                "cardinality": stored["cardinality"],
            }
            remove = {"path": path, "deletionTimestamp": 1, "dataChange": False}
            table.log.append_foreign(
                {"remove": {**remove, "deletionVector": stored}},
                {"add": {**add, "deletionVector": inline, "dataChange": False}},
            )
            made.append(inline)
    return made


def by_delta(table: Table, remove: Callable[[Table], object] = unmap) -> Table:
    """Returns a copy of the table from which Delta's own rewrite removed column mapping."""
    twin = Table(table.spark, table.path.with_name(f"{table.path.name}-by-delta"))
    shutil.copytree(table.path, twin.path)
    with setting(table, "rewrite"):
        remove(twin)
    return twin


def setting(table: Table, value: str) -> AbstractContextManager[None]:
    """Sets how the session removes column mapping until the body ends."""
    return session_conf(table.spark, {SETTING: value})


def metrics(log: TableLog) -> dict[str, int]:
    """Returns the operation metrics of the commit as numbers."""
    found = log.actions("commitInfo")[0]["operationMetrics"]
    assert all(isinstance(value, str) for value in found.values())
    return {name: int(value) for name, value in found.items()}


def counts(log: TableLog) -> tuple[int, int, int]:
    """Returns the numbers of kept, copied and rewritten files, and asserts that the metrics fit."""
    numbers = metrics(log)
    kept, copied, rewritten = (
        numbers[f"num{kind}Files"] for kind in ("Kept", "Copied", "Rewritten")
    )
    before = {path: add["size"] for path, add in live(log.at(log.version - 1)).items()}
    removed = {action["path"] for action in log.actions("remove")}
    assert removed <= before.keys()
    assert len(before) == kept + copied + rewritten
    assert len(removed) == copied + rewritten
    assert numbers["numRemovedBytes"] == sum(before[path] for path in removed)
    new = [action for action in log.actions("add") if action["path"] not in before]
    assert numbers["numOutputBytes"] == sum(action["size"] for action in new)
    assert numbers["numCopiedBytes"] + numbers["numRewrittenBytes"] == numbers["numRemovedBytes"]
    assert numbers["numKeptBytes"] == sum(before.values()) - numbers["numRemovedBytes"]
    return kept, copied, rewritten


def files_of(log: TableLog) -> str:
    """Returns the numbers of kept, copied and rewritten files of a removal or a purge.

    Returns `none` if the commit has metadata alone, and `delta` if Delta's removal replaced all
    files. Asserts that the metrics fit, and that copies have all that their sources have.
    """
    before, removed = live(log.at(log.version - 1)), log.actions("remove")
    if copied(log) == len(removed):
        assert_copies_are_alike(log)
    if log.operation != OPERATION:
        return f"{len(before) - len(removed)} {copied(log)} {len(removed) - copied(log)}"
    numbers = metrics(log)
    if "numCopiedFiles" not in numbers:
        assert {action["path"] for action in removed} == before.keys()
        return "delta"
    if before and not any(numbers.values()):
        assert log.actions("add") == removed == []
        return "none"
    return "{} {} {}".format(*counts(log))


def assert_copies_are_alike(log: TableLog) -> None:
    """Asserts that copies are in the folders of their partition values and keep everything else."""
    for old, new in pairs(log):
        kept = (old.keys() | new.keys()) - CHANGING
        if old.get("deletionVector", {}).get("storageType") == "p":  # copied from another table
            kept -= {"deletionVector"}
        for key in kept:
            assert (old.get(key) or None) == (new.get(key) or None), key
        assert not re.match("/|[a-z]+:/", new["path"])  # the table can be moved
        values = {name: value or HIVE_NULL for name, value in new["partitionValues"].items()}
        is_odd = any("\0" in value or len(value.encode()) > 100 for value in values.values())
        if log.operation == OPERATION and not is_odd and RANDOM not in log.configuration:
            folders = [unquote(folder) for folder in unquote(new["path"]).split("/")[:-1]]
            assert folders == [
                f"{name}={values[name]}" for name in log.metadata["partitionColumns"]
            ]


def add_again(table: Table, **changes: object) -> None:
    """Commits a changed action of the newest file, as another engine may. None removes a key."""
    *_, last = newest_adds(table.log).values()
    add = {**last, "dataChange": False, **changes}
    table.log.append_foreign({"add": {key: each for key, each in add.items() if each is not None}})


def add_foreign_file(table: Table, columns: dict[str, list[Any]]) -> None:
    """Adds a file of pyarrow without statistics and field ids."""
    path = table.path / f"foreign {table.log.version}.parquet"
    fields = {
        name: pyarrow.array(values, None if str in map(type, values) else pyarrow.int32())
        for name, values in columns.items()
    }
    pyarrow.parquet.write_table(pyarrow.table(fields), path)
    add = {"path": quote(path.name), "size": path.stat().st_size, "modificationTime": 0}
    table.log.append_foreign({"add": {**add, "partitionValues": {}, "dataChange": True}})


def copied(log: TableLog) -> int:
    """Counts the copies among the files that a commit added."""
    return sum(COPY.search(add["path"]) is not None for add in log.actions("add"))


def pairs(log: TableLog) -> list[tuple[Action, Action]]:
    """Returns pairs of the `add` of each copied file and the `add` of its copy."""
    before = live(log.at(log.version - 1))
    removed = [before[action["path"]] for action in log.actions("remove")]
    new = [action for action in log.actions("add") if action["path"] not in before]
    return list(zip(removed, new, strict=True))


def newest_adds(log: TableLog) -> dict[str, Action]:
    """Returns the last `add` of each path in the log."""
    return {
        action["add"]["path"]: action["add"]
        for commit in log.commits
        for action in commit
        if "add" in action
    }


def data_files(table: Path) -> set[Path]:
    """Returns all files of the table's folder except the log."""
    return {file for file in table.rglob("*") if file.is_file() and "_delta_log" not in file.parts}


@contextmanager
def untouched(table: Table) -> Iterator[None]:
    """Asserts that the body makes no commit and changes no file."""
    before = {file: file.read_bytes() for file in data_files(table.path)}
    with table.no_commit():
        yield
    assert {file: file.read_bytes() for file in data_files(table.path)} == before
