# SPDX-License-Identifier: Apache-2.0
"""The column mapping mode is one of Delta's."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State, since
from spark_ext.model.keys import COLUMN_MAPPING_MODE, MODE_ID, MODE_NAME, MODE_NONE

_MODES = (MODE_NONE, MODE_NAME, MODE_ID)


def unknown_mode(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds a mode that is none of them, in any letter case.

    Source:
        Protocol, "Column Mapping"; Delta 4.4.0, DeltaColumnMapping.scala,
        `DeltaColumnMappingMode.apply`.

    Example:
        >>> [found.version for found in unknown_mode(*history(table({"a": "1 a"}, "nome")))]
        [0]
    """
    version = since(states, lambda state: state.mode not in _MODES)
    if version is not None:
        yield Finding(
            version=version,
            check="unknown_mode",
            column=None,
            file=None,
            message=(
                f"`{COLUMN_MAPPING_MODE}` is {states[-1].mode!r}, none of {', '.join(_MODES)}:"
                " Delta refuses the table."
            ),
            remedy="RESTORE the table to the last version before this one.",
        )
