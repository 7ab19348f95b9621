# SPDX-License-Identifier: Apache-2.0
"""Every live data file is there, and so is its deletion vector."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import BRING_BACK, Finding
from spark_ext.log.actions import MISSING, TableLog
from spark_ext.log.replay import State


def file_missing(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds data files and deletion vectors that the newest version names and that are not there.

    Source:
        Protocol, "Add File and Remove File", "Deletion Vectors".

    Example:
        >>> from spark_ext.log.actions import FileGroup
        >>> gone = FileGroup("f", 1, 9, problem="missing")
        >>> log, states = history(table({"a": ""}), files=(gone,))
        >>> [found.file for found in file_missing(log, states)]
        ['f']
        >>> gone = FileGroup("f", 1, 9, vector="v.bin", vector_problem="missing")
        >>> log, states = history(table({"a": ""}), files=(gone,))
        >>> [found.file for found in file_missing(log, states)]
        ['v.bin']
    """
    for group in log.files or ():
        if group.problem == MISSING:
            yield Finding(
                version=log.last_version,
                check="file_missing",
                column=None,
                file=group.example,
                message=(
                    f"{group.num_files} file(s) of the table, such as this, are not there: every"
                    " query that needs them fails, and their rows are lost."
                ),
                remedy=BRING_BACK,
            )
        if group.vector_problem == MISSING:
            yield Finding(
                version=log.last_version,
                check="file_missing",
                column=None,
                file=group.vector,
                message=(
                    f"The deletion vectors of {group.num_files} file(s) of the table, such as this"
                    f" of {group.example}, do not exist: every query that needs these files fails."
                ),
                remedy=BRING_BACK,
            )
