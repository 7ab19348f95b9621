# SPDX-License-Identifier: Apache-2.0
"""Makes tables with one defect each, named after the check that finds it, or `<check>__<how>`.

If an engine makes the defect, that engine makes the table: delta-spark without spark-ext, or
Spark with a statement that Delta allows. Otherwise the log and the files are edited.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.functions import col

from tests.golden.workshop import (
    Workshop,
    change_columns,
    change_last_byte,
    change_properties,
    checkpoints,
    column,
    commit_columns,
    commit_metadata,
    commit_properties,
    commit_protocol,
    cut,
    data_files,
    edit_adds,
    forget_checksums,
    rename_statistics,
    rewrite,
    rewrite_checkpoint,
    truncate_commit,
    vector_files,
)
from tests.support.delta_table import NAME_MODE, TRACKED
from tests.support.golden_tables import placed
from tests.support.table_log import TableLog

Json = dict[str, Any]
Defect = Callable[[Workshop, str], Path]

DEFECTS: dict[str, Defect] = {}


def defect(make: Defect) -> Defect:
    DEFECTS[make.__name__] = make
    return make


# Defects that engines make.


@defect
def flag_without_feature(workshop: Workshop, name: str) -> Path:
    """Takes a clone of docs/golden from which delta-spark without spark-ext dropped a column."""
    clone = placed(workshop.place(f"{name}__source")) / "stale"
    for version in (2, 3):  # they also make a name misleading
        (clone / "_delta_log" / f"{version:020}.json").unlink()
    return clone.rename(workshop.place(name))


@defect
def misleading_name(workshop: Workshop, name: str) -> Path:
    """Makes a table that is right and misleads some readers."""
    path = workshop.place(name)
    for statement in (
        f"CREATE TABLE {{t}} (a INT) USING delta TBLPROPERTIES ({TRACKED}, {NAME_MODE})",
        "INSERT INTO {t} VALUES (1)",
        "ALTER TABLE {t} RENAME COLUMN a TO b",
        "ALTER TABLE {t} ADD COLUMN a INT",
    ):
        workshop.spark.sql(statement.format(t=f"delta.`{path}`"))
    return path


@defect
def misleading_name__dropped(workshop: Workshop, name: str) -> Path:
    path = workshop.copy("dropped", name)
    workshop.spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN b STRING")
    return path


@defect
def mapping_keys_remain(workshop: Workshop, name: str) -> Path:
    # Delta removes column mapping only if the value is `none` in lower case.
    table = f"delta.`{workshop.place(name)}`"
    for statement in (
        f"CREATE TABLE {table} (a INT) USING delta",
        f"INSERT INTO {table} VALUES (1)",
        f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name',"
        " 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')",
        f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'None')",
    ):
        workshop.spark.sql(statement)
    return workshop.place(name)


@defect
def file_columns(workshop: Workshop, name: str) -> Path:
    """Makes a table whose files hold a column that its schema lacks; docs/limits.md explains it."""
    path, spark = workshop.place(name), workshop.spark
    rows = "SELECT 1 AS p, 1 AS a, 'old' AS b UNION ALL SELECT 2, 2, 'old'"
    spark.sql(rows).write.format("delta").partitionBy("p").save(str(path))
    writer = spark.sql("SELECT 1 AS p, 3 AS a").writeTo(f"delta.`{path}`").using("delta")
    writer.partitionedBy(col("p")).option("replaceWhere", "p = 1").replace()
    return path


@defect
def dropped_column_shown(workshop: Workshop, name: str) -> Path:
    path = workshop.place(name)
    shutil.copytree(workshop.place("file_columns"), path)
    workshop.spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN b STRING")
    return path


# Edits of a copy of a sound table.


def rename_partition_folder(table: Path) -> None:
    (table / "p=x").rename(table / "q=x")
    edit_adds(table, lambda add: add.update(path=add["path"].replace("p=x", "q=x")))


def lengthen_vector(add: Json) -> None:
    if add.get("deletionVector"):
        add["deletionVector"]["sizeInBytes"] += 1


def delete(*files: Path) -> None:
    for file in files:
        file.unlink()


def log_file(table: Path, pattern: str) -> list[Path]:
    return sorted((table / "_delta_log").glob(pattern))


def without_field_ids(rows: pa.Table) -> pa.Table:
    return pa.table([rows.column(0)], schema=pa.schema([pa.field("a", pa.int32())]))


def add_column(table: Path, id: int, physical_name: str) -> None:
    """Adds the column `e`, and sets `maxColumnId` to 4."""

    def add(metadata: Json) -> None:
        change_columns(metadata, lambda columns: columns.append(column("e", id, physical_name)))
        change_properties(metadata, maxColumnId="4")

    commit_metadata(table, add)


def track_again(table: Path) -> None:
    features = ["columnMapping", "invariants", "appendOnly"]
    commit_protocol(table, writerFeatures=features)
    commit_protocol(table, writerFeatures=[*features, "columnMappingUsageTracking"])


def use_dropped_name(table: Path) -> None:
    # The name of the column that was dropped last, which is a UUID.
    name = TableLog(table, TableLog(table).version - 1).fields["d"].physical_name
    assert name is not None
    add_column(table, 4, name)


def map_by_name(metadata: Json) -> None:
    def assign(columns: list[Json]) -> None:
        for id, field in enumerate(columns, 1):
            field["metadata"] = column(field["name"], id, field["name"])["metadata"]

    change_columns(metadata, assign)
    change_properties(metadata, mode="name", maxColumnId="2")


def forget_feature(row: Json) -> None:
    # Older releases of delta-rs omitted unknown features.
    if row["protocol"] is not None:
        row["protocol"]["writerFeatures"] = ["columnMapping"]


def without_feature(table: Path) -> None:
    rewrite_checkpoint(table, forget_feature)
    forget_checksums(table)


STATISTICS = json.dumps({"numRecords": 1, "minValues": {"col-a": 1}})
WITHOUT_MAPPING = {**column("e", 4, "e"), "metadata": {}}
UUID = "col-5d2c6f1e-8c3f-4d55-9d8e-0c7e4a3b2f10"

EDITS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "file_missing": ("tracked", lambda t: delete(data_files(t)[0])),
    "file_unreadable": ("tracked", lambda t: cut(data_files(t)[0])),
    "file_missing__vector": ("vectors", lambda t: delete(vector_files(t)[0])),
    "file_unreadable__vector_cut": ("vectors", lambda t: cut(vector_files(t)[0])),
    "file_unreadable__vector_changed": ("vectors", lambda t: change_last_byte(vector_files(t)[0])),
    "file_unreadable__vector_of_another_length": (
        "vectors",
        lambda t: edit_adds(t, lengthen_vector),
    ),
    "log_without_start": ("tracked", lambda t: delete(*log_file(t, f"{0:020}.json"))),
    "log_without_commits": ("checkpointed", lambda t: delete(*log_file(t, "[0-9]*.json"))),
    "commit_truncated": ("tracked", lambda t: truncate_commit(t, 1)),
    "commit_truncated__first_commit": ("tracked", lambda t: truncate_commit(t, 0)),
    "last_checkpoint_missing": ("checkpointed", lambda t: delete(*checkpoints(t))),
    "file_columns__logical_name": (
        "tracked",
        lambda t: rewrite(t, lambda rows: rows.append_column("A b", rows.column(0))),
    ),
    "file_unreadable__no_field_ids": ("by_id", lambda t: rewrite(t, without_field_ids)),
    "partition_values": (
        "unmapped",
        lambda t: edit_adds(t, lambda add: add.update(partitionValues={"col-p": "x"})),
    ),
    "partition_folders": ("unmapped", rename_partition_folder),
    "statistics_names": (
        "unmapped",
        lambda t: edit_adds(t, lambda add: add.update(stats=STATISTICS)),
    ),
    "statistics_names__as_structs": ("structs", lambda t: rename_statistics(t, "a", "col-a")),
    # Commits of a writer without the rules.
    "unreadable_schema": (
        "tracked",
        lambda t: commit_metadata(t, lambda metadata: metadata.update(schemaString="{}")),
    ),
    "unknown_mode": ("tracked", lambda t: commit_properties(t, mode="nome")),
    "flag_turned_back": ("dropped", lambda t: commit_properties(t, hasDroppedOrRenamed="false")),
    "drop_without_flag": ("tracked", lambda t: commit_columns(t, lambda columns: columns.pop())),
    "drop_without_flag__rename": (
        "tracked",
        lambda t: commit_columns(t, lambda columns: columns[-1].update(name="C")),
    ),
    "flag_started_false": ("tracked", track_again),
    "feature_without_flag": ("tracked", lambda t: commit_properties(t, hasDroppedOrRenamed=None)),
    "flag_not_boolean": ("tracked", lambda t: commit_properties(t, hasDroppedOrRenamed="maybe")),
    "uuid_missing": ("dropped", lambda t: add_column(t, 4, "e")),
    "id_used_again": ("dropped", lambda t: add_column(t, 3, UUID)),
    "physical_name_used_again": ("dropped", use_dropped_name),
    "column_without_mapping": (
        "tracked",
        lambda t: commit_columns(t, lambda columns: columns.append(WITHOUT_MAPPING)),
    ),
    "max_column_id_decreased": ("dropped", lambda t: commit_properties(t, maxColumnId="2")),
    "max_column_id_too_small": ("tracked", lambda t: commit_properties(t, maxColumnId=None)),
    "protocol_too_low": ("unmapped", lambda t: commit_metadata(t, map_by_name)),
    "checkpoint_differs": ("checkpointed", without_feature),
}


def edited(kind: str, edit: Callable[[Path], object]) -> Defect:
    def make(workshop: Workshop, name: str) -> Path:
        table = workshop.copy(kind, name)
        edit(table)
        return table

    return make


DEFECTS |= {name: edited(kind, edit) for name, (kind, edit) in EDITS.items()}
