# SPDX-License-Identifier: Apache-2.0
"""Reads tables by other engines with filters that the engines may push down to files.

As a script, this file runs in an environment with one engine and without spark-ext:
`python filtered.py duckdb PATH FILTERS` prints the answers, first that without a filter.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


STEP = re.compile(r"\['(?P<key>\w+)'\]|\[(?P<element>\d+)\]|(?P<field>\w+)")


@dataclass(frozen=True)
class Filter:
    """Compares a column with a value, or with null if the value is None.

    Args:
        column: A column or a part of one, as Spark writes it: `s.town`, `points[0].x`,
            `places['a'].town`.
    """

    column: str
    value: str | int | None = None

    @property
    def sql(self) -> str:
        return f"{self.column} {self.comparison}"

    @property
    def comparison(self) -> str:
        return "IS NULL" if self.value is None else f"= {self.value!r}"

    @property
    def steps(self) -> list[tuple[str, str]]:
        """Returns the steps to the compared value and their kinds: `field`, `element`, `key`."""
        found = STEP.finditer(self.column)
        return [(str(step.lastgroup), step[step.lastgroup or 0]) for step in found]

    @property
    def names(self) -> list[str]:
        """Returns the names of the steps before the first element or key."""
        return [name for _, name in takewhile(lambda step: step[0] == "field", self.steps)]

    def sql_from_one(self, field: str = ".{}") -> str:
        """Returns SQL for engines that count elements from 1, or that write fields differently."""
        ways = {"field": field, "key": "['{}']"}
        (_, column), *inner = self.steps
        for kind, step in inner:
            column += f"[{int(step) + 1}]" if kind == "element" else ways[kind].format(step)
        return f"{column} {self.comparison}"


def clickhouse_rows(path: Path, query: str, settings: str = "") -> Rows:
    """Reads by chDB, which reads only files below the working directory."""
    import chdb

    options = ", ".join(filter(None, ["output_format_json_quote_64bit_integers = 0", settings]))
    before = Path.cwd()
    os.chdir(path)
    try:
        answer = str(chdb.query(f"{query} SETTINGS {options}", "JSONEachRow"))
    finally:
        os.chdir(before)
    return [json.loads(line) for line in answer.splitlines()]


def clickhouse(path: Path, where: Filter | None, settings: str = "") -> Rows:
    # See `test_clickhouse_filters_fields_of_structs_as_listed`.
    columns = "id" if where else "*"
    condition = f"WHERE {where.sql_from_one()}" if where else ""
    query = f"SELECT {columns} FROM deltaLakeLocal('{path}') {condition}"
    return clickhouse_rows(path, query, settings)


def clickhouse_without_push_down(path: Path, where: Filter | None) -> Rows:
    """Reads by ClickHouse with the settings of docs/for-engines.md."""
    settings = (
        "input_format_parquet_filter_push_down = 0, input_format_parquet_page_filter_push_down = 0"
    )
    return clickhouse(path, where, settings)


def deltalake_by_datafusion(path: Path, where: Filter | None) -> Rows:
    import pyarrow
    from deltalake import DeltaTable, QueryBuilder

    # Columns that the engine cannot read are not the subject of the filter.
    columns = "id" if where else "*"
    compared = where.sql_from_one(field="['{}']") if where else ""
    condition = f"WHERE {compared}" if where else ""
    query = QueryBuilder().register("t", DeltaTable(str(path)))
    found = pyarrow.table(query.execute(f"SELECT {columns} FROM t {condition}"))
    return list(found.to_pylist(maps_as_pydicts="strict"))


def deltalake_by_pyarrow(path: Path, where: Filter | None) -> Rows:
    import pyarrow.compute
    import pyarrow.dataset
    from deltalake import DeltaTable

    dataset = DeltaTable(str(path)).to_pyarrow_dataset()
    if where is None:
        return list(dataset.to_table().to_pylist(maps_as_pydicts="strict"))
    column = pyarrow.dataset.field(*where.names)
    for kind, step in where.steps[len(where.names) :]:
        if kind == "element":
            column = pyarrow.compute.list_element(column, int(step))
        elif kind == "key":
            column = pyarrow.compute.map_lookup(column, step, "first")
        else:
            column = pyarrow.compute.struct_field(column, step)
    condition = column.is_null() if where.value is None else column == where.value
    return list(dataset.to_table(filter=condition).to_pylist())


def polars(path: Path, where: Filter | None) -> Rows:
    import polars

    return of_polars(polars.scan_delta(str(path)), where)


def polars_deltalake(path: Path, where: Filter | None) -> Rows:
    import polars_deltalake

    return of_polars(polars_deltalake.scan_delta(str(path)), where)


def of_polars(frame: Any, where: Filter | None) -> Rows:
    """Returns the rows of a frame. In polars, a map is a list of structs of `key` and `value`."""
    import polars

    if where:
        element = polars.element()
        column = polars.col(where.names[0])
        for kind, step in where.steps[1:]:
            if kind == "element":
                column = column.list.get(int(step), null_on_oob=True)
            elif kind == "key":
                entries = column.list.eval(element.filter(element.struct.field("key") == step))
                column = entries.list.first().struct.field("value")
            else:
                column = column.struct.field(step)
        frame = frame.filter(column.is_null() if where.value is None else column == where.value)
    rows = frame.collect().to_dicts()
    return [{name: plain_map(value) for name, value in row.items()} for row in rows]


def plain_map(value: Any) -> Any:
    is_map = isinstance(value, list) and value and list(value[0]) == ["key", "value"]
    return {entry["key"]: entry["value"] for entry in value} if is_map else value


def daft(path: Path, where: Filter | None) -> Rows:
    import daft

    frame = daft.read_deltalake(str(path))
    if where:
        column = daft.col(where.names[0])
        for kind, step in where.steps[1:]:
            if kind == "key":
                column = column.map_get(step)
            else:
                column = column.get(int(step) if kind == "element" else step)
        kept = frame.where(column.is_null() if where.value is None else column == where.value)
        return list(kept.select("id").to_pylist())
    return list(frame.to_pylist())


def duckdb(path: Path, where: Filter | None) -> Rows:
    import duckdb
    import duckdb_extension_delta

    # The package contains the extension of its version, so DuckDB installs none from the network.
    (extension,) = Path(duckdb_extension_delta.__path__[0]).rglob("*.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    condition = f"WHERE {where.sql_from_one()}" if where else ""
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
        rows = (frame.where(where.sql).select("id") if where else frame).collect()
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

# The engines that a checkout installs. The other engines run in environments of the matrix.
HERE = (
    "clickhouse",
    "clickhouse_without_push_down",
    "deltalake_by_datafusion",
    "deltalake_by_pyarrow",
    "polars",
)


def answer_of(
    engine: Callable[[Path, Filter | None], Rows], path: Path, where: Filter | None
) -> Rows | str:
    """Returns the rows that an engine reads, or its refusal."""
    try:
        return engine(path, where)
    except Exception as refusal:
        return type(refusal).__name__


if __name__ == "__main__":
    name, table, filters = sys.argv[1:]
    requested = [None, *(Filter(*each) for each in json.loads(filters))]
    found = [answer_of(ENGINES[name], Path(table), each) for each in requested]
    print(json.dumps(found), flush=True)
    # Threads of Daft may end after the interpreter, which then aborts.
    os._exit(0)
