# SPDX-License-Identifier: Apache-2.0
"""Writes a Spark file with page indexes, bloom filters and checksums, and a copy to break."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tests.parquet.columns import Column, plan
from tests.parquet.renamer import Renamer
from tests.support.parquet_file import ParquetFile

ROWS = 400
DROPPED, NUMBER, TEXT = "col-dropped", "col-number", "col-text"
STAYING = (Column(2, NUMBER, "number", pa.int64()), Column(3, TEXT, "text", pa.string()))


def copied_file(renamer: Renamer, folder: Path) -> tuple[ParquetFile, ParquetFile]:
    """Returns a file and a copy without the first column, so that every offset differs."""
    frame = renamer.spark.range(ROWS).coalesce(1)
    frame.selectExpr(
        f"concat('gone ', id) AS `{DROPPED}`",
        f"id AS `{NUMBER}`",
        f"IF(id % 2 = 0, NULL, concat('text ', id % 7)) AS `{TEXT}`",
    ).write.options(
        **{
            "parquet.block.size": "4000",
            "parquet.block.size.row.check.min": "10",
            "parquet.page.row.count.limit": "50",
            "parquet.bloom.filter.enabled": "true",
            "parquet.bloom.filter.expected.ndv": "100",
            f"parquet.enable.dictionary#{NUMBER}": "false",
            "parquet.page.write-checksum.enabled": "true",
            "compression": "uncompressed",
        }
    ).parquet(str(folder / "parts"))
    (source,) = (folder / "parts").glob("*.parquet")
    assert renamer.copy(source, folder / "copy.parquet", plan(STAYING)).way == "COPIED"
    return ParquetFile.of(source), ParquetFile.of(folder / "copy.parquet")
