# SPDX-License-Identifier: Apache-2.0
"""Writers with an interface in Python, each a function that writes the variants of a file.

The Python of another environment runs this file as a script, so it imports nothing of the tests:
    python python_writers.py WRITER ROWS FOLDER
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

# Takes the folder of the rows and the folder of the files, and writes the files.
Writer = Callable[[Path, Path], None]

GROUP = 70  # rows of a row group
ENCODED = {
    "p_row": "DELTA_BINARY_PACKED",
    "p_int": "BYTE_STREAM_SPLIT",
    "p_text": "DELTA_BYTE_ARRAY",
    "p_binary": "DELTA_LENGTH_BYTE_ARRAY",
    "p_double": "BYTE_STREAM_SPLIT",
}


def arrow(rows: Path, name: str = "rows") -> Any:
    import pyarrow as pa

    with pa.ipc.open_stream(rows / f"{name}.arrow") as stream:
        return stream.read_all()


def pyarrow(rows: Path, folder: Path) -> None:
    import pyarrow.parquet as pq

    table = arrow(rows)
    small = {"row_group_size": GROUP, "data_page_size": 200, "write_batch_size": 10}
    filters = {"p_text": {"ndv": 20, "fpp": 0.01}, "p_row": {"ndv": 300}}
    variants: dict[str, dict[str, Any]] = {
        "v1 snappy indexes filters": {
            "compression": "snappy",
            **small,
            "write_page_index": True,
            "write_page_checksum": True,
            "bloom_filter_options": filters,
        },
        "v2 zstd indexes": {
            "compression": "zstd",
            **small,
            "data_page_version": "2.0",
            "write_page_index": True,
        },
        "v2 encodings": {
            "data_page_version": "2.0",
            "use_dictionary": False,
            "column_encoding": ENCODED,
        },
        "sorted": {"sorting_columns": [pq.SortingColumn(0), pq.SortingColumn(1)]},
        "format 1.0 int96": {"version": "1.0", "use_deprecated_int96_timestamps": True},
        **{codec: {"compression": codec} for codec in ("gzip", "lz4", "brotli", "none")},
    }
    for name, options in variants.items():
        pq.write_table(table, folder / f"{name}.parquet", **options)
    pq.write_table(table.slice(0, 0), folder / "empty.parquet")
    pq.write_table(arrow(rows, "others"), folder / "other types.parquet")
    encrypted(table, folder)


def encrypted(table: Any, folder: Path) -> None:
    import base64

    import pyarrow.parquet as pq
    import pyarrow.parquet.encryption as pe

    class Keys(pe.KmsClient):  # type: ignore[misc]
        def wrap_key(self, key: bytes, _: str) -> bytes:
            return base64.b64encode(key)

        def unwrap_key(self, wrapped: bytes, _: str) -> bytes:
            return base64.b64decode(wrapped)

    for plain, name in ((False, "encrypted"), (True, "encrypted with a plain footer")):
        settings = pe.EncryptionConfiguration(
            footer_key="footer", column_keys={"key": ["p_text"]}, plaintext_footer=plain
        )
        factory = pe.CryptoFactory(lambda _: Keys())
        properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), settings)
        with pq.ParquetWriter(
            folder / f"{name}.parquet", table.schema, encryption_properties=properties
        ) as writer:
            writer.write_table(table)


def old_pyarrow(rows: Path, folder: Path) -> None:
    import pyarrow.parquet as pq

    table = arrow(rows)
    variants: dict[str, dict[str, Any]] = {
        "v1": {"row_group_size": GROUP, "data_page_size": 200},
        "v2": {"data_page_version": "2.0", "compression": "zstd", "version": "2.6"},
        "format 1.0 int96": {"version": "1.0", "use_deprecated_int96_timestamps": True},
        "lz4": {"compression": "lz4", "use_compliant_nested_type": False},
    }
    for name, options in variants.items():
        pq.write_table(table, folder / f"{name}.parquet", **options)


def polars(rows: Path, folder: Path) -> None:
    import polars as pl

    frame = pl.DataFrame(arrow(rows))
    frame.write_parquet(folder / "zstd groups.parquet", row_group_size=GROUP, data_page_size=200)
    for codec in ("snappy", "gzip", "lz4", "brotli", "uncompressed"):
        frame.write_parquet(folder / f"{codec}.parquet", compression=codec, statistics="full")
    frame.clear().write_parquet(folder / "empty.parquet")
    pl.DataFrame(arrow(rows, "others")).write_parquet(folder / "other types.parquet")


def duckdb(rows: Path, folder: Path) -> None:
    import duckdb as db

    connection = db.connect()
    connection.register("rows", arrow(rows))
    connection.register("others", arrow(rows, "others").drop_columns(["p_half"]))
    # A row group has at least 2048 rows.
    many, small = "(SELECT rows.* FROM rows, range(10))", "ROW_GROUP_SIZE 2048"
    variants = {
        "v1 snappy": (many, f"PARQUET_VERSION v1, COMPRESSION snappy, {small}"),
        "v2 zstd": (many, f"PARQUET_VERSION v2, COMPRESSION zstd, {small}"),
        **{
            codec: ("rows", f"COMPRESSION {codec}")
            for codec in ("gzip", "lz4_raw", "brotli", "uncompressed")
        },
        "field ids": ("rows", "FIELD_IDS 'auto'"),
        "other types": ("others", "PARQUET_VERSION v2"),
        "empty": ("(FROM rows LIMIT 0)", "PARQUET_VERSION v1"),
        "encrypted": ("rows", "ENCRYPTION_CONFIG {footer_key: 'key'}"),
    }
    connection.execute("SET force_mbedtls_unsafe = true")  # else encryption needs an extension
    connection.execute("PRAGMA add_parquet_key('key', '0123456789112345')")
    for name, (source, options) in variants.items():
        target = f"'{folder / name}.parquet' (FORMAT parquet, {options})"
        connection.execute(f"COPY {source} TO {target}")


def clickhouse(rows: Path, folder: Path) -> None:
    import chdb
    import pyarrow as pa

    table = arrow(rows)
    everything = {
        "rows": table,
        "others": arrow(rows, "others").drop_columns(["p_clock"]),
        "empty": table.slice(0, 0),
    }
    variants: dict[str, tuple[str, dict[str, Any]]] = {
        "indexes filters": ("rows", {"row_group_size": GROUP, "data_page_size": 200}),
        **{
            codec: ("rows", {"compression_method": f"'{codec}'"})
            for codec in ("snappy", "gzip", "lz4", "brotli", "none")
        },
        "other types": ("others", {}),
        "empty": ("empty", {}),
    }
    for name, (source, settings) in variants.items():
        with pa.ipc.new_file(folder / "rows.arrow", everything[source].schema) as file:
            file.write_table(everything[source])
        text = "".join(f", output_format_parquet_{key} = {settings[key]}" for key in settings)
        chdb.query(
            f"SELECT * FROM file('{folder}/rows.arrow', Arrow)"
            f" INTO OUTFILE '{folder / name}.parquet' FORMAT Parquet"
            " SETTINGS output_format_parquet_write_bloom_filter = 1,"
            f" output_format_parquet_write_page_index = 1{text}"
        )
    (folder / "rows.arrow").unlink()


def deltalake(rows: Path, folder: Path) -> None:
    import deltalake as dl

    table = arrow(rows)
    column = dl.ColumnProperties(dictionary_enabled=False, encoding="DELTA_BINARY_PACKED")
    bloom = dl.ColumnProperties(
        bloom_filter_properties=dl.BloomFilterProperties(set_bloom_filter_enabled=True)
    )
    small = {"max_row_group_size": GROUP, "data_page_size_limit": 200, "write_batch_size": 10}
    variants: dict[str, dict[str, Any]] = {
        "snappy": {"compression": "SNAPPY", **small},
        "zstd encodings filters": {
            "compression": "ZSTD",
            "column_properties": {"p_row": column, "p_text": bloom},
        },
        "lz4": {"compression": "LZ4_RAW", "statistics_truncate_length": 4},
        "uncompressed": {"compression": "UNCOMPRESSED"},
    }
    for name, options in variants.items():
        delta = folder / name
        dl.write_deltalake(delta, table, writer_properties=dl.WriterProperties(**options))
        (part,) = delta.glob("part-*.parquet")
        part.rename(folder / f"{name}.parquet")
        shutil.rmtree(delta)  # else `left_tables` finds a table without its file


def datafusion(rows: Path, folder: Path) -> None:
    import datafusion as df
    from datafusion.dataframe import ParquetColumnOptions, ParquetWriterOptions

    small = {"max_row_group_size": GROUP, "data_pagesize_limit": 200, "write_batch_size": 10}
    variants: dict[str, tuple[str, dict[str, Any]]] = {
        "v1 zstd indexes filters": ("rows", {**small, "bloom_filter_on_write": True}),
        "v2 encodings": (
            "rows",
            {
                "writer_version": "2.0",
                "dictionary_enabled": False,
                "column_specific_options": {
                    name: ParquetColumnOptions(encoding=encoding.lower())
                    for name, encoding in ENCODED.items()
                },
            },
        ),
        "lz4": ("rows", {"compression": "lz4_raw", "statistics_enabled": "none"}),
        "brotli": ("rows", {"compression": "brotli(1)", "skip_arrow_metadata": True}),
        "gzip": ("rows", {"compression": "gzip(1)", "statistics_enabled": "chunk"}),
        "uncompressed": ("rows", {"compression": "uncompressed"}),
        "other types": ("others", {}),
    }
    context = df.SessionContext()
    for name, (table, options) in variants.items():
        frame = context.from_arrow(arrow(rows, table))
        # DataFusion writes no file for a path with a space.
        written = folder / "written.parquet"
        frame.write_parquet_with_options(written, ParquetWriterOptions(**options))
        written.rename(folder / f"{name}.parquet")


def fastparquet(rows: Path, folder: Path) -> None:
    import fastparquet as fp
    import pandas as pd  # type: ignore[import-untyped]

    lines = list(plain_rows(rows))
    frame = pd.DataFrame(lines)
    frame["p_decimal"] = frame["p_decimal"].map(lambda value: None if value is None else str(value))
    frame["p_time"] = pd.to_datetime(frame["p_time"]).dt.as_unit("us")
    frame = frame.astype({"p_flag": "boolean", "p_int": "Int32", "p_float": "float32"})
    del frame["p_date"]
    kinds = {"p_text": "utf8", "p_binary": "bytes", "p_decimal": "utf8", "p_last": "utf8"}
    variants: dict[str, dict[str, Any]] = {
        "snappy": {"compression": "SNAPPY", "row_group_offsets": GROUP},
        "int96": {"times": "int96"},
        "gzip without statistics": {"compression": "GZIP", "stats": False},
        **{codec.lower(): {"compression": codec} for codec in ("ZSTD", "BROTLI", "LZ4_RAW")},
    }
    for version in (1, 2):
        fp.writer.DATAPAGE_VERSION = version
        for name, options in variants.items():
            target = folder / f"v{version} {name}.parquet"
            fp.write(str(target), frame, object_encoding=kinds, **options)
    fp.write(str(folder / "empty.parquet"), frame.head(0), object_encoding=kinds)


def plain_rows(rows: Path) -> Iterator[dict[str, Any]]:
    """Returns the rows of `rows.json` without their nested columns, with values of Python."""
    first = datetime(1970, 1, 1)
    kinds: dict[str, Callable[[Any], Any]] = {
        "p_float": float,
        "p_double": float,
        "p_binary": str.encode,
        "p_date": lambda days: date(1970, 1, 1) + timedelta(days=days),
        "p_time": lambda micros: first + timedelta(microseconds=micros),
        "p_decimal": lambda units: Decimal(units).scaleb(-4),
    }
    for line in (rows / "rows.json").read_text().splitlines():
        row = json.loads(line)
        yield {
            name: kinds[name](value) if name in kinds and value is not None else value
            for name, value in row.items()
            if name not in ("p_s", "p_list", "p_lists", "p_structs", "p_map")
        }


def spark(rows: Path, folder: Path) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    frame = session.read.parquet(str(rows / "rows.parquet")).coalesce(1)
    small = {
        "parquet.block.size": "3000",
        "parquet.page.row.count.limit": "20",
        "parquet.block.size.row.check.min": "20",
        "parquet.bloom.filter.enabled#p_text": "true",
        "parquet.enable.dictionary#p_text": "false",
        "parquet.bloom.filter.expected.ndv#p_text": "300",
    }
    variants = {
        "v1 snappy indexes filters": {"compression": "snappy", **small},
        "v2 zstd": {"compression": "zstd", "parquet.writer.version": "v2", **small},
        "split streams": {
            "parquet.enable.bytestreamsplit": "true",
            "parquet.enable.dictionary": "false",
        },
        **{codec: {"compression": codec} for codec in ("gzip", "lz4", "lz4_raw", "uncompressed")},
    }
    for name, options in variants.items():
        written_by_spark(frame, options, folder / f"{name}.parquet")
    written_by_spark(frame.limit(0), {}, folder / "empty.parquet")
    session.stop()


def written_by_spark(frame: Any, options: dict[str, str], file: Path) -> None:
    parts = file.with_suffix(".parts")
    frame.write.options(**options).parquet(str(parts))
    (part,) = parts.glob("part-*.parquet")
    part.rename(file)


WRITERS = {
    each.__name__: each
    for each in (
        pyarrow,
        old_pyarrow,
        polars,
        duckdb,
        clickhouse,
        deltalake,
        datafusion,
        fastparquet,
        spark,
    )
}

if __name__ == "__main__":
    WRITERS[sys.argv[1]](*(Path(folder).absolute() for folder in sys.argv[2:]))
