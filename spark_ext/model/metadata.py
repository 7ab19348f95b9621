# SPDX-License-Identifier: Apache-2.0
"""The metadata, the protocol and the facts of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from spark_ext.model.keys import CATALOG_MANAGED_FEATURES, HAS_DROPPED_OR_RENAMED
from spark_ext.model.schema import EMPTY_SCHEMA, Schema

_EMPTY_CONFIGURATION: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class TableMetadata:
    """The schema of a table and its properties that start with `delta.`, and `ALIGNING`.

    PySpark's `StructType` becomes its JSON object. Source: Protocol, "Change Metadata".
    """

    schema: Schema = field(default_factory=lambda: EMPTY_SCHEMA)
    configuration: Mapping[str, str] = field(default_factory=lambda: _EMPTY_CONFIGURATION)

    def __post_init__(self) -> None:
        if hasattr(self.schema, "jsonValue"):
            object.__setattr__(self, "schema", self.schema.jsonValue())

    def with_property(self, key: str, value: str) -> TableMetadata:
        """Returns this metadata with a property; the same object if nothing changes."""
        if self.configuration.get(key) == value:
            return self
        return replace(self, configuration=MappingProxyType({**self.configuration, key: value}))

    def with_schema(self, schema: Schema) -> TableMetadata:
        """Returns this metadata with a schema; the same object if nothing changes."""
        return self if schema is self.schema else replace(self, schema=schema)


@dataclass(frozen=True)
class Protocol:
    """A table's `protocol` action. Features are None below reader 3 or writer 7."""

    min_reader_version: int = 1
    min_writer_version: int = 2
    reader_features: frozenset[str] | None = None
    writer_features: frozenset[str] | None = None

    def has_reader_feature(self, feature: str) -> bool:
        """Returns whether the protocol lists a feature for readers."""
        return feature in (self.reader_features or ())

    def has_writer_feature(self, feature: str) -> bool:
        """Returns whether the protocol lists a feature for writers."""
        return feature in (self.writer_features or ())

    @property
    def catalog_managed_features(self) -> tuple[str, ...]:
        """The features by which a catalog ratifies the commits of a table, and maintains it."""
        return tuple(sorted(filter(self.has_writer_feature, CATALOG_MANAGED_FEATURES)))


@dataclass(frozen=True)
class CommitContext:
    """The facts about a transaction besides the old and the new metadata.

    Args:
        proposed: The metadata that the statement requests, before Delta assigns ids and names.
        creating_table: Whether the statement creates or replaces the table.
        copies_untracked: Whether RESTORE restores an untracked version, or CLONE clones an
            untracked table.
        enabled_by_default: Whether the session tracks every new table with column mapping.
        feature_default: Whether the session's defaults for new tables name the feature.
        flag_default: Whether the session's defaults for new tables name the flag.
    """

    proposed: TableMetadata
    protocol: Protocol = field(default_factory=Protocol)
    creating_table: bool = False
    copies_untracked: bool = False
    enabled_by_default: bool = False
    feature_default: bool = False
    flag_default: bool = False


@dataclass(frozen=True)
class FileCount:
    """A number of files and their size in bytes."""

    num_files: int = 0
    size_in_bytes: int = 0

    def __add__(self, other: FileCount) -> FileCount:
        size = self.size_in_bytes + other.size_in_bytes
        return FileCount(self.num_files + other.num_files, size)


@dataclass(frozen=True)
class CountedFiles:
    """The files that a removal of column mapping keeps, copies and rewrites, by their footers."""

    kept: FileCount
    copied: FileCount
    rewritten: FileCount


@dataclass(frozen=True)
class TableFacts:
    """The facts of the newest version that the removal stages depend on.

    Args:
        name: The table's name as the user wrote it.
        removal: The session's `spark.sparkext.columnMapping.removal`; None if it is not set.
        copies: Whether a removal copies files in this session, as `CopySetting.java` decides.
        exact: None if the counts were not requested, or if no file is copied.
    """

    table: TableMetadata
    protocol: Protocol
    name: str
    files: FileCount = field(default_factory=FileCount)
    removal: str | None = None
    copies: bool = False
    exact: CountedFiles | None = None


def flag(metadata: TableMetadata) -> bool | None:
    """Returns the flag; None if the property is missing or not a boolean in any letter case."""
    return parsed_flag(metadata.configuration.get(HAS_DROPPED_OR_RENAMED))


def parsed_flag(value: object) -> bool | None:
    """Returns the flag for any value of the property in a log, as `flag` does."""
    return {"true": True, "false": False}.get(str(value).lower())


def with_flag(metadata: TableMetadata, *, dropped_or_renamed: bool) -> TableMetadata:
    """Returns the metadata with a value of the flag."""
    return metadata.with_property(HAS_DROPPED_OR_RENAMED, str(dropped_or_renamed).lower())


@dataclass(frozen=True)
class FlagChange:
    """The commit that made the flag true; a field is None if the writer omitted the fact.

    `timestamp` is in the time zone of this process, `operation` as in DESCRIBE HISTORY, and
    `user_name` the name or the id of the user.
    """

    version: int
    timestamp: datetime | None
    operation: str | None
    user_name: str | None


@dataclass(frozen=True)
class ColumnChange:
    """A column that was added, dropped or renamed; the first four fields are those of `FlagChange`.

    They are None for a column of the oldest known version if the log is not whole.

    Args:
        change: `add`, `drop` or `rename`. A status has no `add`.
        old_name: The path before the change, quoted for SQL; None for an added column.
        new_name: The path after the change; None for a dropped column.
    """

    version: int | None
    timestamp: datetime | None
    operation: str | None
    user_name: str | None
    change: str
    id: int | None
    old_name: str | None
    new_name: str | None


@dataclass(frozen=True)
class StatusRow:
    """The status of a table, with the fields of `spark_ext.ColumnMappingStatus`."""

    mode: str
    tracked: bool
    has_dropped_or_renamed: bool | None
    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None
    writer_features: tuple[str, ...] | None
    true_since: FlagChange | None
    dropped_or_renamed: tuple[ColumnChange, ...]
    history_from: int
