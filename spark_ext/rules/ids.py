# SPDX-License-Identifier: Apache-2.0
"""An alignment of names keeps the column ids, and the highest column id never decreases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from spark_ext.model.changes import (
    FormerIds,
    aligning_mode,
    former_ids,
    has_same_columns,
    ids_of,
    with_former_ids,
)
from spark_ext.model.column_mapping import field_metadata, is_mapped, max_column_id
from spark_ext.model.keys import ALIGNING, COLUMN_ID, MAX_COLUMN_ID, NESTED_COLUMN_IDS
from spark_ext.model.metadata import CommitContext, TableMetadata
from spark_ext.model.schema import Field, Path, map_fields
from spark_ext.rules.situation import arrives_mapped, existed, is_tracked


def keep_column_ids(
    *, old: TableMetadata, new: TableMetadata, commit: CommitContext
) -> TableMetadata:
    """Records the ids when an alignment removes column mapping, and restores the ids afterwards.

    `align_names()` removes column mapping, and Delta numbers columns from 1 when column mapping is
    enabled again. The commit of the removal itself records the ids, because another writer could
    rename a column before that commit. A column gets its former id if its path and its type are
    unchanged, as with Delta when a schema is overwritten. Every other column gets an id that the
    table never used. Array elements, map keys and map values get new ids, because no feature that
    needs their ids can be enabled in between.

    Columns of a RESTORE or a CLONE keep their own ids. If RESTORE restores a version with
    recorded ids, the rule records the highest id that was used since.

    Source:
        Protocol, "Writer Requirements for Column Mapping": `maxColumnId` "must increase
        monotonically"; Delta 4.4.0, RemoveColumnMappingCommand.scala,
        `getConfigurationWithoutColumnMapping`, and DeltaColumnMapping.scala,
        `assignColumnIdAndPhysicalNameToSchema`.

    Example:
        >>> aligning = {"sparkext.columnMapping.aligning": "name"}
        >>> mapped, off = table({"a": "4 a"}, "name", "true", aligning), table({"a": ""}, "none",
        ...     "true", aligning)
        >>> recorded = keep_column_ids(old=mapped, new=off, commit=commit(off))
        >>> recorded.configuration["sparkext.columnMapping.aligning"]
        'name {"max":4,"ids":{"a":[4,"long"]}}'
        >>> again = table({"a": "1 a"}, "name", "false", recorded.configuration)
        >>> columns(keep_column_ids(old=recorded, new=again, commit=commit(off)).schema)
        {'a': '4 a'}
    """
    if commit.creating_table or ALIGNING not in new.configuration:
        return new
    if is_mapped(old) and not is_mapped(new):
        return _recorded(old, new)
    former = former_ids(old.configuration.get(ALIGNING, ""))
    if former is None or is_mapped(old) or not is_mapped(new) or arrives_mapped(commit):
        return new
    return _restored(former, old, new)


def _recorded(old: TableMetadata, new: TableMetadata) -> TableMetadata:
    value = new.configuration[ALIGNING]
    recorded = former_ids(value)
    highest = max(max_column_id(old), recorded.highest if recorded else 0)
    # Recorded ids of a mapped table are outdated, because a session without spark-ext mapped it.
    # RESTORE brings other recorded ids, which are valid.
    if recorded is not None and value != old.configuration.get(ALIGNING):
        former = FormerIds(highest, recorded.ids)  # of the version that RESTORE restores
    elif has_same_columns(old.schema, new.schema):
        former = FormerIds(highest, ids_of(old.schema))
    else:
        former = FormerIds(highest, {})
    return new.with_property(ALIGNING, with_former_ids(value, former))


def _restored(former: FormerIds, old: TableMetadata, new: TableMetadata) -> TableMetadata:
    unused = count(max(former.highest, max_column_id(old)) + 1)
    schema = map_fields(new.schema, lambda path, field: _with_ids(path, field, former, unused))
    mode = aligning_mode(new.configuration[ALIGNING])
    return (
        new.with_schema(schema)
        .with_property(MAX_COLUMN_ID, str(next(unused) - 1))
        .with_property(ALIGNING, mode)
    )


def _with_ids(path: Path, field: Field, former: FormerIds, unused: Iterator[int]) -> Field:
    metadata = dict(field_metadata(field))
    metadata[COLUMN_ID] = former.of(path, field) or next(unused)
    if NESTED_COLUMN_IDS in metadata:
        metadata[NESTED_COLUMN_IDS] = {path: next(unused) for path in metadata[NESTED_COLUMN_IDS]}
    return {**field, "metadata": metadata}


def keep_max_column_id(
    *, old: TableMetadata, new: TableMetadata, commit: CommitContext
) -> TableMetadata:
    """Restores the old highest id if the commit has a lower highest id, or none.

    Delta's own assignment does the same, except for RESTORE and CLONE. After such a commit, Delta
    would assign the id of a dropped column again.

    Source:
        Protocol, "Writer Requirements for Column Mapping": `maxColumnId` "must increase
        monotonically".

    Example:
        >>> old = table({"a": "1 a"}, "name", "true", {"delta.columnMapping.maxColumnId": "7"})
        >>> new = table({"a": "1 a"}, "name", "true", {"delta.columnMapping.maxColumnId": "4"})
        >>> max_column_id(keep_max_column_id(old=old, new=new, commit=commit(new)))
        7
    """
    if not is_tracked(old, new, commit) or not existed(old):
        return new
    if not is_mapped(old) or not is_mapped(new) or MAX_COLUMN_ID not in old.configuration:
        return new
    if max_column_id(new) >= max_column_id(old):
        return new
    return new.with_property(MAX_COLUMN_ID, old.configuration[MAX_COLUMN_ID])
