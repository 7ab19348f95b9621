# SPDX-License-Identifier: Apache-2.0
"""Makes a bucket behind a proxy, with methods for tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession

from tests.object_stores.aws import add_to, s3a_settings
from tests.object_stores.proxy import Proxy, running
from tests.object_stores.s3 import ACCESS_KEY, MIB, REGION, S3, SECRET_KEY
from tests.support.proof import Finding, findings

SMALL = 16 * MIB
# The client gives up after a second instead of minutes if every attempt fails.
SHORT_PATIENCE = {
    "attempts.maximum": "2",
    "retry.limit": "2",
    "retry.interval": "10ms",
    "retry.throttle.limit": "2",
    "retry.throttle.interval": "10ms",
    "connection.timeout": "3s",
    "connection.request.timeout": "0",
}


@dataclass(frozen=True)
class Store:
    """Calls a bucket. `uri` leads through the proxy, and the methods call the server directly.

    The settings name the bucket, so one session can use many buckets with different settings.
    """

    server: S3
    proxy: Proxy
    bucket: str
    options: Mapping[str, str] = field(default_factory=dict)

    def uri(self, path: str = "") -> str:
        return f"s3a://{self.bucket}/{path}".rstrip("/")

    @property
    def settings(self) -> dict[str, str]:
        """Returns Hadoop's settings. A session's builder needs the prefix `spark.hadoop.`."""
        options = {
            **s3a_settings(self.proxy.url),
            **SHORT_PATIENCE,
            **self.options,
        }
        return {f"fs.s3a.bucket.{self.bucket}.{name}": value for name, value in options.items()}

    def objects(self, prefix: str = "") -> dict[str, int]:
        """Returns the size of each object by key."""
        return self.server.objects(self.bucket, prefix)

    def pending_uploads(self) -> list[str]:
        """Returns the keys of pending uploads."""
        return sorted(self.server.pending_uploads(self.bucket).values())

    def mirror(self, path: str, folder: Path) -> Path:
        """Downloads a table. Readers of folders need a log without absolute paths."""
        for key in self.objects(f"{path}/"):
            file = folder / key.removeprefix(f"{path}/")
            if not key.endswith("/"):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(self.server.get(self.bucket, key))
        return folder

    def findings(self, folder: Path) -> Iterator[Finding]:
        """Yields what the proof finds in the small tables of the bucket, and downloads them."""
        sizes = self.objects()
        for table in sorted(
            {key.split("/_delta_log/")[0] for key in sizes if "_delta_log/" in key}
        ):
            files = [size for key, size in sizes.items() if key.startswith(f"{table}/")]
            if sum(files) <= SMALL:
                yield from findings(self.mirror(table, folder / table))

    def rows(self, path: str) -> list[tuple[object, ...]]:
        """Returns the sorted rows of a table that deltalake reads from the server."""
        storage = {
            "AWS_ENDPOINT_URL": self.server.url,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_ALLOW_HTTP": "true",
        }
        table = DeltaTable(f"s3://{self.bucket}/{path}", storage_options=storage)
        found = QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()
        columns = [column.to_pylist() for column in map(found.column, found.column_names)]
        return sorted(zip(*columns, strict=True), key=repr)


@contextmanager
def new_store(
    server: S3, *, delay: float = 0, options: Mapping[str, str] | None = None
) -> Iterator[Store]:
    """Creates a bucket and its proxy.

    Args:
        server: The server.
        delay: Seconds that each request takes longer.
        options: Settings of S3A without the prefix `fs.s3a.`.
    """
    with running(server.url, delay) as proxy:
        yield Store(server, proxy, server.new_bucket(), options or {})


@contextmanager
def known(spark: SparkSession, store: Store) -> Iterator[None]:
    """Configures a running local session for the store, and resets the session afterwards."""
    add_to(spark)
    jvm: Any = spark._jvm
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in store.settings.items():
        hadoop.set(name, value)
    try:
        yield
    finally:
        store.proxy.heal()
        uri = jvm.java.net.URI.create(store.uri())
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        jvm.org.apache.hadoop.fs.FileSystem.get(uri, hadoop).close()
        for name in store.settings:
            hadoop.unset(name)
