# SPDX-License-Identifier: Apache-2.0
"""Without column mapping no column has an id or a physical name."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State
from spark_ext.model.column_mapping import field_metadata
from spark_ext.model.keys import COLUMN_ID, NESTED_COLUMN_IDS, PHYSICAL_NAME
from spark_ext.model.schema import quoted

_KEYS = frozenset({COLUMN_ID, PHYSICAL_NAME, NESTED_COLUMN_IDS})


def mapping_keys_left(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds columns with keys of column mapping where the mode is none, in the newest version.

    Source:
        Delta 4.4.0, RemoveColumnMappingCommand.scala, `updateMetadata`; docs/limits.md, "Column
        mapping switched off by half".

    Example:
        >>> [found.column for found in mapping_keys_left(*history(table({"a": "1 a"}, "none")))]
        ['a']
    """
    newest = states[-1]
    if newest.is_mapped:
        return
    for column in newest.columns:
        if not _KEYS.isdisjoint(field_metadata(column.field)):
            same = column.physical_path == column.path
            effect = (
                "some engines refuse the table, and Delta never switches column mapping on again"
                if same
                else f"files call it {quoted(column.physical_path)}, where nobody looks any more"
            )
            yield Finding(
                version=newest.version,
                check="mapping_keys_left",
                column=quoted(column.path),
                file=None,
                message=f"Column mapping is off and the column still has its keys: {effect}.",
                remedy=(
                    "Run INSERT OVERWRITE t SELECT * FROM t VERSION AS OF n, where n is the last"
                    " version with column mapping on, before anything else is changed."
                ),
            )
