# SPDX-License-Identifier: Apache-2.0
"""Calls the Java package that copies data files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

Plan = dict[str, Any]

# Who copies: the kernel, a buffer, or memory for small files
DISK, STREAM, MEMORY = "kernel", "buffer", "memory"
SMALL = 256 << 10


@dataclass(frozen=True)
class Outcome:
    way: str
    length: int
    reason: str | None


class NotParquetError(Exception):
    """Reports why a file cannot be read."""


class Renamer:
    """Calls `sparkext.parquet.DataFile`."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        jvm: Any = spark._jvm
        self.jvm = jvm
        self.never = jvm.java.lang.Thread()  # a Runnable without effect
        self.configurations = {by: jvm.org.apache.hadoop.conf.Configuration() for by in BY}
        stream = self.configurations[STREAM]
        # Only Hadoop's default local file system is read without Hadoop's streams.
        stream.set("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem")
        stream.set("fs.file.impl.disable.cache", "true")

    def renaming(self, plan: Plan) -> Any:
        """Returns the Java object that a task reuses for all files, accepted instead of a plan."""
        parquet = self.jvm.sparkext.parquet
        return parquet.Renaming(self.jvm.sparkext.wire.PlanJson.parse(json.dumps(plan)))

    def file(
        self, source: Path, plan: Plan | Any, *, by: str = DISK, size: int | None = None
    ) -> Any:
        parquet = self.jvm.sparkext.parquet
        return parquet.DataFile(
            parquet.Storages(self.configurations[by], None, SMALL if by == MEMORY else 0),
            self.path(source),
            source.stat().st_size if size is None else size,
            self.renaming(plan) if isinstance(plan, dict) else plan,
        )

    def path(self, path: Path) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(f"file:{path}")

    def look(self, source: Path, plan: Plan | Any, **options: Any) -> Outcome:
        file = self.file(source, plan, **options)
        return self.outcome(file.look, True)

    def copy(
        self,
        source: Path,
        target: Path,
        plan: Plan | Any,
        *,
        checkpoint: Any = None,
        **options: Any,
    ) -> Outcome:
        file = self.file(source, plan, **options)
        return self.outcome(file.copyTo, self.path(target), True, checkpoint or self.never)

    @staticmethod
    def outcome(call: Callable[..., Any], *arguments: Any) -> Outcome:
        java = call(*arguments)
        if java.way().name() == "UNREADABLE":
            raise NotParquetError(java.reason())
        return Outcome(java.way().name(), java.length(), java.reason())


BY = (DISK, STREAM, MEMORY)
