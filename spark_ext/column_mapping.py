# SPDX-License-Identifier: Apache-2.0
r"""Delta's column mapping functions in Python, for programs that read a table's log or files.

The functions have the names of Delta's `DeltaColumnMapping` in Python's spelling. They need neither
Spark nor a JVM, and the differential tests compare them with Delta's own functions. A schema is the
JSON object of Spark's `StructType`, and a field is one of its `fields`. A function also takes
PySpark's `StructType` and `StructField`, and then returns a schema as a `StructType`.

The functions return what plain Delta would commit. `next_metadata` applies the rules of usage
tracking to this result.

Source:
    Delta 4.4.0, DeltaColumnMapping.scala. `requiresNewProtocol`, `satisfyColumnMappingProtocol` and
    `tryFixMetadata` have their names of earlier releases.

Example:
    >>> import json
    >>> import spark_ext
    >>> line = (  # of _delta_log/00000000000000000000.json
    ...     r'{"metaData": {"configuration": {"delta.columnMapping.mode": "name"}, "schemaString":'
    ...     r'"{\"type\": \"struct\", \"fields\": [{\"name\": \"fare\", \"type\": \"double\",'
    ...     r'\"nullable\": true, \"metadata\": {\"delta.columnMapping.id\": 1,'
    ...     r'\"delta.columnMapping.physicalName\": \"col-3f2a\"}}]}"}}'
    ... )
    >>> action = json.loads(line)["metaData"]
    >>> metadata = spark_ext.column_mapping.TableMetadata(
    ...     json.loads(action["schemaString"]), action["configuration"]
    ... )
    >>> spark_ext.column_mapping.requires_new_protocol(metadata)
    True
    >>> spark_ext.column_mapping.get_physical_name(metadata.schema["fields"][0])
    'col-3f2a'
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

from spark_ext.model import column_mapping
from spark_ext.model.assignment import (
    allow_mapping_mode_change,
    try_fix_metadata,
    verify_and_update_metadata_change,
)
from spark_ext.model.column_mapping import (
    check_column_id_and_physical_name_assignments,
    satisfy_column_mapping_protocol,
)
from spark_ext.model.column_mapping import is_mapped as requires_new_protocol
from spark_ext.model.metadata import CommitContext, Protocol, TableMetadata
from spark_ext.rules import next_metadata

__all__ = [
    "MIN_PROTOCOL_VERSION",
    "MIN_READER_VERSION",
    "MIN_WRITER_VERSION",
    "CommitContext",
    "Protocol",
    "TableMetadata",
    "allow_mapping_mode_change",
    "check_column_id_and_physical_name_assignments",
    "create_physical_schema",
    "drop_column_mapping_metadata",
    "get_column_mapping_metadata",
    "get_physical_name",
    "next_metadata",
    "rename_columns",
    "requires_new_protocol",
    "satisfy_column_mapping_protocol",
    "supported_modes",
    "try_fix_metadata",
    "verify_and_update_metadata_change",
]

_Result = TypeVar("_Result")

MIN_READER_VERSION: Final = column_mapping.MIN_READER_VERSION
"""The lowest reader version of a table with column mapping."""

MIN_WRITER_VERSION: Final = column_mapping.MIN_WRITER_VERSION
"""The lowest writer version of a table with column mapping."""

MIN_PROTOCOL_VERSION: Final = column_mapping.MIN_PROTOCOL_VERSION
"""The lowest protocol of a table with column mapping, without table features."""

supported_modes: Final = column_mapping.SUPPORTED_MODES
"""The values of the property `delta.columnMapping.mode`."""


def _on_spark_types(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """Returns a function that also takes the types of PySpark, which this module never imports."""

    @wraps(function)
    def on_spark_types(*arguments: Any, **named: Any) -> Any:
        given = (*arguments, *named.values())
        structs = [type(each) for each in given if hasattr(each, "fieldNames")]
        result: Any = function(
            *map(_as_json, arguments), **{name: _as_json(value) for name, value in named.items()}
        )
        return structs[0].fromJson(result) if structs else result

    return on_spark_types


def _as_json(value: Any) -> Any:
    return value.jsonValue() if hasattr(value, "jsonValue") else value


create_physical_schema = _on_spark_types(column_mapping.create_physical_schema)
drop_column_mapping_metadata = _on_spark_types(column_mapping.drop_column_mapping_metadata)
get_column_mapping_metadata = _on_spark_types(column_mapping.get_column_mapping_metadata)
get_physical_name = _on_spark_types(column_mapping.physical_name)
rename_columns = _on_spark_types(column_mapping.rename_columns)
