# SPDX-License-Identifier: Apache-2.0
"""Folders `name=value` are called as a column is, or was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from spark_ext.auditing.findings import RISK, Finding
from spark_ext.log.actions import FileGroup, TableLog
from spark_ext.log.replay import State

_ELSEWHERE = re.compile(r"/|[a-zA-Z][\w+.-]*:")


def partition_folders(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds folders under a name that no column ever had, itself or in files.

    A file that was kept stays where it is, whatever happened to its columns. What was before the
    log's oldest version is not known, and files of another table, as in a CLONE, are where that
    put them.

    Source:
        Protocol, "Writer Requirements for Column Mapping"; Delta itself never looks at folders.

    Example:
        >>> from spark_ext.log.actions import FileGroup
        >>> log, states = history(table({"a": ""}), files=(FileGroup("x=1/f", 1, 9,
        ...     folders=("x",)),))
        >>> [found.file for found in partition_folders(log, states)]
        ['x=1/f']
    """
    # A state that only a checkpoint has lacks an operation.
    if any(state.operation in (None, "CLONE") for state in states):
        return
    names = {
        path[0].lower()
        for state in states
        for column in state.columns
        for path in (column.path, column.physical_path)
    }
    found: dict[str, list[FileGroup]] = {}
    for group in log.files or ():
        for folder in () if _ELSEWHERE.match(group.example) else group.folders:
            if not names & _readings(folder):
                found.setdefault(folder, []).append(group)
    for folder, groups in found.items():
        yield Finding(
            version=log.last_version,
            check="partition_folders",
            column=None,
            file=groups[0].example,
            message=(
                f"{sum(group.num_files for group in groups)} file(s), such as this, are in a"
                f" folder `{folder}=..`, and no column has that name: who finds partitions by"
                " folders, as Hive does, sees a column that the table has not."
            ),
            remedy="Nothing for Delta. For others, write the rows again: INSERT OVERWRITE.",
            severity=RISK,
        )


def _readings(folder: str) -> set[str]:
    """A path in the log is URL-encoded, and a partition's folder escaped once more."""
    once = unquote(folder)
    return {folder.lower(), once.lower(), unquote(once).lower()}
