# SPDX-License-Identifier: Apache-2.0
"""Provides the place where a command of docs/install.md runs."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.support.table_log import TableLog
from tests.ways_in import shells

PYSPARK = Path(pyspark.__file__).parent

# Settings for a small and quiet session, which no command of the page has.
DEFAULTS = """
spark.master local[2]
spark.ui.enabled false
spark.sql.shuffle.partitions 1
spark.databricks.delta.snapshotPartitions 1
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
"""
LOG = """
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %m%n%ex
logger.thrift.name = org.apache.spark.sql.hive.thriftserver.HiveThriftServer2
logger.thrift.level = info
"""


@dataclass(frozen=True)
class Place:
    """Runs commands in a folder, in which Spark also creates tables."""

    directory: Path
    variables: dict[str, str]

    def run(
        self, command: str, *, typed: str | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return shells.shell(command, self.directory, typed=typed, **{**self.variables, **variables})

    def log(self, table: str = "t") -> TableLog:
        return TableLog(self.directory / "spark-warehouse" / table)

    def write(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text)
        return path

    def link(self, name: str, *targets: str | Path) -> Path:
        """Makes a folder with links to these files."""
        folder = self.directory / name
        folder.mkdir()
        for target in targets:
            (folder / Path(target).name).symlink_to(target)
        return folder
