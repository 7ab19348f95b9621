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


def on_copy(kind: str) -> Callable[[Callable[[Path], None]], None]:
    """Registers a defect that is made in a copy of a sound table."""

    def register(break_it: Callable[[Path], None]) -> None:
        def make(workshop: Workshop, name: str) -> Path:
            table = workshop.copy(kind, name)
            break_it(table)
            return table

        DEFECTS[break_it.__name__] = make

    return register


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


# Defects by deleted or damaged files.


@on_copy("tracked")
def file_missing(table: Path) -> None:
    data_files(table)[0].unlink()


@on_copy("tracked")
def file_unreadable(table: Path) -> None:
    cut(data_files(table)[0])


@on_copy("vectors")
def file_missing__vector(table: Path) -> None:
    vector_files(table)[0].unlink()


@on_copy("vectors")
def file_unreadable__vector_cut(table: Path) -> None:
    cut(vector_files(table)[0])


@on_copy("vectors")
def file_unreadable__vector_changed(table: Path) -> None:
    change_last_byte(vector_files(table)[0])


@on_copy("vectors")
def file_unreadable__vector_of_another_length(table: Path) -> None:
    def lengthen(add: Json) -> None:
        if add.get("deletionVector"):
            add["deletionVector"]["sizeInBytes"] += 1

    edit_adds(table, lengthen)


@on_copy("tracked")
def log_without_start(table: Path) -> None:
    (table / "_delta_log" / f"{0:020}.json").unlink()


@on_copy("checkpointed")
def log_without_commits(table: Path) -> None:
    for file in (table / "_delta_log").glob("[0-9]*.json"):
        file.unlink()


@on_copy("tracked")
def commit_truncated(table: Path) -> None:
    truncate_commit(table, 1)


@on_copy("tracked")
def commit_truncated__first_commit(table: Path) -> None:
    truncate_commit(table, 0)


@on_copy("checkpointed")
def last_checkpoint_missing(table: Path) -> None:
    for file in checkpoints(table):
        file.unlink()


# Defects by edited data files and actions.


@on_copy("tracked")
def file_columns__logical_name(table: Path) -> None:
    rewrite(table, lambda rows: rows.append_column("A b", rows.column(0)))


@on_copy("by_id")
def file_unreadable__no_field_ids(table: Path) -> None:
    bare = [pa.field("a", pa.int32())]
    rewrite(table, lambda rows: pa.table([rows.column(0)], schema=pa.schema(bare)))


@on_copy("unmapped")
def partition_values(table: Path) -> None:
    def rename(add: Json) -> None:
        add["partitionValues"] = {"col-p": add["partitionValues"]["p"]}

    edit_adds(table, rename)


@on_copy("unmapped")
def partition_folders(table: Path) -> None:
    (table / "p=x").rename(table / "q=x")

    def move(add: Json) -> None:
        add["path"] = add["path"].replace("p=x", "q=x")

    edit_adds(table, move)


@on_copy("unmapped")
def statistics_names(table: Path) -> None:
    def rename(add: Json) -> None:
        add["stats"] = json.dumps({"numRecords": 1, "minValues": {"col-a": 1}})

    edit_adds(table, rename)


@on_copy("structs")
def statistics_names__as_structs(table: Path) -> None:
    rename_statistics(table, "a", "col-a")


# Defects by commits of a writer without the rules.


@on_copy("tracked")
def unreadable_schema(table: Path) -> None:
    commit_metadata(table, lambda metadata: metadata.update(schemaString="{}"))


@on_copy("tracked")
def unknown_mode(table: Path) -> None:
    commit_properties(table, mode="nome")


@on_copy("dropped")
def flag_turned_back(table: Path) -> None:
    commit_properties(table, hasDroppedOrRenamed="false")


@on_copy("tracked")
def drop_without_flag(table: Path) -> None:
    commit_columns(table, lambda columns: columns.pop())


@on_copy("tracked")
def drop_without_flag__rename(table: Path) -> None:
    commit_columns(table, lambda columns: columns[-1].update(name="C"))


@on_copy("tracked")
def flag_started_false(table: Path) -> None:
    commit_protocol(table, writerFeatures=["columnMapping", "invariants", "appendOnly"])
    commit_protocol(
        table,
        writerFeatures=["columnMapping", "invariants", "appendOnly", "columnMappingUsageTracking"],
    )


@on_copy("tracked")
def feature_without_flag(table: Path) -> None:
    commit_properties(table, hasDroppedOrRenamed=None)


@on_copy("tracked")
def flag_not_boolean(table: Path) -> None:
    commit_properties(table, hasDroppedOrRenamed="maybe")


def add_column(table: Path, id: int, physical_name: str) -> None:
    """Adds the column `e`, and sets `maxColumnId` to 4."""

    def add(metadata: Json) -> None:
        change_columns(metadata, lambda columns: columns.append(column("e", id, physical_name)))
        change_properties(metadata, maxColumnId="4")

    commit_metadata(table, add)


@on_copy("dropped")
def uuid_missing(table: Path) -> None:
    add_column(table, 4, "e")


@on_copy("dropped")
def id_used_again(table: Path) -> None:
    add_column(table, 3, "col-5d2c6f1e-8c3f-4d55-9d8e-0c7e4a3b2f10")


@on_copy("dropped")
def physical_name_used_again(table: Path) -> None:
    # The name of the column that was dropped last, which is a UUID.
    name = TableLog(table, TableLog(table).version - 1).fields["d"].physical_name
    assert name is not None
    add_column(table, 4, name)


@on_copy("tracked")
def column_without_mapping(table: Path) -> None:
    commit_columns(table, lambda columns: columns.append({**column("e", 4, "e"), "metadata": {}}))


@on_copy("dropped")
def max_column_id_decreased(table: Path) -> None:
    commit_properties(table, maxColumnId="2")


@on_copy("tracked")
def max_column_id_too_small(table: Path) -> None:
    commit_properties(table, maxColumnId=None)


@on_copy("unmapped")
def protocol_too_low(table: Path) -> None:
    def map_by_name(metadata: Json) -> None:
        def assign(columns: list[Json]) -> None:
            for id, field in enumerate(columns, 1):
                field["metadata"] = column(field["name"], id, field["name"])["metadata"]

        change_columns(metadata, assign)
        change_properties(metadata, mode="name", maxColumnId="2")

    commit_metadata(table, map_by_name)


@on_copy("checkpointed")
def checkpoint_differs(table: Path) -> None:
    # Older releases of delta-rs omitted unknown features.
    def forget(row: Json) -> None:
        if row["protocol"] is not None:
            row["protocol"]["writerFeatures"] = ["columnMapping"]

    rewrite_checkpoint(table, forget)
    forget_checksums(table)
