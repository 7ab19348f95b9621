# SPDX-License-Identifier: Apache-2.0
"""Every live data file is Parquet."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import MISSING, TableLog
from spark_ext.log.replay import State


def file_unreadable(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds data files whose footer could not be read.

    Source:
        Protocol, "Data Files".

    Example:
        >>> from spark_ext.log.actions import FileGroup
        >>> broken = FileGroup("f", 1, 9, problem="it is cut short")
        >>> log, states = history(table({"a": ""}), files=(broken,))
        >>> [found.file for found in file_unreadable(log, states)]
        ['f']
    """
    for group in log.files or ():
        if group.problem is not None and group.problem != MISSING:
            yield Finding(
                version=log.last_version,
                check="file_unreadable",
                column=None,
                file=group.example,
                message=(
                    f"The footers of {group.num_files} file(s), such as this, cannot be read"
                    f" ({group.problem}): every query that needs them fails."
                ),
                remedy=(
                    "Bring the files back from a backup or the storage's own versions. Where there"
                    " is none, RESTORE the table to a version that did not need them."
                ),
            )
