# SPDX-License-Identifier: Apache-2.0
"""Every line of a commit is whole."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State


def commit_torn(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds commits whose last line is no JSON; the other checks go by the lines before it.

    Source:
        Protocol, "Delta Log Entries": "newline-delimited JSON"; Delta 4.4.0, DeltaLog.scala,
        `jsonCommitParseOption`: one that is not ends every read.

    Example:
        >>> log, states = history(table({"a": ""}))
        >>> torn = replace(log, torn_commits=("00000000000000000000.json",))
        >>> [(found.version, found.file) for found in commit_torn(torn, states)]
        [(0, '00000000000000000000.json')]
    """
    for file in log.torn_commits:
        version = int(file.partition(".")[0])
        yield Finding(
            version=version,
            check="commit_torn",
            column=None,
            file=file,
            message=(
                "The commit ends with half a line, as a writer leaves it that died, on a storage"
                " that does not write files whole. Delta reads neither this version nor a later"
                " one, unless it starts at a later checkpoint."
            ),
            remedy=(
                "Bring the file back from a backup or the storage's own versions. Where there is"
                " none and this is the newest version, nobody has read it: move the file out of"
                " `_delta_log`, and write its rows again."
            ),
        )
