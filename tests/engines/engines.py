# SPDX-License-Identifier: Apache-2.0
"""Reads tables by other engines, each by a function from the path of a table to its rows.

Rows are dictionaries without nulls at any level, because engines differ in how they return a null
struct: as null, or as a struct of nulls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars
from pyspark.sql import SparkSession

from tests.engines.filtered import Filter, clickhouse_rows
from tests.support.deltalake_readers import read_by_datafusion, read_by_pyarrow
from tests.support.golden_tables import without_nulls

Rows = list[dict[str, Any]]


def deltalake_by_datafusion(path: Path) -> Rows:
    return rows(read_by_datafusion(path).to_pylist())


def deltalake_by_pyarrow(path: Path) -> Rows:
    return rows(read_by_pyarrow(path).to_pylist())


def polars_(path: Path, **options: Any) -> Rows:
    return rows(polars.read_delta(str(path), **options).to_dicts())


def clickhouse(path: Path, where: str = "true") -> Rows:
    return rows(clickhouse_rows(path, f"SELECT * FROM deltaLakeLocal('{path}') WHERE {where}"))


def kernel(spark: SparkSession) -> Callable[[Path], Rows]:
    """Reads by Delta Kernel Java, from the jars of delta-spark."""
    read = filtered_kernel(spark)
    return lambda path: read(path, None)


def kernel_engine(spark: SparkSession) -> Any:
    """Returns the engine by which Kernel reads and writes files."""
    jvm: Any = spark._jvm
    return jvm.io.delta.kernel.defaults.engine.DefaultEngine.create(
        jvm.org.apache.hadoop.conf.Configuration()
    )


def filtered_kernel(spark: SparkSession) -> Callable[[Path, Filter | None], Rows]:
    """Reads by Delta Kernel Java with a filter that skips files, and filters the rows it reads.

    Kernel gets no filter on an element of an array or a value of a map.
    """
    jvm: Any = spark._jvm
    engine = kernel_engine(spark)
    internal = jvm.io.delta.kernel.internal

    def read(path: Path, where: Filter | None) -> Rows:
        snapshot = jvm.io.delta.kernel.Table.forPath(engine, str(path)).getLatestSnapshot(engine)
        schema = snapshot.getSchema()
        builder = snapshot.getScanBuilder()
        if where and len(where.names) == len(where.steps):
            builder = builder.withFilter(kernel_predicate(spark, where))
        scan = builder.build()
        state = scan.getScanState(engine)
        physical = internal.data.ScanStateRow.getPhysicalDataReadSchema(state)
        found = []
        for files in drained(scan.getScanFiles(engine)):
            for file in drained(files.getRows()):
                status = internal.InternalScanFileUtils.getAddFileStatus(file)
                data = engine.getParquetHandler().readParquetFiles(
                    internal.util.Utils.singletonCloseableIterator(status),
                    physical,
                    jvm.java.util.Optional.empty(),
                )
                batches = jvm.io.delta.kernel.Scan.transformPhysicalData(
                    engine, state, file, unwrapped(jvm, data)
                )
                for batch in drained(batches):
                    found += [kernel_row(row, schema) for row in drained(batch.getRows())]
        return rows([row for row in found if where is None or holds(where, row)])

    return read


def kernel_predicate(spark: SparkSession, where: Filter) -> Any:
    jvm: Any = spark._jvm
    gateway: Any = spark.sparkContext._gateway
    path = gateway.new_array(jvm.java.lang.String, len(where.names))
    for index, name in enumerate(where.names):
        path[index] = name
    children = jvm.java.util.ArrayList()
    children.add(jvm.io.delta.kernel.expressions.Column(path))
    literal = jvm.io.delta.kernel.expressions.Literal
    if isinstance(where.value, int):
        children.add(literal.ofInt(where.value))
    elif where.value is not None:
        children.add(literal.ofString(where.value))
    comparison = "IS_NULL" if where.value is None else "="
    return jvm.io.delta.kernel.expressions.Predicate(comparison, children)


def holds(where: Filter, row: Any) -> bool:
    for kind, step in where.steps:
        row = (row or [None])[int(step)] if kind == "element" else (row or {}).get(step)
    return bool(row == where.value)


def unwrapped(jvm: Any, results: Any) -> Any:
    """Returns the only batch of a Parquet read as an iterator, without the name of its file."""
    batches = [result.getData() for result in drained(results)]
    (only,) = batches
    return jvm.io.delta.kernel.internal.util.Utils.singletonCloseableIterator(only)


def drained(iterator: Any) -> Iterator[Any]:
    while iterator.hasNext():
        yield iterator.next()
    iterator.close()


def kernel_row(row: Any, schema: Any) -> dict[str, Any]:
    """Returns a row by logical names. Kernel names fields inside structs as the files do."""
    fields = [schema.at(index) for index in range(schema.length())]
    return {
        field.getName(): None
        if row.isNullAt(index)
        else kernel_row(row.getStruct(index), field.getDataType())
        if kind(field.getDataType()) == "StructType"
        else kernel_value(row, field.getDataType(), index)
        for index, field in enumerate(fields)
    }


def kernel_element(vector: Any, data_type: Any, index: int) -> Any:
    """Returns a value of a column vector, in which the fields of a struct are further vectors."""
    if vector.isNullAt(index):
        return None
    if kind(data_type) != "StructType":
        return kernel_value(vector, data_type, index)
    fields = [data_type.at(child) for child in range(data_type.length())]
    return {
        field.getName(): kernel_element(vector.getChild(child), field.getDataType(), index)
        for child, field in enumerate(fields)
    }


def kernel_value(holder: Any, data_type: Any, index: int) -> Any:
    """Returns a value that rows and column vectors contain alike."""
    if kind(data_type) == "ArrayType":
        array = holder.getArray(index)
        elements, element_type = array.getElements(), data_type.getElementType()
        return [kernel_element(elements, element_type, n) for n in range(array.getSize())]
    if kind(data_type) == "MapType":
        held = holder.getMap(index)
        keys, key_type = held.getKeys(), data_type.getKeyType()
        values, value_type = held.getValues(), data_type.getValueType()
        return {
            kernel_element(keys, key_type, n): kernel_element(values, value_type, n)
            for n in range(held.getSize())
        }
    getter = {"IntegerType": "getInt", "LongType": "getLong", "StringType": "getString"}
    return getattr(holder, getter[kind(data_type)])(index)


def kind(data_type: Any) -> str:
    name: str = data_type.getClass().getSimpleName()
    return name


def rows(found: list[dict[str, Any]]) -> Rows:
    plain = [without_nulls(row) or {} for row in found]
    return sorted(plain, key=lambda row: json.dumps(row, sort_keys=True, default=str))
