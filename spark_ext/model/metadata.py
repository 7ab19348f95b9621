# SPDX-License-Identifier: Apache-2.0
"""What the rules know of a table and of a commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from spark_ext.model.schema import EMPTY_SCHEMA, Schema

_EMPTY_CONFIGURATION: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class TableMetadata:
    """The part of a table's `metaData` action that the rules read.

    Args:
        configuration: The properties that start with `delta.`, and `ALIGNING`; no rule reads
            another.

    Source:
        Protocol, "Change Metadata".
    """

    schema: Schema = field(default_factory=lambda: EMPTY_SCHEMA)
    configuration: Mapping[str, str] = field(default_factory=lambda: _EMPTY_CONFIGURATION)

    def with_property(self, key: str, value: str) -> TableMetadata:
        """This metadata with one property set; itself where it is set so already."""
        if self.configuration.get(key) == value:
            return self
        return replace(self, configuration=MappingProxyType({**self.configuration, key: value}))

    def with_schema(self, schema: Schema) -> TableMetadata:
        """This metadata with another schema; itself where it is the same object."""
        return self if schema is self.schema else replace(self, schema=schema)


@dataclass(frozen=True)
class Protocol:
    """A table's `protocol` action.

    Source:
        Protocol, "Protocol Evolution". Features are None below reader 3 or writer 7.
    """

    min_reader_version: int = 1
    min_writer_version: int = 2
    reader_features: frozenset[str] | None = None
    writer_features: frozenset[str] | None = None


@dataclass(frozen=True)
class CommitContext:
    """What the rules must know of a transaction besides the old and the new metadata."""

    proposed: TableMetadata
    protocol: Protocol = field(default_factory=Protocol)
    creating_table: bool = False
    enabled_by_default: bool = False
    feature_default: bool = False
    flag_default: bool = False


@dataclass(frozen=True)
class FileCount:
    """How many files, and their size in bytes."""

    num_files: int = 0
    size_in_bytes: int = 0


@dataclass(frozen=True)
class CountedFiles:
    """What removing column mapping does to each file of a table, by their footers."""

    kept: FileCount
    copied: FileCount
    rewritten: FileCount


@dataclass(frozen=True)
class TableFacts:
    """What the stages depend on.

    Args:
        name: As the user wrote it.
        files: Of its newest version.
        removal: The session's `spark.sparkext.columnMapping.removal`; None where it is not set.
        exact: What becomes of the files; None where nobody asked, or where that is not by copying.
    """

    table: TableMetadata
    protocol: Protocol
    name: str
    files: FileCount = field(default_factory=FileCount)
    removal: str | None = None
    exact: CountedFiles | None = None


@dataclass(frozen=True)
class MetadataChange:
    """A change that a transaction makes, as the rules get it first.

    Args:
        old: The table before the transaction; of a new table, the session's defaults.
        assigned: What the command asked for, with ids and physical names as Delta assigned them.
        commit: The rest of what is known of the transaction.
    """

    old: TableMetadata
    assigned: TableMetadata
    commit: CommitContext
