# SPDX-License-Identifier: Apache-2.0
"""Every property, metadata key and feature name that the rules read or write.

Source: "Protocol" is Delta's PROTOCOL.md, "RFC" is *Column Mapping Usage Tracking* (delta-io/delta,
issue 2682), "Delta" is delta-spark 4.4.0.
"""

from __future__ import annotations

from typing import Final

# RFC, "Usage Tracking".
FEATURE_NAME: Final = "columnMappingUsageTracking"
HAS_DROPPED_OR_RENAMED: Final = "delta.columnMapping.hasDroppedOrRenamed"

# Delta, TableFeature.scala: a property with this prefix adds a feature to the protocol. Delta
# lower-cases the feature's name when it validates the property, and not in session defaults.
FEATURE_PREFIX: Final = "delta.feature."
FEATURE_PROPERTY: Final = FEATURE_PREFIX + FEATURE_NAME.lower()
FEATURE_SUPPORTED: Final = "supported"

# Delta, DeltaConfig.scala, `mergeGlobalConfigs`: a new table with it gets no feature from the
# session's defaults.
IGNORE_PROTOCOL_DEFAULTS: Final = "delta.ignoreProtocolDefaults"

# Protocol, "Column Mapping".
COLUMN_MAPPING_FEATURE: Final = "columnMapping"
COLUMN_MAPPING_MODE: Final = "delta.columnMapping.mode"
MAX_COLUMN_ID: Final = "delta.columnMapping.maxColumnId"
MODE_NONE: Final = "none"
MODE_NAME: Final = "name"
MODE_ID: Final = "id"

# Protocol, "Column Mapping": metadata of a field.
COLUMN_ID: Final = "delta.columnMapping.id"
PHYSICAL_NAME: Final = "delta.columnMapping.physicalName"

# Protocol, "Writer Requirements for IcebergCompatV2": ids of array elements, map keys and values.
NESTED_COLUMN_IDS: Final = "delta.columnMapping.nested.ids"

# Delta, DeltaColumnMapping.scala: keys in the schema of Parquet files.
PARQUET_FIELD_ID: Final = "parquet.field.id"
PARQUET_NESTED_FIELD_IDS: Final = "parquet.field.nested.ids"

# Delta, DeltaColumnMapping.scala, `COLUMN_MAPPING_METADATA_KEYS`.
COLUMN_MAPPING_METADATA_KEYS: Final = frozenset(
    {COLUMN_ID, PHYSICAL_NAME, NESTED_COLUMN_IDS, PARQUET_FIELD_ID, PARQUET_NESTED_FIELD_IDS}
)

# Spark, StructType: collations of a column's strings, by the column's name or a path that starts
# with it.
COLLATIONS: Final = "__COLLATIONS"

# Protocol, "Valid Feature Names in Table Features". Writer version 6 implies the feature.
IDENTITY_COLUMNS_FEATURE: Final = "identityColumns"

# Delta, IcebergCompat.scala and TableFeature.scala: features that need column mapping, and the
# properties that enable three of them. Delta drops none of these features.
ICEBERG_COMPAT_ENABLED: Final = {
    "icebergCompatV1": "delta.enableIcebergCompatV1",
    "icebergCompatV2": "delta.enableIcebergCompatV2",
    "icebergCompatV3": "delta.enableIcebergCompatV3",
}
ADAPTIVE_METADATA_FEATURE: Final = "adaptiveMetadata-preview"
NEED_COLUMN_MAPPING: Final = frozenset({*ICEBERG_COMPAT_ENABLED, ADAPTIVE_METADATA_FEATURE})

# Delta, IcebergCompat.scala, `CheckCannotDisableCompat`: Delta refuses to disable these features.
NEVER_DISABLED: Final = frozenset({"icebergCompatV3", ADAPTIVE_METADATA_FEATURE})

# Protocol, "Catalog-managed tables"; Delta 4.0.0, TableFeature.scala, has it under the second name.
CATALOG_MANAGED_FEATURES: Final = frozenset({"catalogManaged", "catalogOwned-preview"})

# Our own property: the column mapping mode of a table whose names are being aligned. The property
# distinguishes an interrupted call from a table that shall have no column mapping. While mapping is
# off, the property also has the column ids (`spark_ext.model.changes.FormerIds`).
ALIGNING: Final = "sparkext.columnMapping.aligning"

# Protocol, "Checkpoint Protection"; Delta, DeltaConfig.scala,
# `TABLE_FEATURE_DROP_TRUNCATE_HISTORY_LOG_RETENTION`, and its default.
CHECKPOINT_PROTECTION_FEATURE: Final = "checkpointProtection"
CHECKPOINT_PROTECTION_VERSION: Final = "delta.requireCheckpointProtectionBeforeVersion"
TRUNCATE_HISTORY_RETENTION: Final = "delta.dropFeatureTruncateHistory.retentionDuration"
DEFAULT_TRUNCATE_HISTORY_RETENTION: Final = "interval 24 hours"

# Protocol, "Row Tracking": properties with the names of columns that files have and schemas lack.
ROW_TRACKING_COLUMNS: Final = (
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
)
ROW_TRACKING_ENABLED: Final = "delta.enableRowTracking"

# Delta Kernel, TableFeatures.java, `ICEBERG_WRITER_COMPAT_V1`, and TableConfig.java.
ICEBERG_WRITER_COMPAT_V1_FEATURE: Final = "icebergWriterCompatV1"
ICEBERG_WRITER_COMPAT_V1_ENABLED: Final = "delta.enableIcebergWriterCompatV1"

# Delta, CDCReader.scala, `CDC_COLUMNS_IN_DATA`: UPDATE, MERGE and others write these columns into
# data files of a table with a change feed, without a field id. The second is null there.
CHANGE_FEED_COLUMNS: Final = ("__is_cdc", "_change_type")

# Delta, DeltaColumnMapping.scala, `DELTA_INTERNAL_COLUMNS`: columns that Delta and Spark add while
# they read and write files, in lower case. Delta and Spark read a top-level column with such a
# physical name, in any letter case, as an internal column.
INTERNAL_COLUMNS: Final = frozenset(
    {
        *CHANGE_FEED_COLUMNS,
        "_commit_version",
        "_commit_timestamp",
        "_tmp_metadata_row_index",
        "__delta_internal_is_row_deleted",
        "__delta_internal_row_index",
    }
)

# The metadata of the columns in which Delta writes row ids and row commit versions. Their names are
# the table's own. Delta, RowId.scala and RowCommitVersion.scala, `isValid`.
ROW_TRACKING_MARKS: Final = ("__row_id_metadata_col", "__row_commit_version_metadata_col")

# The two internal columns that replace a table's column without an error. For the others, Spark or
# Delta raise an error. Spark, ParquetFileFormat.scala, `ROW_INDEX_TEMPORARY_COLUMN_NAME`; Delta,
# CDCReader.scala, `CDC_PARTITION_COL`.
SILENTLY_REPLACED_COLUMNS: Final = frozenset({"_tmp_metadata_row_index", "__is_cdc"})

# Our own setting of a session and its values, declared in `settings.json`.
REMOVAL: Final = "spark.sparkext.columnMapping.removal"
REMOVAL_COPY: Final = "copy"
REMOVAL_REWRITE: Final = "rewrite"


# RESTORE and CLONE bring columns with the ids and names of another version or table. CLONE and
# CONVERT bring files with columns that the log never had.
CLONE: Final = "CLONE"
CONVERT: Final = "CONVERT"
RESTORE: Final = "RESTORE"

REMOVE_COLUMN_MAPPING: Final = "REMOVE COLUMN MAPPING"
