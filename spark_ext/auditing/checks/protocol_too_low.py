# SPDX-License-Identifier: Apache-2.0
"""The protocol lists what the metadata uses, at versions that can list it."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State, since
from spark_ext.model.keys import COLUMN_MAPPING_FEATURE, COLUMN_MAPPING_MODE, FEATURE_NAME
from spark_ext.model.metadata import Protocol

_LISTING_READER, _LISTING_WRITER = 3, 7
# The versions that have column mapping without naming it.
_MAPPING_READER, _MAPPING_WRITER = 2, 5


def protocol_too_low(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds column mapping, or the tracking feature, under a protocol that does not allow it.

    Source:
        Protocol, "Column Mapping" and "Table Features"; RFC, "Writer Requirements for Usage
        Tracking": "writer version 7".

    Example:
        >>> one = table({"a": "1 a"}, "name")
        >>> [found.version for found in protocol_too_low(*history((one, {"versions": (1, 2)})))]
        [0]
    """
    version = since(states, lambda state: bool(_problem(state)))
    if version is not None:
        yield Finding(
            version=version,
            check="protocol_too_low",
            column=None,
            file=None,
            message=(
                f"{_problem(states[-1])}: readers and writers that do not know it take part, and"
                " read nulls or write files under wrong names."
            ),
            remedy=(
                "Add the features with ALTER TABLE .. SET TBLPROPERTIES ('delta.feature.<name>' ="
                " 'supported'), or RESTORE the table to the version before."
            ),
        )


def _problem(state: State) -> str:
    protocol = state.protocol
    versions = f"reader {protocol.min_reader_version}, writer {protocol.min_writer_version}"
    if state.is_mapped and not _allows_mapping(protocol):
        return f"`{COLUMN_MAPPING_MODE}` is {state.mode}, and the protocol ({versions}) has it not"
    if state.is_tracked and protocol.min_writer_version < _LISTING_WRITER:
        return f"The protocol ({versions}) lists `{FEATURE_NAME}`, which needs writer 7"
    return ""


def _allows_mapping(protocol: Protocol) -> bool:
    readers, writers = protocol.reader_features or (), protocol.writer_features or ()
    if protocol.min_reader_version >= _LISTING_READER:
        readable = COLUMN_MAPPING_FEATURE in readers
    else:
        readable = protocol.min_reader_version >= _MAPPING_READER
    if protocol.min_writer_version >= _LISTING_WRITER:
        return readable and COLUMN_MAPPING_FEATURE in writers
    return readable and protocol.min_writer_version >= _MAPPING_WRITER
