# SPDX-License-Identifier: Apache-2.0
"""Files have values for the table's partition columns, under their names in files."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import FileGroup, TableLog
from spark_ext.log.replay import State
from spark_ext.model.schema import lower


def partition_values(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds `partitionValues` whose keys are not the partition columns' names in files.

    Source:
        Protocol, "Writer Requirements for Column Mapping": "use the physical name in partition
        values".

    Example:
        >>> from spark_ext.log.actions import FileGroup
        >>> one = (table({"a": "1 col-a"}, "name", "true"), {"partitions": ("a",)})
        >>> log, states = history(one, files=(FileGroup("f", 1, 9, partition_columns=("a",)),))
        >>> [found.file for found in partition_values(log, states)]
        ['f']
    """
    newest = states[-1]
    if newest.metadata.schema is None:
        return
    expected = _expected(newest)
    found: dict[frozenset[str], list[FileGroup]] = {}
    for group in log.files or ():
        keys = frozenset(lower(group.partition_columns))
        if keys not in expected:
            found.setdefault(keys, []).append(group)
    for groups in found.values():
        keys_text = ", ".join(groups[0].partition_columns) or "none"
        yield Finding(
            version=log.last_version,
            check="partition_values",
            column=None,
            file=groups[0].example,
            message=(
                f"{sum(group.num_files for group in groups)} file(s), such as this, have partition"
                f" values for {keys_text}, and the table's partition columns are called"
                f" {', '.join(sorted(expected[0])) or 'nothing'} in files: readers see nulls"
                " there, or skip rows."
            ),
            remedy="RESTORE the table to the version before, and write the rows again with Delta.",
        )


def _expected(state: State) -> tuple[frozenset[str], ...]:
    partitions = set(lower(state.metadata.partition_columns))
    columns = [column for column in state.columns if column.path[0].lower() in partitions]
    columns = [column for column in columns if len(column.path) == 1]
    in_files = frozenset(state.name_in_files(column)[0] for column in columns)
    # Keys that were left under mode none are a finding of their own, and Delta goes by them here.
    return in_files, frozenset(column.physical_path[0].lower() for column in columns)
