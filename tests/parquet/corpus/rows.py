# SPDX-License-Identifier: Apache-2.0
"""The rows that every writer of the corpus writes, as an Arrow stream and as lines of JSON."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 240
S = pa.struct({"p_x": pa.int32(), "p_y": pa.string()})
ELEMENT = pa.struct({"p_u": pa.int32(), "p_v": pa.string()})
VALUE = pa.struct({"p_w": pa.int64(), "p_z": pa.string()})

# The first, a middle and the last column are dropped in turn.
PLAIN = pa.schema(
    {
        "p_row": pa.int64(),
        "p_text": pa.string(),
        "p_flag": pa.bool_(),
        "p_int": pa.int32(),
        "p_float": pa.float32(),
        "p_double": pa.float64(),
        "p_binary": pa.binary(),
        "p_date": pa.date32(),
        "p_time": pa.timestamp("us", "UTC"),
        "p_decimal": pa.decimal128(18, 4),
    }
)
NESTED = pa.schema(
    {
        "p_s": S,
        "p_list": pa.list_(pa.float64()),
        "p_lists": pa.list_(pa.list_(pa.int32())),
        "p_structs": pa.list_(ELEMENT),
        "p_map": pa.map_(pa.string(), VALUE),
        "p_last": pa.string(),
    }
)
OTHERS = pa.schema(
    {
        "p_row": pa.int64(),
        "p_int8": pa.int8(),
        "p_int16": pa.int16(),
        "p_uint8": pa.uint8(),
        "p_uint16": pa.uint16(),
        "p_uint32": pa.uint32(),
        "p_uint64": pa.uint64(),
        "p_half": pa.float16(),
        "p_local": pa.timestamp("us"),
        "p_milli": pa.timestamp("ms", "UTC"),
        "p_clock": pa.time64("us"),
        "p_small": pa.decimal128(9, 2),
        "p_large": pa.decimal128(38, 10),
        "p_fixed": pa.binary(16),
        "p_last": pa.string(),
    }
)
DAY = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)


def row(number: int) -> dict[str, Any]:
    """Returns a row. Every fifth row has only `p_row`; Arrow makes its other columns null."""
    empty = number % 5 == 4
    instant = DAY + timedelta(hours=number, microseconds=number)
    found: dict[str, Any] = {
        "p_text": f"text {number % 11}",
        "p_flag": number % 3 == 0,
        "p_int": number - 100,
        "p_float": math.nan if number % 7 == 0 else number / 8,
        "p_double": math.nan if number % 9 == 0 else number / 16,
        "p_binary": f"bytes {number}".encode(),
        "p_date": date(2026, 1, 1) + timedelta(days=number),
        "p_time": instant,
        "p_decimal": Decimal(number).scaleb(-4),
        "p_s": {"p_x": number, "p_y": None if number % 4 == 0 else f"y {number}"},
        "p_list": [math.nan, *(n / 4 for n in range(number % 4))],
        "p_lists": [[number, None], []][: number % 3],
        "p_structs": [{"p_u": n, "p_v": f"v {number}"} for n in range(number % 3)],
        "p_map": [(f"key {n}", {"p_w": n, "p_z": f"z {number}"}) for n in range(number % 3)],
        "p_last": f"last {number}",
        "p_int8": number % 100,
        "p_int16": number,
        "p_uint8": number % 256,
        "p_uint16": number + 40_000,
        "p_uint32": number + 3_000_000_000,
        "p_uint64": number + (1 << 63),
        "p_half": number / 2,
        "p_local": instant.replace(tzinfo=None),
        "p_milli": instant.replace(microsecond=number * 1000),
        "p_clock": time(1, 2, number % 60, number),
        "p_small": Decimal(number).scaleb(-2),
        "p_large": Decimal(number * 10**15).scaleb(-10),
        "p_fixed": f"fixed {number:010}".encode(),
    }
    return {"p_row": number, **({} if empty else found)}


def arrow_table(schema: pa.Schema, rows: int = ROWS) -> pa.Table:
    return pa.Table.from_pylist([row(number) for number in range(rows)], schema=schema)


def write(folder: Path) -> None:
    """Writes `rows` and `others`, each as Arrow and JSON, and `rows.parquet` for other writers.

    Units in JSON: dates in days and times in microseconds since 1970 or midnight, decimals in units
    of their last digit, floating-point numbers as text.
    """
    folder.mkdir(parents=True)
    everything = pa.schema([*PLAIN, *NESTED])
    for name, schema in (("rows", everything), ("others", OTHERS)):
        table = arrow_table(schema)
        with pa.ipc.new_stream(folder / f"{name}.arrow", schema) as stream:
            stream.write_table(table)
        if name == "rows":
            pq.write_table(table, folder / "rows.parquet")
        lines = [json.dumps(_plain(each)) for each in table.to_pylist()]
        (folder / f"{name}.json").write_text("\n".join(lines) + "\n")


def _plain(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _plain(each, key) for key, each in value.items()}
    if isinstance(value, list) and name == "p_map":
        return {key: _plain(each) for key, each in value}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return str(value).replace("nan", "NaN")
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, time):
        value = datetime.combine(date(1970, 1, 1), value)
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1, tzinfo=value.tzinfo)) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    if isinstance(value, Decimal):
        return int(value.scaleb(-int(value.as_tuple().exponent)))
    return value
