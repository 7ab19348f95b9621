# SPDX-License-Identifier: Apache-2.0
"""Makes a table in a bucket, with a renamed column."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from tests.object_stores.requests import Request
from tests.object_stores.store import Store
from tests.support.delta_table import NAME_MODE, TRACKED
from tests.support.removal import NONE_MODE
from tests.support.table_log import TableLog

SMALL = "VALUES (1, 'x'), (2, 'y'), (3, NULL) AS t(a, b)"
SMALL_ROWS = [(1, "x"), (2, "y"), (3, None)]


def incompressible(mib: float) -> str:
    """Returns a query of hexadecimal digests for a file of this size. A row has 2 KiB."""
    text = "array_join(transform(sequence(1, 32), i -> sha2(concat(id, ' ', i), 256)), '')"
    return f"SELECT CAST(id AS INT) AS a, {text} AS b FROM range(0, {int(mib * 512)}, 1, 1)"


@dataclass(frozen=True)
class RenamedTable:
    """Makes the table `t` in a store. Its column `c` has the physical name `a`."""

    spark: SparkSession
    store: Store

    @property
    def name(self) -> str:
        return f"delta.`{self.store.uri('t')}`"

    def create(self, query: str = SMALL, *, files: int = 1, partitioned_by: str = "") -> None:
        """Creates the table, and writes files with the rows of a query of `a` and `b`."""
        partitions = f"PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
        self.spark.sql(
            f"CREATE TABLE {self.name} (a INT, b STRING) USING delta {partitions}"
            f" TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
        )
        source = query if query.startswith("SELECT") else f"SELECT * FROM {query}"
        for _ in range(files):
            self.spark.sql(f"INSERT INTO {self.name} SELECT /*+ COALESCE(1) */ * FROM ({source})")
        self.spark.sql(f"ALTER TABLE {self.name} RENAME COLUMN a TO c")

    def remove_mapping(self) -> list[Request]:
        """Removes column mapping, and returns the requests."""
        self.store.proxy.forget()
        self.spark.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({NONE_MODE})")
        return self.store.proxy.requests

    def log(self, folder: Path) -> TableLog:
        """Downloads the log and the files to a new folder."""
        return TableLog(self.store.mirror("t", folder))

    def data_files(self) -> dict[str, int]:
        """Returns the size of each data file, live or not, by key."""
        return {
            key: size for key, size in self.store.objects("t/").items() if key.endswith(".parquet")
        }
