# SPDX-License-Identifier: Apache-2.0
"""Lists the routes by which new columns reach Delta.

They are SQL, DataFrame writers, MERGE, streams and builders. A row of `statements/*.txt` runs over
its routes. `make test-all` runs a route of each kind, and the matrix runs all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from delta.tables import DeltaTable, DeltaTableBuilder
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from tests.integration.streams import start_sink
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.releases import (
    AUTO_MERGE,
    CASTS_EVOLVING_INSERTS,
    REPLACED_COLUMNS_ARE_NEW,
    evolving_merge,
)
from tests.support.session_conf import session_conf
from tests.support.table_log import FEATURE

FEATURE_PROPERTY = f"delta.feature.{FEATURE}"
MODE = "delta.columnMapping.mode"
CANNOT_MERGE = "DELTA_FAILED_TO_MERGE_FIELDS"
CANNOT_CAST = "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"


@dataclass(frozen=True)
class Route:
    """Describes a way to write the rows of a query, or only its columns.

    Attributes:
        run: Writes the rows of a query to a table.
        in_every_run: Whether `make test-all` runs the route, as the example of its kind.
        has_rows: Whether the table has the rows afterwards, or only the columns.
        updates: Whether a row replaces the row of the same `id`.
        refusal: The condition for a type that cannot be merged with the column's type.
        marks: The marks that a test of the route needs.
    """

    run: Callable[..., object]
    in_every_run: bool = False
    has_rows: bool = True
    updates: bool = False
    refusal: str = CANNOT_MERGE
    marks: Sequence[pytest.MarkDecorator] = ()


def columns_of(table: Table, query: str) -> StructType:
    return table.spark.sql(query).schema


def ddl(table: Table, query: str) -> str:
    """Returns the columns of a query as CREATE TABLE needs them."""
    columns: str = table.spark.sql(query)._jdf.schema().toDDL()
    return columns


# Appends and upserts, which add the columns that the table lacks.


def merge(table: Table, query: str, evolution: str = "") -> None:
    table.spark.sql(
        f"MERGE {evolution} INTO {table.name} t USING ({query}) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def merge_in_sql(table: Table, query: str) -> None:
    with evolving_merge(table.spark):
        merge(table, query, "WITH SCHEMA EVOLUTION")


def merge_by_builder(table: Table, query: str) -> None:
    target = table.delta_table.alias("t")
    rows = table.spark.sql(query).alias("s")
    evolving = target.merge(rows, "t.id = s.id").withSchemaEvolution()
    evolving.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


def merge_by_auto_merge(table: Table, query: str) -> None:
    with session_conf(table.spark, {AUTO_MERGE: "true"}):
        merge(table, query)


def append(table: Table, rows: DataFrame) -> Any:
    return rows.write.format("delta").mode("append").option("mergeSchema", "true")


def save(table: Table, query: str) -> None:
    append(table, table.spark.sql(query)).save(str(table.path))


def save_as_table(table: Table, query: str) -> None:
    append(table, table.spark.sql(query)).saveAsTable(table.name)


def writer_v2_append(table: Table, query: str) -> None:
    table.spark.sql(query).writeTo(table.name).option("mergeSchema", "true").append()


def insert_by_name(table: Table, query: str) -> None:
    with session_conf(table.spark, {AUTO_MERGE: "true"}):
        table.spark.sql(f"INSERT INTO {table.name} BY NAME {query}")


def stream(table: Table, query: str) -> None:
    source = table.path.with_name("streamed")
    writer = table.spark.sql(query).coalesce(1).write.format("delta").option(MODE, "name")
    writer.save(str(source))
    rows = table.spark.readStream.format("delta").load(str(source))
    start_sink(rows, table.path, mergeSchema="true").awaitTermination()


# INSERT BY NAME and writers to a named table cast to its types first, since Delta 4.2.
CASTING = CANNOT_CAST if CASTS_EVOLVING_INSERTS else CANNOT_MERGE
INSERTING = (
    CANNOT_CAST if CASTS_EVOLVING_INSERTS else "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS"
)
WRITES = {
    "MERGE WITH SCHEMA EVOLUTION": Route(merge_in_sql, in_every_run=True, updates=True),
    "DeltaTable.merge": Route(merge_by_builder, updates=True),
    "MERGE with autoMerge": Route(merge_by_auto_merge, updates=True),
    "df.write.save": Route(save, in_every_run=True),
    "df.write.saveAsTable": Route(save_as_table, refusal=CASTING),
    "df.writeTo.append": Route(writer_v2_append, refusal=CASTING),
    "INSERT BY NAME": Route(insert_by_name, refusal=INSERTING),
}
STREAM = {"df.writeStream": Route(stream, in_every_run=True)}


# Replacements of all columns and rows of a table.


def overwrite_table(table: Table, query: str) -> None:
    writer = table.spark.sql(query).write.format("delta").mode("overwrite")
    writer.option("overwriteSchema", "true").saveAsTable(table.name)


def as_select(statement: str) -> Callable[..., None]:
    def run(table: Table, query: str, properties: str = NAME_MODE) -> None:
        table.spark.sql(
            f"{statement} TABLE {table.name} USING delta TBLPROPERTIES ({properties}) AS {query}"
        )

    return run


def of_columns(statement: str) -> Callable[..., None]:
    def run(table: Table, query: str, properties: str = NAME_MODE) -> None:
        table.spark.sql(
            f"{statement} TABLE {table.name} ({ddl(table, query)}) USING delta"
            f" TBLPROPERTIES ({properties})"
        )

    return run


def writer_v2(method: str) -> Callable[[Table, str], None]:
    def run(table: Table, query: str) -> None:
        writer = table.spark.sql(query).writeTo(table.name).using("delta")
        getattr(writer.tableProperty(MODE, "name"), method)()

    return run


def builder(method: str, *properties: str) -> Callable[[Table, str], None]:
    def run(table: Table, query: str) -> None:
        start: DeltaTableBuilder = getattr(DeltaTable, method)(table.spark)
        replacing = start.tableName(table.name).addColumns(columns_of(table, query))
        for key in properties:
            replacing = replacing.property(key, "supported")
        replacing.property(MODE, "name").execute()

    return run


replace_as_select = as_select("REPLACE")
KEPT = (REPLACED_COLUMNS_ARE_NEW,)
REPLACEMENTS = {
    "overwriteSchema": Route(Table.overwrite, in_every_run=True),
    "REPLACE TABLE AS SELECT": Route(replace_as_select, in_every_run=True, marks=KEPT),
    "CREATE OR REPLACE TABLE AS SELECT": Route(as_select("CREATE OR REPLACE"), marks=KEPT),
    "df.write.overwriteSchema.saveAsTable": Route(overwrite_table, marks=KEPT),
    "df.writeTo.replace": Route(writer_v2("replace"), marks=KEPT),
    "df.writeTo.createOrReplace": Route(writer_v2("createOrReplace"), marks=KEPT),
    "REPLACE TABLE": Route(of_columns("REPLACE"), has_rows=False, marks=KEPT),
    "CREATE OR REPLACE TABLE": Route(of_columns("CREATE OR REPLACE"), has_rows=False, marks=KEPT),
    "DeltaTable.replace": Route(builder("replace"), has_rows=False, marks=KEPT),
    "DeltaTable.createOrReplace": Route(
        builder("createOrReplace", FEATURE_PROPERTY),
        in_every_run=True,
        has_rows=False,
        marks=KEPT,
    ),
}


# New tables, tracked and of a mode of column mapping.


def properties_of(mode: str) -> str:
    return f"{TRACKED}, '{MODE}' = '{mode}'"


def create_as_select(table: Table, query: str, mode: str) -> None:
    as_select("CREATE")(table, query, properties_of(mode))


def create_of_columns(statement: str) -> Callable[[Table, str, str], None]:
    def run(table: Table, query: str, mode: str) -> None:
        clause = f"({ddl(table, query)}) USING delta TBLPROPERTIES ({properties_of(mode)})"
        table.spark.sql(statement.format(table.name) + clause)

    return run


def create_by_builder(method: str) -> Callable[[Table, str, str], None]:
    def run(table: Table, query: str, mode: str) -> None:
        start: DeltaTableBuilder = getattr(DeltaTable, method)(table.spark)
        creating = start.location(str(table.path)).addColumns(columns_of(table, query))
        creating.property(FEATURE_PROPERTY, "supported").property(MODE, mode).execute()

    return run


def save_new(method: str) -> Callable[[Table, str, str], None]:
    def run(table: Table, query: str, mode: str) -> None:
        writer = table.spark.sql(query).write.format("delta")
        writer = writer.option(FEATURE_PROPERTY, "supported").option(MODE, mode)
        getattr(writer, method)(table.name if method == "saveAsTable" else str(table.path))

    return run


def writer_v2_create(table: Table, query: str, mode: str) -> None:
    writer = table.spark.sql(query).writeTo(table.name).using("delta")
    writer = writer.tableProperty(FEATURE_PROPERTY, "supported").tableProperty(MODE, mode)
    writer.create()


CREATIONS = {
    "CREATE TABLE": Route(create_of_columns("CREATE TABLE {}"), in_every_run=True, has_rows=False),
    "CREATE TABLE IF NOT EXISTS": Route(
        create_of_columns("CREATE TABLE IF NOT EXISTS {}"), has_rows=False
    ),
    "CREATE TABLE AS SELECT": Route(create_as_select, in_every_run=True),
    "df.write.save": Route(save_new("save")),
    "df.write.saveAsTable": Route(save_new("saveAsTable")),
    "df.writeTo.create": Route(writer_v2_create),
    "DeltaTable.create": Route(create_by_builder("create"), in_every_run=True, has_rows=False),
    "DeltaTable.createIfNotExists": Route(create_by_builder("createIfNotExists"), has_rows=False),
    "DeltaTable.createOrReplace": Route(create_by_builder("createOrReplace"), has_rows=False),
}
