# SPDX-License-Identifier: Apache-2.0
"""Tables that were made on the local disk, file by file the same on an object store."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from tests.object_stores.requests import Kind
from tests.object_stores.store import Store
from tests.support.delta_table import Table
from tests.support.leaving import NONE_MODE
from tests.support.session_conf import session_conf
from tests.support.table_log import TableLog

MIB = 1 << 20
UNCOMPRESSED = {"spark.sql.parquet.compression.codec": "uncompressed"}
LEAVE = f"SET TBLPROPERTIES ({NONE_MODE})"
_numbers = itertools.count()


@dataclass(frozen=True)
class Uploaded:
    """A table below `path` in a store's bucket."""

    spark: SparkSession
    store: Store
    path: str
    mirror: Path  # where its log is looked at

    @property
    def name(self) -> str:
        return f"delta.`{self.store.uri(self.path)}`"

    def alter(self, change: str) -> None:
        self.spark.sql(f"ALTER TABLE {self.name} {change}")

    def leave(self) -> None:
        self.alter(LEAVE)

    def rows(self) -> list[tuple[object, ...]]:
        collected = self.spark.sql(f"SELECT * FROM {self.name}").collect()
        return sorted((tuple(row) for row in collected), key=repr)

    def log(self) -> TableLog:
        """The log as it is now."""
        self.store.mirror(f"{self.path}/_delta_log", self.mirror / "_delta_log")
        return TableLog(self.mirror)

    def objects(self, prefix: str = "") -> dict[str, int]:
        """The size of each object of the table, by its key below the table's."""
        found = self.store.objects(f"{self.path}/{prefix}")
        return {key.removeprefix(f"{self.path}/"): size for key, size in found.items()}

    def contents(self, keys: Iterable[str]) -> Counter[str]:
        """The digests of objects."""
        server, bucket = self.store.server, self.store.bucket
        return Counter(digest(server.get(bucket, f"{self.path}/{key}")) for key in keys)

    def data(self) -> set[str]:
        """The keys of what is no log."""
        return {key for key in self.objects() if not key.startswith("_delta_log/")}

    def counts(self, pattern: str = "*.parquet") -> Counter[Kind]:
        """The requests for this table's objects since the last that were forgotten."""
        return self.store.proxy.counts(f"{self.path}/{pattern}")


def upload(table: Table, store: Store) -> Uploaded:
    """The same table, below a new key."""
    path = f"t{next(_numbers)}"
    for file in sorted(table.path.rglob("*")):
        if file.is_file() and not file.name.endswith(".crc"):
            key = f"{path}/{file.relative_to(table.path).as_posix()}"
            store.server.put(store.bucket, key, file.read_bytes())
    return Uploaded(table.spark, store, path, table.path.with_name(path))


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def insert_text(
    table: Table, *columns: str, megabytes: float, width: int = 64, row_group: int = 128 * MIB
) -> None:
    """One file of about this size: uncompressed columns of text beside an `id BIGINT`.

    Args:
        table: Has these columns.
        columns: Of text.
        megabytes: Of the file.
        width: Of each text, in bytes.
        row_group: Of the file, in bytes.
    """
    rows = int(megabytes * MIB / (8 + len(columns) * (width + 4)))
    text = "substring(repeat(sha2(CAST(id + {} AS STRING), 256), {}), 1, {}) `{}`"
    texts = [text.format(i, width // 64 + 1, width, name) for i, name in enumerate(columns)]
    frame = table.spark.range(rows).selectExpr("id", *texts).coalesce(1)
    with session_conf(table.spark, UNCOMPRESSED):
        writer = frame.write.format("delta").mode("append")
        writer.option("parquet.block.size", str(row_group)).save(str(table.path))


def new_files(table: Table, before: set[Path]) -> Counter[str]:
    """The digests of data files that a local table has beside those of before."""
    return Counter(
        digest(file.read_bytes()) for file in set(table.path.rglob("*.parquet")) - before
    )
