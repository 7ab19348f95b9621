# SPDX-License-Identifier: Apache-2.0
"""Checks of the newest metadata and protocol: the schema, the mode and the features."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.check import UNREADABLE, WRONG_ROWS, Problem, check, state_check
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State
from spark_ext.model.column_mapping import (
    SUPPORTED_MODES,
    Column,
    field_metadata,
    satisfy_column_mapping_protocol,
)
from spark_ext.model.keys import (
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    FEATURE_NAME,
    NESTED_COLUMN_IDS,
    PHYSICAL_NAME,
)
from spark_ext.model.schema import quoted

_KEYS = frozenset({COLUMN_ID, PHYSICAL_NAME, NESTED_COLUMN_IDS})
_RESTORE = "RESTORE the table to the last version before this one."
# A protocol of this version or a later one lists its features.
_LISTING_WRITER = 7


@state_check(UNREADABLE + 15, remedy=_RESTORE)
def unreadable_schema(state: State) -> str | None:
    """Finds a `schemaString` that is not a schema; no other check sees the columns then.

    Source:
        Protocol, "Schema Serialization Format".

    Example:
        >>> from spark_ext.model.metadata import TableMetadata
        >>> unreadable_schema(history(TableMetadata(None))[1][0])
        '`schemaString` is not a schema. No reader can open the table.'
    """
    if state.metadata.schema is not None:
        return None
    return "`schemaString` is not a schema. No reader can open the table."


@state_check(UNREADABLE + 20, remedy=_RESTORE)
def unknown_mode(state: State) -> str | None:
    """Finds a column mapping mode that Delta does not know, in any letter case.

    Source:
        Protocol, "Column Mapping"; Delta 4.4.0, DeltaColumnMapping.scala,
        `DeltaColumnMappingMode.apply`.

    Example:
        >>> unknown_mode(history(table({"a": "1 a"}, "nome"))[1][0])
        "`delta.columnMapping.mode` is 'nome', not one of none, name, id. Delta refuses the table."
    """
    if state.mode in SUPPORTED_MODES:
        return None
    return (
        f"`{COLUMN_MAPPING_MODE}` is {state.mode!r}, not one of {', '.join(SUPPORTED_MODES)}."
        " Delta refuses the table."
    )


@check(WRONG_ROWS + 35)
def mapping_keys_remain(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds columns with an id or a physical name in the newest version, if the mode is none.

    Source:
        Delta 4.4.0, RemoveColumnMappingCommand.scala, `updateMetadata`; docs/limits.md, "Column
        mapping only partly removed".

    Example:
        >>> [found.column for found in mapping_keys_remain(*history(table({"a": "1 a"}, "none")))]
        [('a',)]
    """
    newest = states[-1]
    for column in () if newest.is_mapped else newest.columns:
        if _KEYS.isdisjoint(field_metadata(column.field)):
            continue
        if column.physical_path == column.path:
            effect = "Some engines refuse the table, and Delta never enables column mapping again."
        else:
            effect = (
                f"Files call the column {quoted(column.physical_path)}, and no reader looks for"
                " that name any more."
            )
        yield Problem(
            version=newest.version,
            column=column.path,
            message=(
                "Column mapping is off, and the column still has an id or a physical name."
                f" {effect}"
            ),
            remedy=(
                "Run INSERT OVERWRITE t SELECT * FROM t VERSION AS OF n, where n is the last"
                " version with column mapping, before any other change."
            ),
        )


@check(WRONG_ROWS + 40)
def column_without_mapping(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds columns of a mapped table without an id or a physical name, in the newest version.

    Source:
        Protocol, "Writer Requirements for Column Mapping".

    Example:
        >>> one = table({"a": "1 a", "b": ""}, "name", "false")
        >>> [found.column for found in column_without_mapping(*history(one))]
        [('b',)]
    """
    newest = states[-1]
    for column in newest.columns if newest.is_mapped else ():
        missing = " and no ".join(_missing_keys(column))
        if missing:
            yield Problem(
                version=newest.version,
                column=column.path,
                message=(
                    f"Column mapping is on, and the column has no {missing}. Readers and writers"
                    " refuse the table, or read the column as null."
                ),
                remedy="RESTORE the table to the last version in which the column has both.",
            )


@state_check(
    WRONG_ROWS + 45,
    remedy=(
        "Add the features with ALTER TABLE .. SET TBLPROPERTIES ('delta.feature.<name>' ="
        " 'supported'), or RESTORE the table to the version before."
    ),
)
def protocol_too_low(state: State) -> str | None:
    """Finds column mapping, or the tracking feature, under a protocol that does not allow it.

    Source:
        Protocol, "Column Mapping" and "Table Features"; RFC, "Writer Requirements for Usage
        Tracking": "writer version 7".

    Example:
        >>> _, (state,) = history((table({"a": "1 a"}, "name"), {"versions": (1, 2)}))
        >>> protocol_too_low(state)
        '`delta.columnMapping.mode` is name, and the protocol (reader 1, writer 2) does not ...'
    """
    protocol = state.protocol
    versions = f"reader {protocol.min_reader_version}, writer {protocol.min_writer_version}"
    if state.is_mapped and not satisfy_column_mapping_protocol(protocol):
        mode = f"`{COLUMN_MAPPING_MODE}` is {state.mode}"
        problem = f"{mode}, and the protocol ({versions}) does not allow column mapping"
    elif state.is_tracked and protocol.min_writer_version < _LISTING_WRITER:
        problem = f"The protocol ({versions}) lists `{FEATURE_NAME}`, which needs writer 7"
    else:
        return None
    return (
        f"{problem}. Readers and writers without the feature open the table, and read nulls or"
        " write files under wrong names."
    )


def _missing_keys(column: Column) -> list[str]:
    has_id = isinstance(column.id, int) and not isinstance(column.id, bool)
    present = {"column id": has_id, "physical name": column.has_physical_name}
    return [key for key, is_present in present.items() if not is_present]
