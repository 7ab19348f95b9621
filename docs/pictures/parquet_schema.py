# SPDX-License-Identifier: Apache-2.0
"""Draws the Parquet schema of one table, by plain Delta and with usage tracking: `make pictures`.

The names, the types and the rows come from two real tables. `tests/integration/test_pictures.py`
makes both tables again and compares the picture.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path

import pyarrow.parquet
from deltalake import DeltaTable
from pyspark.sql import SparkSession

import spark_ext

PICTURE = Path(__file__).with_name("parquet-schema.svg")
NAME_MODE = "'delta.columnMapping.mode' = 'name'"
TRACKED = "'delta.feature.columnMappingUsageTracking' = 'supported'"
WIDTH, HEIGHT, PANEL = 560, 232, 256


@dataclass(frozen=True)
class Panel:
    """Contains the schema of a data file, and the row that a reader without column mapping gets."""

    title: str
    schema: list[tuple[str, str]]
    row: dict[str, object]


def panel(spark: SparkSession, title: str, path: Path, *properties: str) -> Panel:
    """Creates the table, writes one row, and reads it without Spark."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, city STRING, fare DOUBLE) USING delta "
        f"TBLPROPERTIES ({', '.join(properties)})"
    )
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, 'Rome', 9.5)")
    table = DeltaTable(path)
    (file,) = table.file_uris()
    fields = pyarrow.parquet.read_schema(file)
    (row,) = table.to_pyarrow_table().to_pylist()
    return Panel(title, [(field.name, str(field.type)) for field in fields], row)


def panels(spark: SparkSession, folder: Path) -> list[Panel]:
    """Returns both panels, made in a folder."""
    return [
        panel(spark, "plain Delta", folder / "plain", NAME_MODE),
        panel(spark, "with spark-ext, tracked", folder / "tracked", NAME_MODE, TRACKED),
    ]


def picture(panels: list[Panel]) -> str:
    """Returns the SVG."""
    parts = [part for at, shown in enumerate(panels) for part in drawn(shown, 16 + at * 272)]
    described = "; ".join(
        f"{shown.title}: {', '.join(name for name, _ in shown.schema)}" for shown in panels
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-labelledby="title desc">',
            '  <title id="title">Column names in a Parquet file</title>',
            f'  <desc id="desc">{escape(described)}</desc>',
            "  <style>",
            "    text { font: 15px system-ui, sans-serif; fill: #0f172a }",
            "    .code { font: 13px ui-monospace, Menlo, Consolas, monospace }",
            "    .small { font-size: 13px; fill: #475569 }",
            "    .before { fill: #b91c1c } .after { fill: #15803d }",
            "  </style>",
            f'  <rect width="{WIDTH}" height="{HEIGHT}" fill="#f8fafc" stroke="#cbd5e1"/>',
            *parts,
            "</svg>\n",
        ]
    )


def drawn(shown: Panel, left: int) -> list[str]:
    """Returns the lines of one panel."""
    lines = [
        f'  <rect x="{left}" y="50" width="{PANEL}" height="110" rx="6" fill="#ffffff" '
        'stroke="#94a3b8"/>',
        text(left, 32, shown.title),
        text(left + 12, 74, "schema of the Parquet file", "small"),
    ]
    for row, (name, of_type) in enumerate(shown.schema):
        is_readable = name in shown.row
        kind = "code after" if is_readable else "code before"
        lines.append(text(left + 12, 98 + 22 * row, f"{shortened(name)}: {of_type}", kind))
    reader = "deltalake, to_pyarrow_table():"
    values = ", ".join(f"{name} {value}" for name, value in shown.row.items())
    is_right = None not in shown.row.values()
    lines.append(text(left, 188, reader, "small"))
    lines.append(text(left, 212, values, f"code {'after' if is_right else 'before'}"))
    return lines


def shortened(name: str) -> str:
    """Returns a physical name, and shortens its UUID."""
    return f"{name[:17]}.." if name.startswith("col-") else name


def text(x: int, y: int, words: str, kind: str = "") -> str:
    """Returns a text element."""
    attribute = f' class="{kind}"' if kind else ""
    return f'  <text x="{x}" y="{y}"{attribute}>{escape(words)}</text>'


def main() -> None:
    """Starts a session and writes the picture."""
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        spark = spark_ext.configure(builder).getOrCreate()
        PICTURE.write_text(picture(panels(spark, Path(folder))))
        spark.stop()
    print(f"Written: {PICTURE}", file=sys.stderr)


if __name__ == "__main__":
    main()
