# SPDX-License-Identifier: Apache-2.0
"""Delta's column mapping functions in Python, for programs that read a table's log or files.

The functions have the names of Delta's `DeltaColumnMapping` in Python's spelling. They need neither
Spark nor a JVM, and the differential tests compare them with Delta's own functions. A schema is the
JSON object of Spark's `StructType`, and a field is one of its `fields`.

Source:
    Delta 4.4.0, DeltaColumnMapping.scala. `requiresNewProtocol`, `satisfyColumnMappingProtocol` and
    `tryFixMetadata` have their names of earlier releases.

Example:
    >>> metadata = table({"fare": "1 col-3f2a"}, "name")
    >>> get_physical_name(metadata.schema["fields"][0])
    'col-3f2a'
"""

from __future__ import annotations

from spark_ext.model.assignment import (
    allow_mapping_mode_change,
    try_fix_metadata,
    verify_and_update_metadata_change,
)
from spark_ext.model.column_mapping import (
    MIN_PROTOCOL_VERSION,
    MIN_READER_VERSION,
    MIN_WRITER_VERSION,
    satisfy_column_mapping_protocol,
)
from spark_ext.model.column_mapping import SUPPORTED_MODES as supported_modes
from spark_ext.model.column_mapping import is_mapped as requires_new_protocol
from spark_ext.model.column_mapping import physical_name as get_physical_name
from spark_ext.model.metadata import Protocol, TableMetadata
from spark_ext.model.physical_schema import (
    check_column_id_and_physical_name_assignments,
    create_physical_schema,
    drop_column_mapping_metadata,
    get_column_mapping_metadata,
    rename_columns,
)

__all__ = [
    "MIN_PROTOCOL_VERSION",
    "MIN_READER_VERSION",
    "MIN_WRITER_VERSION",
    "Protocol",
    "TableMetadata",
    "allow_mapping_mode_change",
    "check_column_id_and_physical_name_assignments",
    "create_physical_schema",
    "drop_column_mapping_metadata",
    "get_column_mapping_metadata",
    "get_physical_name",
    "rename_columns",
    "requires_new_protocol",
    "satisfy_column_mapping_protocol",
    "supported_modes",
    "try_fix_metadata",
    "verify_and_update_metadata_change",
]
