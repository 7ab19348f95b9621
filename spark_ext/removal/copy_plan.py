# SPDX-License-Identifier: Apache-2.0
"""Plans how the columns in a table's data files change when the files are copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spark_ext.errors import DuplicatedColumnIdError, DuplicatedPhysicalNameError
from spark_ext.model import keys
from spark_ext.model.column_mapping import (
    check_mapped,
    column_id,
    columns_of,
    mode_of,
    physical_name,
)
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import DataType, Field, Path, logical_name, lower

ColumnPlan = dict[str, Any]


def copy_plan(table: TableMetadata) -> ColumnPlan:
    """Returns how to find every column of a mapped table in files, and its name after a removal.

    A copy also has the row tracking columns. It omits dropped columns and change feed columns.

    Returns:
        `byId`: whether field ids identify columns in files (mode `id`), and names do not.
        `keepsIds`: whether files keep field ids; true for an alignment, after which the columns get
            the same ids again.
        `kept`, `ignored`: physical names of columns of row tracking and of the change feed, which
        no schema contains; the latter are not copied.
        `columns`: `id`, `name` in the files, `newName` and `type` of each column. The type is null
            if it is not nested, or an object with one of `struct` (columns), `array` (the type of
            the elements) and `map` (the types of keys and values).

    Raises MissingColumnIdError, MissingPhysicalNameError, DuplicatedPhysicalNameError (in any
    letter case) or DuplicatedColumnIdError (within a struct, in mode `id`).

    Source: Protocol, "Reader Requirements for Column Mapping"; "Row Tracking".

    Example:
        >>> plan = copy_plan(table({"fare": "1 col-3f2a"}, "name", "true"))
        >>> plan["columns"]
        [{'id': 1, 'name': 'col-3f2a', 'newName': 'fare', 'type': None}]
    """
    keeps_ids = keys.ALIGNING in table.configuration
    return _plan(table, logical_name, keeps_ids=keeps_ids, kept=keys.ROW_TRACKING_COLUMNS)


def purge_plan(table: TableMetadata) -> ColumnPlan:
    """Returns the plan of a purge, as `copy_plan`: every column keeps its physical name.

    The columns of row tracking are kept if row tracking is enabled. Delta follows the same rule
    when it checks which files have columns to purge (4.4.0, ReorgTableHelper.scala,
    `fileHasExtraColumns`).
    """
    is_enabled = table.configuration.get(keys.ROW_TRACKING_ENABLED, "").lower() == "true"
    kept = keys.ROW_TRACKING_COLUMNS if is_enabled else ()
    return _plan(table, physical_name, keeps_ids=True, kept=kept)


def _plan(
    table: TableMetadata,
    new_name: Callable[[Field], str],
    *,
    keeps_ids: bool,
    kept: tuple[str, ...],
) -> ColumnPlan:
    _check_unique(table)
    properties = table.configuration
    return {
        "byId": mode_of(properties) == keys.MODE_ID,
        "keepsIds": keeps_ids,
        "kept": [properties[key] for key in kept if key in properties],
        "ignored": list(keys.CHANGE_FEED_COLUMNS),
        "columns": [_column(field, new_name) for field in table.schema["fields"]],
    }


def _check_unique(table: TableMetadata) -> None:
    """Refuses two columns with one column in files or one key in the log, in any letter case."""
    mode = mode_of(table.configuration)
    ids: set[tuple[Path, int]] = set()
    paths: set[Path] = set()
    for path, physical_path, field in columns_of(table.schema):
        check_mapped(field, path, mode)
        name = ".".join(path)
        lowered = lower(physical_path)
        if lowered in paths:
            raise DuplicatedPhysicalNameError(
                columnName=name, physicalPath=".".join(physical_path), mode=mode
            )
        if mode == keys.MODE_ID and (lowered[:-1], column_id(field)) in ids:
            raise DuplicatedColumnIdError(columnName=name, columnId=column_id(field), mode=mode)
        paths.add(lowered)
        ids.add((lowered[:-1], column_id(field)))


def _column(field: Field, new_name: Callable[[Field], str]) -> dict[str, Any]:
    return {
        "id": column_id(field),
        "name": physical_name(field),
        "newName": new_name(field),
        "type": _type(field["type"], new_name),
    }


def _type(data_type: DataType | str, new_name: Callable[[Field], str]) -> dict[str, Any] | None:
    if isinstance(data_type, str):
        return None
    if data_type["type"] == "struct":
        return {"struct": [_column(field, new_name) for field in data_type["fields"]]}
    if data_type["type"] == "array":
        return {"array": _type(data_type["elementType"], new_name)}
    if data_type["type"] == "map":
        types = data_type["keyType"], data_type["valueType"]
        return {"map": [_type(each, new_name) for each in types]}
    return None
