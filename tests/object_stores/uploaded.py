# SPDX-License-Identifier: Apache-2.0
"""Copies local tables to an object store."""

from __future__ import annotations

import hashlib
import itertools
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import SparkSession

from tests.object_stores.requests import Kind
from tests.object_stores.s3 import MIB
from tests.object_stores.store import Store
from tests.support.delta_table import Table
from tests.support.removal import NONE_MODE
from tests.support.session_conf import session_conf
from tests.support.table_log import TableLog

UNCOMPRESSED = {"spark.sql.parquet.compression.codec": "uncompressed"}
REMOVE_MAPPING = f"SET TBLPROPERTIES ({NONE_MODE})"
_numbers = itertools.count()


class Uploaded(Table):
    """A table below a key of a bucket. Tests read its log from a copy in a local folder.

    The folder is outside of the folders of pytest, so `left_tables` finds no table there.
    """

    def __init__(self, spark: SparkSession, store: Store, key: str) -> None:
        folder = tempfile.mkdtemp(prefix="log-of-uploaded-")
        super().__init__(spark, Path(folder), f"delta.`{store.uri(key)}`")
        weakref.finalize(self, shutil.rmtree, folder)
        self.store = store
        self.key = key

    @property
    def log(self) -> TableLog:
        self.store.mirror(f"{self.key}/_delta_log", self.path / "_delta_log")
        return TableLog(self.path)

    def remove_mapping(self) -> None:
        self.alter(REMOVE_MAPPING)

    def objects(self, prefix: str = "") -> dict[str, int]:
        """Returns the size of each object of the table, by its key below the table's key."""
        found = self.store.objects(f"{self.key}/{prefix}")
        return {key.removeprefix(f"{self.key}/"): size for key, size in found.items()}

    def contents(self, keys: Iterable[str]) -> Counter[str]:
        """Returns the digests of objects."""
        server, bucket = self.store.server, self.store.bucket
        return Counter(digest(server.get(bucket, f"{self.key}/{key}")) for key in keys)

    def data(self) -> set[str]:
        """Returns the keys of objects outside of the log."""
        return {key for key in self.objects() if not key.startswith("_delta_log/")}

    def counts(self, pattern: str = "*.parquet") -> Counter[Kind]:
        """Returns the number of requests for objects by kind, since the last `forget`."""
        return self.store.proxy.counts(f"{self.key}/{pattern}")


def upload(table: Table, store: Store) -> Uploaded:
    """Uploads a table below a new key."""
    root = f"t{next(_numbers)}"
    for file in sorted(table.path.rglob("*")):
        if file.is_file() and not file.name.endswith(".crc"):
            key = f"{root}/{file.relative_to(table.path).as_posix()}"
            store.server.put(store.bucket, key, file.read_bytes())
    return Uploaded(table.spark, store, root)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def insert_text(
    table: Table, *columns: str, megabytes: float, width: int = 1024, row_group: int = 128 * MIB
) -> None:
    """Inserts one file of about this size: uncompressed columns of text and an `id BIGINT`.

    Args:
        table: A table with these columns.
        columns: The names of the text columns.
        megabytes: The size of the file.
        width: The length of each text, in bytes.
        row_group: The size of a row group, in bytes.
    """
    rows = int(megabytes * MIB / (8 + len(columns) * (width + 4)))
    text = "substring(repeat(sha2(CAST(id + {} AS STRING), 256), {}), 1, {}) `{}`"
    texts = [text.format(i, width // 64 + 1, width, name) for i, name in enumerate(columns)]
    frame = table.spark.range(rows).selectExpr("id", *texts).coalesce(1)
    with session_conf(table.spark, UNCOMPRESSED):
        writer = frame.write.format("delta").mode("append")
        writer.option("parquet.block.size", str(row_group)).save(str(table.path))


def new_files(table: Table, before: set[Path]) -> Counter[str]:
    """Returns the digests of a local table's new data files."""
    return Counter(
        digest(file.read_bytes()) for file in set(table.path.rglob("*.parquet")) - before
    )
