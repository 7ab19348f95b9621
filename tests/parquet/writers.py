# SPDX-License-Identifier: Apache-2.0
"""Writes files by the writers whose files are copied, each with its own features."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chdb
import deltalake
import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from tests.parquet.columns import KEY, ROW
from tests.support.session_conf import session_conf

# Sizes for several row groups in a few hundred rows, each with several pages.
SMALL = {
    "parquet.block.size": "30000",
    "parquet.page.size": "1000",
    "parquet.page.row.count.limit": "40",
    "parquet.page.size.row.check.min": "20",
    "parquet.block.size.row.check.min": "20",
    "parquet.bloom.filter.enabled": "false",
}
BLOOM = {
    f"parquet.bloom.filter.enabled#{KEY.name}": "true",
    f"parquet.bloom.filter.expected.ndv#{KEY.name}": "300",
    f"parquet.enable.dictionary#{KEY.name}": "false",
}

SPARK: dict[str, dict[str, str]] = {
    "spark, snappy": {**SMALL, **BLOOM, "compression": "snappy"},
    "spark, uncompressed": {"compression": "uncompressed"},
    "spark, gzip, v2": {**SMALL, **BLOOM, "compression": "gzip", "parquet.writer.version": "v2"},
    "spark, zstd, plain": {**SMALL, "compression": "zstd", "parquet.enable.dictionary": "false"},
    "spark, lz4": {**SMALL, **BLOOM, "compression": "lz4"},  # Hadoop's format, with its own lengths
    "spark, lz4_raw, v2, no checksums": {
        "compression": "lz4_raw",
        "parquet.writer.version": "v2",
        "parquet.page.write-checksum.enabled": "false",
    },
}
# Names of lists and maps as Hive and Impala write them, and times as INT64 instead of INT96.
LEGACY = "spark, legacy"
LEGACY_CONF = {
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}

# Spark lacks a codec or an encoding, but a removal copies the files.
BROTLI, DUCKDB = "pyarrow, brotli", "DuckDB"

PYARROW: dict[str, dict[str, Any]] = {
    "pyarrow, plain pages": {
        "compression": "none",
        "use_dictionary": False,
        "write_page_index": True,
        "write_page_checksum": True,
        "row_group_size": 100,
        "data_page_size": 400,
        "write_batch_size": 10,
    },
    "pyarrow, zstd, v2": {
        "compression": "zstd",
        "data_page_version": "2.0",
        "row_group_size": 130,
        "write_page_index": True,
    },
    "pyarrow, gzip, no statistics": {
        "compression": "gzip",
        "write_statistics": False,
        "use_compliant_nested_type": False,
        "store_schema": False,
    },
    "pyarrow, lz4, filters, sorted": {
        "compression": "lz4",
        "row_group_size": 150,
        "bloom_filter_options": {KEY.name: {"ndv": 150, "fpp": 0.01}},
        "use_dictionary": False,
        "sorting_columns": [pq.SortingColumn(0), pq.SortingColumn(1)],
    },
    BROTLI: {"compression": "brotli"},
}


def write_all(spark: SparkSession, table: pa.Table, folder: Path) -> dict[str, Path]:
    """Writes the same table by every writer."""
    files = {}
    for name, options in PYARROW.items():
        files[name] = folder / f"{name}.parquet"
        pq.write_table(table, files[name], **options)
    source = files["pyarrow, gzip, no statistics"]
    frame = spark.read.parquet(str(source)).coalesce(1).sort(ROW.name)
    for name, options in SPARK.items():
        files[name] = written(frame, options, folder / f"{name}.parquet")
    with session_conf(spark, LEGACY_CONF):
        files[LEGACY] = written(frame, SMALL, folder / f"{LEGACY}.parquet")
    files.update(other_engines(table, source, folder))
    return files


def written(frame: DataFrame, options: dict[str, str], file: Path) -> Path:
    parts = file.with_suffix(".parts")
    frame.write.options(**options).parquet(str(parts))
    (part,) = parts.glob("part-*.parquet")
    part.rename(file)
    shutil.rmtree(parts)
    return file


def other_engines(table: pa.Table, source: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    file = folder / "polars.parquet"
    polars.DataFrame(table).write_parquet(file, row_group_size=120)
    yield "polars", file
    delta = folder / "deltalake"
    properties = deltalake.WriterProperties(max_row_group_size=150, compression="ZSTD")
    deltalake.write_deltalake(delta, table, writer_properties=properties)
    (part,) = delta.glob("part-*.parquet")
    file = part.rename(folder / "deltalake.parquet")
    shutil.rmtree(delta)
    yield "deltalake", file
    file = folder / "ClickHouse.parquet"
    chdb.query(
        f"SELECT * FROM file('{source}') INTO OUTFILE '{file}' FORMAT Parquet"
        " SETTINGS output_format_parquet_row_group_size = 100,"
        " output_format_parquet_write_bloom_filter = 1, output_format_parquet_write_page_index = 1"
    )
    yield "ClickHouse", file
    file = folder / f"{DUCKDB}.parquet"
    options = "FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd"
    duckdb.sql(f"COPY (FROM read_parquet('{source}')) TO '{file}' ({options})")
    yield DUCKDB, file
