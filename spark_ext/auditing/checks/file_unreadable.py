# SPDX-License-Identifier: Apache-2.0
"""Every live data file is Parquet, and its deletion vector is what the log says."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import BRING_BACK, Finding
from spark_ext.log.actions import MISSING, TableLog
from spark_ext.log.replay import State


def file_unreadable(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds data files whose footer could not be read, and deletion vectors that are broken.

    A vector is broken if its length or its checksum is not what the log and its file say.

    Source:
        Protocol, "Data Files", "Deletion Vector File Storage Format".

    Example:
        >>> from spark_ext.log.actions import FileGroup
        >>> broken = FileGroup("f", 1, 9, problem="it is cut short")
        >>> log, states = history(table({"a": ""}), files=(broken,))
        >>> [found.file for found in file_unreadable(log, states)]
        ['f']
        >>> broken = FileGroup("f", 1, 9, vector="v.bin", vector_problem="it is cut short")
        >>> log, states = history(table({"a": ""}), files=(broken,))
        >>> [found.file for found in file_unreadable(log, states)]
        ['v.bin']
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
                remedy=BRING_BACK,
            )
        if group.vector_problem is not None and group.vector_problem != MISSING:
            yield Finding(
                version=log.last_version,
                check="file_unreadable",
                column=None,
                file=group.vector,
                message=(
                    f"The deletion vectors of {group.num_files} file(s), such as this of"
                    f" {group.example}, cannot be read ({group.vector_problem}): every query that"
                    " needs these files fails."
                ),
                remedy=BRING_BACK,
            )
