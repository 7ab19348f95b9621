# SPDX-License-Identifier: Apache-2.0
"""The reasons for the cost of a removal stage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spark_ext.errors import ReservedColumnNameError
from spark_ext.model import keys
from spark_ext.model.column_mapping import (
    INVALID_NAME_CHARACTERS,
    is_mapped,
    mode_of,
    physical_name,
    schema_has_column_mapping_metadata,
)
from spark_ext.model.metadata import Protocol, TableMetadata, flag
from spark_ext.model.schema import quoted, walk

CATALOG_MANAGED = "CATALOG_MANAGED"
CONFLICT = "CONFLICT"
EARLIER_STAGE = "EARLIER_STAGE"
FILES_READ_BY_ID = "FILES_READ_BY_ID"
HAS_DROPPED_OR_RENAMED = "HAS_DROPPED_OR_RENAMED"
INVALID_COLUMN_NAME = "INVALID_COLUMN_NAME"
MAPPING_METADATA_REMAINS = "MAPPING_METADATA_LEFT"
NOT_TRACKED = "NOT_TRACKED"
OTHER_FEATURE = "OTHER_FEATURE"
OTHER_SESSIONS = "OTHER_SESSIONS"
PHYSICAL_NAME_DIFFERS = "PHYSICAL_NAME_DIFFERS"
READER_VERSION = "READER_VERSION"
REMOVAL_SETTING = "REMOVAL_SETTING"
RESERVED_COLUMN_NAME = "RESERVED_COLUMN_NAME"
RETENTION_PERIOD = "RETENTION_PERIOD"

# The reasons for copies or rewrites of files if the stage is not blocked.
_OF_FILES = {
    NOT_TRACKED,
    HAS_DROPPED_OR_RENAMED,
    PHYSICAL_NAME_DIFFERS,
    FILES_READ_BY_ID,
    REMOVAL_SETTING,
}
_RENAME = (
    "Rename the columns, and call again. If the catalog refuses RENAME COLUMN, as Unity Catalog"
    " does, name an external table by its path: ALTER TABLE delta.`<path>` RENAME COLUMN."
)
_COPY_COLUMN = (
    "Rename the columns, and call again. If the catalog refuses RENAME COLUMN, as Unity Catalog"
    " does, add columns with other names, copy the values with UPDATE, and drop the old columns."
)
_DROP_FEATURE = "Drop the features first, if Delta can drop them, and call again."
_COPY_ROWS = (
    "Copy the rows into a new table, with the partitioning and the properties that it needs: CREATE"
    " TABLE <new table> .. AS SELECT * FROM <table>."
)
_COPY_OLD_ROWS = (
    "If columns of older rows are null or show values of other columns, copy these rows from the"
    " last version before the removal of column mapping instead: SELECT * FROM <table> VERSION AS"
    " OF <version>."
)
_SPELLED = {" ": "blank", "\n": "line break", "\t": "tab"}


@dataclass(frozen=True)
class Reason:
    """A reason for the cost of a removal stage.

    Args:
        reason: `NOT_TRACKED`, `HAS_DROPPED_OR_RENAMED`, `PHYSICAL_NAME_DIFFERS`, `FILES_READ_BY_ID`
            (in mode `id`, files may have any names, so footers have to be read), `CATALOG_MANAGED`
            (the catalog that manages the table may refuse to rename columns), `EARLIER_STAGE`,
            `INVALID_COLUMN_NAME`, `MAPPING_METADATA_LEFT` (a statement set only the mode; if names
            differ, older versions have the values), `OTHER_FEATURE`, `OTHER_SESSIONS` (sessions
            without spark-ext may write with stale plans), `READER_VERSION`, `REMOVAL_SETTING`,
            `RESERVED_COLUMN_NAME`, `RETENTION_PERIOD`.
        name: The column's path, quoted for SQL, the feature, or the stage; None if the reason
            concerns the whole table.
        detail: The column's physical name, its invalid characters, its reserved name, the version,
            the setting, the period, or the property that enables the feature if Delta can disable
            the feature and not drop it.
    """

    reason: str
    name: str | None = None
    detail: str | None = None

    @property
    def is_never_dropped(self) -> bool:
        """Returns whether only a new table lacks the feature: Delta drops it from no table."""
        return (
            self.reason == OTHER_FEATURE
            and not self.detail
            and self.name in keys.NEED_COLUMN_MAPPING
        )


def rewrite_reasons(*, table: TableMetadata, protocol: Protocol) -> tuple[Reason, ...]:
    """Returns the reasons to change files; if empty, a removal is metadata only.

    A false flag does not prove that names are equal (CREATE TABLE LIKE, CLONE), and equal names do
    not prove that no file contains a dropped column. A missing or invalid flag counts as true. In
    mode `id`, files of other writers may have other names.

    Source: RFC, introduction: "it simply suffices to change the mode to none"; Protocol, "Reader
    Requirements for Column Mapping".
    """
    if not protocol.has_writer_feature(keys.FEATURE_NAME):
        return (Reason(NOT_TRACKED),)
    reasons: list[Reason] = []
    if flag(table) is not False:
        reasons.append(Reason(HAS_DROPPED_OR_RENAMED))
    reasons += hidden_columns(table)
    if not reasons and mode_of(table.configuration) == keys.MODE_ID:
        reasons.append(Reason(FILES_READ_BY_ID))
    return tuple(reasons)


def is_free(*, table: TableMetadata, protocol: Protocol) -> bool:
    """Returns whether a removal is metadata only; raises ReservedColumnNameError in any case."""
    for column, name in reserved_columns(table):
        raise ReservedColumnNameError(column=column, name=name)
    return not rewrite_reasons(table=table, protocol=protocol)


def reserved_columns(table: TableMetadata) -> Iterable[tuple[str, str]]:
    """Yields the columns that Spark or Delta would read as internal ones, with the reserved name.

    It is the logical or the physical name. If the physical name is reserved, a rewrite would also
    read and write the internal column.
    """
    if not is_mapped(table) and not schema_has_column_mapping_metadata(table.schema):
        return
    for field in table.schema["fields"]:
        for name in (field["name"], physical_name(field)):
            if name.lower() in keys.SILENTLY_REPLACED_COLUMNS:
                yield field["name"], name
                break


def blocking(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Returns the reasons of a blocked stage, without the reasons for copies or rewrites."""
    return tuple(why for why in reasons if why.reason not in _OF_FILES)


def in_words(reasons: Iterable[Reason]) -> str:
    """Returns reasons for the text of an error."""
    return ", ".join(map(reason_in_words, reasons))


def reason_in_words(why: Reason) -> str:
    """Returns a reason for people, with names in place of invisible characters.

    Example:
        >>> reason_in_words(Reason(INVALID_COLUMN_NAME, "`a b;`", " ;"))
        'INVALID_COLUMN_NAME (`a b;`, blank ;)'
    """
    detail = why.detail
    if detail and why.reason == INVALID_COLUMN_NAME:
        detail = " ".join(_SPELLED.get(char, char) for char in detail)
    words = [word for word in (why.name, detail) if word is not None]
    return f"{why.reason} ({', '.join(words)})" if words else why.reason


def hidden_columns(metadata: TableMetadata) -> Iterable[Reason]:
    """Yields the columns whose physical name differs from the logical name."""
    for path, field in walk(metadata.schema):
        if physical_name(field) != field["name"]:
            yield Reason(PHYSICAL_NAME_DIFFERS, quoted(path), physical_name(field))


def invalid_names(metadata: TableMetadata) -> Iterable[Reason]:
    """Yields the columns whose names are invalid without column mapping, with the characters."""
    for path, field in walk(metadata.schema):
        invalid = [char for char in field["name"] if char in INVALID_NAME_CHARACTERS]
        if invalid:
            yield Reason(INVALID_COLUMN_NAME, quoted(path), "".join(dict.fromkeys(invalid)))


def what_to_do(reasons: Iterable[Reason]) -> str:
    """Returns sentences that say how to remove blocking reasons; empty for other reasons.

    Source: Delta 4.4.0, UCDeltaTableAlterTest.java: Unity Catalog's connector refuses RENAME
    COLUMN.
    """
    reasons = tuple(reasons)
    kinds = {why.reason for why in reasons}
    features = {why.name: why.detail for why in reasons if why.reason == OTHER_FEATURE}
    enabled = sorted(filter(None, features.values()))
    advice = []
    if kinds & {INVALID_COLUMN_NAME, RESERVED_COLUMN_NAME}:
        advice.append(_COPY_COLUMN if CATALOG_MANAGED in kinds else _RENAME)
    if enabled:
        advice.append(f"Set {' and '.join(enabled)} to false, and call again.")
    if features.keys() - keys.NEED_COLUMN_MAPPING:
        advice.append(_DROP_FEATURE)
    never_dropped = any(why.is_never_dropped for why in reasons)
    if never_dropped or kinds & {MAPPING_METADATA_REMAINS, READER_VERSION}:
        advice.append(_COPY_ROWS)
    if MAPPING_METADATA_REMAINS in kinds:
        advice.append(_COPY_OLD_ROWS)
    return " ".join(advice)


def features_that_need_mapping(table: TableMetadata, protocol: Protocol) -> Iterable[Reason]:
    """Yields the features that need column mapping as long as they are enabled."""
    for feature, enabled in keys.ICEBERG_COMPAT_ENABLED.items():
        if table.configuration.get(enabled, "").lower() == "true":
            yield Reason(
                OTHER_FEATURE, feature, None if feature in keys.NEVER_DISABLED else enabled
            )
    if protocol.has_writer_feature(keys.ADAPTIVE_METADATA_FEATURE):
        yield Reason(OTHER_FEATURE, keys.ADAPTIVE_METADATA_FEATURE)
