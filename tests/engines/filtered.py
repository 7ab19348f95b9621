# SPDX-License-Identifier: Apache-2.0
"""Other engines with a filter that they may push down to files, each by the name of its function.

As a script it runs in an environment that has the engine and nothing of ours:
`python filtered.py duckdb PATH FILTERS` prints what comes of them, the whole table first.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Filter:
    """A comparison of a column with a text; without one, whether the column is null."""

    column: str
    value: str | None = None

    @property
    def sql(self) -> str:
        return f"{self.column} IS NULL" if self.value is None else f"{self.column} = '{self.value}'"


def clickhouse(path: Path, where: Filter | None, settings: str = "") -> Rows:
    import chdb

    # See `test_clickhouse_and_the_fields_of_structs`.
    columns = "id" if where else "*"
    condition = f"WHERE {where.sql}" if where else ""
    options = ["output_format_json_quote_64bit_integers = 0", *([settings] if settings else [])]
    query = (
        f"SELECT {columns} FROM deltaLakeLocal('{path}') {condition} SETTINGS {', '.join(options)}"
    )
    # It reads files below the working directory only.
    before = Path.cwd()
    os.chdir(path)
    try:
        answer = str(chdb.query(query, "JSONEachRow"))
    finally:
        os.chdir(before)
    return [json.loads(line) for line in answer.splitlines()]


def clickhouse_without_push_down(path: Path, where: Filter | None) -> Rows:
    """As docs/other-engines.md has it."""
    settings = (
        "input_format_parquet_filter_push_down = 0, input_format_parquet_page_filter_push_down = 0"
    )
    return clickhouse(path, where, settings)


def deltalake_by_datafusion(path: Path, where: Filter | None) -> Rows:
    import pyarrow
    from deltalake import DeltaTable, QueryBuilder

    condition = f"WHERE {where.sql}" if where else ""
    query = QueryBuilder().register("t", DeltaTable(str(path)))
    found = pyarrow.table(query.execute(f"SELECT * FROM t {condition}"))
    return list(found.to_pylist(maps_as_pydicts="strict"))


def deltalake_by_pyarrow(path: Path, where: Filter | None) -> Rows:
    import pyarrow.dataset
    from deltalake import DeltaTable

    dataset = DeltaTable(str(path)).to_pyarrow_dataset()
    if where is None:
        return list(dataset.to_table().to_pylist(maps_as_pydicts="strict"))
    column = pyarrow.dataset.field(*where.column.split("."))
    condition = column.is_null() if where.value is None else column == where.value
    return list(dataset.to_table(filter=condition).to_pylist())


def polars(path: Path, where: Filter | None) -> Rows:
    import polars

    frame = polars.scan_delta(str(path))
    return list((frame.filter(polars.sql_expr(where.sql)) if where else frame).collect().to_dicts())


def polars_deltalake(path: Path, where: Filter | None) -> Rows:
    import polars
    import polars_deltalake

    frame = polars_deltalake.scan_delta(str(path))
    return list((frame.filter(polars.sql_expr(where.sql)) if where else frame).collect().to_dicts())


def daft(path: Path, where: Filter | None) -> Rows:
    import daft

    frame = daft.read_deltalake(str(path))
    if where:
        first, *inner = where.column.split(".")
        column = daft.col(first)
        for name in inner:
            column = column.get(name)
        frame = frame.where(column.is_null() if where.value is None else column == where.value)
    return list(frame.to_pylist())


def duckdb(path: Path, where: Filter | None) -> Rows:
    import duckdb
    import duckdb_extension_delta

    # It installs none from the net: the package has the one of its version.
    (extension,) = Path(duckdb_extension_delta.__path__[0]).rglob("*.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    condition = f"WHERE {where.sql}" if where else ""
    found = connection.execute(f"SELECT * FROM delta_scan('{path}') {condition}")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def sail(path: Path, where: Filter | None) -> Rows:
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer()
    server.start(background=True)
    _, port = server.listening_address
    session = SparkSession.builder.remote(f"sc://localhost:{port}").create()
    try:
        frame = session.read.format("delta").load(str(path))
        rows = (frame.where(where.sql) if where else frame).collect()
        return [row.asDict(recursive=True) for row in rows]
    finally:
        session.stop()
        server.stop()


ENGINES: dict[str, Callable[[Path, Filter | None], Rows]] = {
    engine.__name__: engine
    for engine in (
        clickhouse,
        clickhouse_without_push_down,
        deltalake_by_datafusion,
        deltalake_by_pyarrow,
        polars,
        polars_deltalake,
        daft,
        duckdb,
        sail,
    )
}


def told(
    engine: Callable[[Path, Filter | None], Rows], path: Path, where: Filter | None
) -> Rows | str:
    """What an engine reads, or that it refuses."""
    try:
        return engine(path, where)
    except Exception as refusal:
        return type(refusal).__name__


if __name__ == "__main__":
    name, table, filters = sys.argv[1:]
    asked = [None, *(Filter(*each) for each in json.loads(filters))]
    found = [told(ENGINES[name], Path(table), each) for each in asked]
    print(json.dumps(found))
