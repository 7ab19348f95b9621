# SPDX-License-Identifier: Apache-2.0
"""Looks up dates of one table: when its history may be deleted, and when its unnamed copies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from spark_ext.api.functions import answer, literal
from spark_ext.api.named_table import sql_name
from spark_ext.api.refusals import run
from spark_ext.api.statements import commits_since
from spark_ext.model.keys import (
    CHECKPOINT_PROTECTION_VERSION,
    DEFAULT_TRUNCATE_HISTORY_RETENTION,
    TRUNCATE_HISTORY_RETENTION,
)
from spark_ext.model.metadata import FileCount

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = datetime(1970, 1, 1)
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class UnnamedCopies:
    """Copies in a table's folder that no version in the log names.

    They are of a driver that was killed, or of one that runs now.

    Args:
        files: Their number and size; None if the folder or the log cannot be read.
        removed_by: The statement that removes them and its earliest time, or why they could not be
            listed; None without copies.
    """

    files: FileCount | None
    removed_by: str | None


def unnamed_copies(spark: SparkSession, table: str) -> UnnamedCopies:
    """Returns the copies that no version names. Reads the log only if the folder has copies."""
    try:
        (row,) = answer(spark, "column_mapping_copies", literal(table)).collect()
    except PySparkException as error:
        # Copies of others do not keep the table from its own removal.
        return UnnamedCopies(None, f"Cannot look for copies: {error.getCondition()}")
    files = FileCount(row["numFiles"], row["sizeInBytes"])
    if not files.num_files:
        return UnnamedCopies(files, None)
    at = row["removableFrom"].astimezone().isoformat(sep=" ", timespec="seconds")
    counted = f"{files.num_files:,} copies ({files.size_in_bytes:,} bytes) that no version names"
    return UnnamedCopies(files, f"VACUUM {sql_name(spark, table)} removes {counted} from {at} on")


def end_of_retention(spark: SparkSession, table: str) -> datetime | None:
    """Returns the time from which Delta drops checkpoint protection from a table.

    Delta deletes the commits before the version that dropped column mapping, once they are older
    than the retention period, by whole minutes. No commit before that version is newer than it.

    Returns:
        The time with a time zone, possibly in the past; None if no commit keeps the table waiting.

    Source:
        Delta 4.4.0, PreDowngradeTableFeatureCommand.scala,
        `CheckpointProtectionPreDowngradeCommand`;
        MetadataCleanup.scala, `cleanUpExpiredLogs` and `truncateDate`.
    """
    name = sql_name(spark, table)
    shown = run(spark, f"SHOW TBLPROPERTIES {name}").collect()
    properties = {row["key"]: row["value"] for row in shown}
    version = int(properties.get(CHECKPOINT_PROTECTION_VERSION, 0))
    if version <= 0:
        return None
    commits = {row["version"]: row for row in commits_since(spark, table, version - 1)}
    if version not in commits:  # log cleanup has deleted the commit
        return None
    period = properties.get(TRUNCATE_HISTORY_RETENTION, DEFAULT_TRUNCATE_HISTORY_RETENTION)
    # The period is added in UTC, because local time changes at the end of summer time.
    at = commits[version]["timestamp"].astimezone(timezone.utc)
    minute = at.replace(second=0, microsecond=0)
    end: datetime = (minute if minute == at else minute + _MINUTE) + _duration(spark, period)
    return end.astimezone()


def _duration(spark: SparkSession, interval: str) -> timedelta:
    """Returns the duration of an interval without months, as Delta allows for its retentions."""
    text = f"TIMESTAMP_NTZ'1970-01-01 00:00:00' + CAST({literal(interval)} AS INTERVAL)"
    (row,) = run(spark, f"SELECT {text} AS end").collect()
    end: datetime = row["end"]
    return end - _EPOCH
