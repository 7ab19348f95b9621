# SPDX-License-Identifier: Apache-2.0
"""Tests a session in a new process with hadoop-aws and a small heap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_ext
from tests.object_stores.aws import with_s3a
from tests.object_stores.s3 import S3
from tests.object_stores.store import Store
from tests.object_stores.uploaded import REMOVE_MAPPING, Uploaded
from tests.support.processes import in_new_process
from tests.support.sessions import JAVA_OPTIONS, small_session

HEAP = 512  # MB, as large as the file: streams must not keep parts of the file

# The analytics stream frees unused parts after some seconds, which is too late on a fast machine.
NEVER_CLEANED = {"fs.s3a.analytics.accelerator.physicalio.memory.cleanup.frequency": "600000"}


def remove_mapping(name: str, settings: Mapping[str, str], home: Path) -> None:
    builder = small_session(SparkSession.builder, home / "warehouse")
    builder.config(JAVA_OPTIONS, "-XX:+UseSerialGC").config("spark.driver.memory", f"{HEAP}m")
    builder.config("spark.sparkext.columnMapping.removal.storeCopy", "false")
    spark = spark_ext.configure(with_s3a(builder, settings)).getOrCreate()
    spark.sql(f"ALTER TABLE {name} {REMOVE_MAPPING}")
    spark.stop()


@pytest.mark.matrix
@pytest.mark.parametrize("stream", ["default", "classic"])
def test_session_with_a_small_heap_copies_large_files(
    spark: SparkSession, server: S3, new_store_on: Callable[..., Store], tmp_path: Path, stream: str
) -> None:
    options = {} if stream == "default" else {"input.stream.type": stream}
    table = Uploaded(spark, new_store_on(server, options=options), "t")
    table.create_tracked()
    # Hexadecimal digests, which do not compress; a row has 2 KiB.
    text = "array_join(transform(sequence(1, 32), i -> sha2(concat(id, ' ', i), 256)), '')"
    rows = f"SELECT CAST(id AS INT), {text} FROM range(0, {HEAP * 512}, 1, 1)"
    spark.sql(f"INSERT INTO {table.name} {rows}")
    table.alter("RENAME COLUMN a TO c")
    before = table.selected("count(*), sum(c), max(b)")

    in_new_process(remove_mapping, table.name, {**table.store.settings, **NEVER_CLEANED}, tmp_path)

    assert table.selected("count(*), sum(c), max(b)") == before
    assert table.log.operation == "REMOVE COLUMN MAPPING"
    assert table.store.pending_uploads() == []
