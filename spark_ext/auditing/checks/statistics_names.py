# SPDX-License-Identifier: Apache-2.0
"""Statistics stand under the names that columns have in files."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import FileGroup, TableLog
from spark_ext.log.known_names import KnownNames
from spark_ext.log.replay import State
from spark_ext.model.schema import Path, lower, quoted


def statistics_names(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds statistics of a column that the table has not, and did not drop.

    What may have been dropped, `file_columns` says, which also finds columns that the file
    itself holds. Of a struct only the topmost column is found.

    Source:
        Protocol, "Writer Requirements for Column Mapping": "Track column level statistics ... with
        the physical name".

    Example:
        >>> from spark_ext.log.actions import FileGroup
        >>> log, states = history(table({"a": ""}), files=(FileGroup("f", 1, 9,
        ...     statistics=(("x",),)),))
        >>> [(found.file, found.column) for found in statistics_names(log, states)]
        [('f', 'x')]
    """
    if states[-1].metadata.schema is None:
        return
    known = KnownNames(states)
    found: dict[Path, list[FileGroup]] = {}
    for group in log.files or ():
        held = {lower(column.path) for column in group.columns or ()}
        unknown = {_unknown_part(path, known) for path in group.statistics}
        for path in unknown:
            if path is not None and lower(path) not in held:
                found.setdefault(path, []).append(group)
    for path, groups in sorted(found.items()):
        yield Finding(
            version=log.last_version,
            check="statistics_names",
            column=quoted(path),
            file=groups[0].example,
            message=(
                f"{sum(group.num_files for group in groups)} file(s), such as this, have statistics"
                " of this column, which neither is nor was one of the table's: queries skip no"
                " file by them, and may skip wrong ones once a column has that name."
            ),
            remedy="Write the rows again with Delta: INSERT OVERWRITE t SELECT * FROM t.",
        )


def _unknown_part(path: Path, known: KnownNames) -> Path | None:
    """The topmost part of a path that is not accounted for."""
    parts = (path[:length] for length in range(1, len(path) + 1))
    return next((part for part in parts if not known.is_accounted_for(part)), None)
