# SPDX-License-Identifier: Apache-2.0
"""Runs the SQL of this package: table functions, statements on one table, and their errors."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from threading import Lock
from typing import TYPE_CHECKING, Any

from spark_ext.errors import SessionWithoutExtensionError, SparkExtError
from spark_ext.launch import UNKNOWN_VERSION, is_connect, require_version
from spark_ext.model import keys
from spark_ext.model.metadata import FileCount
from spark_ext.model.rows import of_row
from spark_ext.removal.stages import SurveyedTable
from spark_ext.tables.progress import Progress, reported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession


# The kinds of listed tables. A table that the catalog cannot read has none. A schema is listed only
# if the catalog cannot list its tables.
DELTA, VIEW, SCHEMA = "DELTA", "VIEW", "SCHEMA"
# The kinds whose rows a survey has.
SURVEYED = (DELTA, SCHEMA, None)

# Spark's conditions for a cancelled job, and for a cancelled statement of Spark Connect.
_CANCELLED = {"SPARK_JOB_CANCELLED", "OPERATION_CANCELED"}

# Delta's conflicts have no condition. Without Delta's Python package, they have a text only.
_CONFLICT = re.compile(
    r"(?:Concurrent\w+|MetadataChanged|ProtocolChanged)Exception|USAGE_TRACKING_ALIGNMENT_CONFLICT"
)

# Some errors of Java contain whole stacks.
_MAX_TEXT = 2_000

_runs_ours: ContextVar[bool] = ContextVar("spark_ext_runs_ours", default=False)


def _is_of_the_user(_: logging.LogRecord) -> bool:
    return not _runs_ours.get()


def run(spark: SparkSession, statement: str) -> DataFrame:
    """Runs a statement that this package wrote.

    PySpark logs an error that has a position in a query, with 25 kB of stack traces. The query is
    not the user's, so the error is raised and not logged. An error with a condition for which
    PySpark has no class, such as Delta's, becomes an AnalysisException.
    """
    from pyspark.logger import PySparkLogger

    # The logger ignores a filter that it already has.
    PySparkLogger.getLogger("SQLQueryContextLogger").addFilter(_is_of_the_user)
    before = _runs_ours.set(True)
    try:
        return spark.sql(statement)
    except Exception as error:
        known = _of_pyspark(error)
        if known is error:
            raise
        raise known from None
    finally:
        _runs_ours.reset(before)


def condition_of(error: BaseException) -> str | None:
    """Returns the condition of an error of `run`; None if the error has none."""
    condition: Callable[[], str | None] = getattr(error, "getCondition", lambda: None)
    return condition()


def described(error: BaseException) -> tuple[str, str]:
    """Returns the condition of an error, or the name of its class, and its text."""
    if isinstance(error, SparkExtError):
        return error.condition, str(error)
    thrown = getattr(error, "java_exception", None)
    text = str(error) if thrown is None else str(thrown.toString())
    return condition_of(error) or type(error).__name__, text[:_MAX_TEXT]


def is_conflict(error: BaseException) -> bool:
    """Returns whether a statement failed because another writer changed the table."""
    return any(map(_CONFLICT.search, described(error)))


def is_cancellation(error: BaseException) -> bool:
    """Returns whether the cancellation of a job or of a statement is a cause of an error."""
    if condition_of(error) in _CANCELLED:
        return True
    thrown = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while thrown is not None:
        if _condition(thrown) in _CANCELLED or "Interrupt" in thrown.getClass().getName():
            return True
        thrown = thrown.getCause()
    return False


def _condition(thrown: Any) -> str | None:
    from py4j.protocol import Py4JError

    try:
        condition: str | None = thrown.getCondition()
    except Py4JError:  # an exception without a condition
        return None
    return condition


def _of_pyspark(error: Exception) -> Exception:
    """Returns an AnalysisException for a condition without a PySpark class; else the error."""
    from pyspark.errors import UnknownException

    if isinstance(error, UnknownException) and error.getCondition() is not None:
        from pyspark.errors.exceptions import connect

        return connect.AnalysisException(
            error.getMessage(),
            errorClass=error.getCondition(),
            messageParameters=error.getMessageParameters(),
            sql_state=error.getSqlState(),
        )
    thrown = getattr(error, "java_exception", None)
    if isinstance(error, UnknownException) or thrown is None or _condition(thrown) is None:
        return error

    from pyspark.errors.exceptions import captured

    return captured.AnalysisException(origin=thrown)


def answer(spark: SparkSession, function: str, *arguments: str) -> DataFrame:
    """Returns the rows of a table function, which reads the table when rows are collected."""
    try:
        return run(spark, f"SELECT * FROM {function}({', '.join(arguments)})")
    except Exception as refusal:
        if condition_of(refusal) != "UNRESOLVABLE_TABLE_VALUED_FUNCTION":
            raise
        raise SessionWithoutExtensionError(function=function) from refusal


def literal(name: str) -> str:
    """Returns a text as a SQL expression that Spark reads back unchanged.

    Spark substitutes variables in statements, unescapes strings depending on a setting, and binds
    no parameters in a session with Delta's parser (Spark 4.1, Delta 4.4.0).
    """
    if not isinstance(name, str):
        raise TypeError(f"Cannot find the table {name!r}: its name is not a string.")
    return f"CAST(X'{name.encode().hex()}' AS STRING)"


def is_path(text: str) -> bool:
    """Returns whether a text is a path and not a name: it has a slash outside of backticks.

    Example:
        >>> [is_path(text) for text in ("/data/t", "db.t", "db.`a/b`")]
        [True, False, False]
    """
    return "/" in re.sub(r"`(?:[^`]|``)*`", "", text)


def named_table(spark: SparkSession, *arguments: str) -> Row:
    """Returns the row with the full name of a table; raises for a jar of another version."""
    (row,) = answer(spark, "column_mapping_named_table", *arguments).collect()
    # A jar without this column is older than the column.
    require_version(row.asDict().get("jarVersion", UNKNOWN_VERSION))
    return row


def sql_name(spark: SparkSession, name: str) -> str:
    """Returns a full name as SQL text. Spark substitutes variables in statements, not in names."""
    return str(named_table(spark, literal(name))["sqlName"]) if "${" in name else name


def rows_of(spark: SparkSession, names: Sequence[str]) -> list[SurveyedTable]:
    """Returns the current rows of a survey. In `copying`, untracked tables may cost COPY."""
    array = f"array({', '.join(map(literal, names))})"
    rows = answer(spark, "column_mapping_survey", array).collect()
    return [of_row(SurveyedTable, row) for row in rows]


# The threads that remove column mapping, by session.
_removing: Counter[str] = Counter()
_lock = Lock()


@contextmanager
def copying(spark: SparkSession) -> Iterator[None]:
    """Makes the body copy the files of untracked tables too, unless the session has the setting.

    If several threads share a session, the last thread unsets the setting. Any other value that the
    user sets meanwhile is kept.
    """
    session = _id(spark)
    with _lock:
        value = spark.conf.get(keys.REMOVAL, None)
        ours = value is None or (value == keys.REMOVAL_COPY and _removing[session] > 0)
        if ours:
            spark.conf.set(keys.REMOVAL, keys.REMOVAL_COPY)
            _removing[session] += 1
    try:
        yield
    finally:
        if ours:
            with _lock:
                _removing[session] -= 1
                if (
                    not _removing[session]
                    and spark.conf.get(keys.REMOVAL, None) == keys.REMOVAL_COPY
                ):
                    spark.conf.unset(keys.REMOVAL)


def _id(spark: Any) -> str:
    """Returns the id of a session, which all its Python objects share."""
    return str(spark.session_id if is_connect(spark) else spark._jsparkSession.sessionUUID())


_EPOCH = datetime(1970, 1, 1)
_MINUTE = timedelta(minutes=1)


def unnamed_copies(spark: SparkSession, table: str) -> tuple[FileCount | None, str | None]:
    """Returns the copies in a table's folder that no version in the log names.

    They are of a driver that was killed, or of one that runs now. The second value is the statement
    that removes them with its earliest time, or why they could not be listed.
    """
    from pyspark.errors import PySparkException

    try:
        (row,) = answer(spark, "column_mapping_copies", literal(table)).collect()
    except PySparkException as error:
        # Copies of others do not keep the table from its own removal.
        return None, f"Cannot look for copies: {error.getCondition()}"
    files = FileCount(row["numFiles"], row["sizeInBytes"])
    if not files.num_files:
        return files, None
    at = row["removableFrom"].astimezone().isoformat(sep=" ", timespec="seconds")
    counted = f"{files.num_files:,} copies ({files.size_in_bytes:,} bytes) that no version names"
    return files, f"VACUUM {sql_name(spark, table)} removes {counted} from {at} on"


def end_of_retention(spark: SparkSession, table: str) -> datetime | None:
    """Returns the time from which Delta drops checkpoint protection; None if nothing has to wait.

    Delta deletes the commits before the version that dropped column mapping, once they are older
    than the retention period, by whole minutes. No commit before that version is newer than it.

    Source: Delta 4.4.0, PreDowngradeTableFeatureCommand.scala,
    `CheckpointProtectionPreDowngradeCommand`; MetadataCleanup.scala, `cleanUpExpiredLogs` and
    `truncateDate`.
    """
    name = sql_name(spark, table)
    shown = run(spark, f"SHOW TBLPROPERTIES {name}").collect()
    properties = {row["key"]: row["value"] for row in shown}
    version = int(properties.get(keys.CHECKPOINT_PROTECTION_VERSION, 0))
    if version <= 0:
        return None
    commits = {row["version"]: row for row in commits_since(spark, table, version - 1)}
    if version not in commits:  # log cleanup has deleted the commit
        return None
    period = properties.get(
        keys.TRUNCATE_HISTORY_RETENTION, keys.DEFAULT_TRUNCATE_HISTORY_RETENTION
    )
    # The period is added in UTC, because local time changes at the end of summer time.
    at = commits[version]["timestamp"].astimezone(timezone.utc)
    minute = at.replace(second=0, microsecond=0)
    end: datetime = (minute if minute == at else minute + _MINUTE) + _duration(spark, period)
    return end.astimezone()


def _duration(spark: SparkSession, interval: str) -> timedelta:
    """Returns the duration of an interval without months, as Delta allows for its retentions."""
    text = f"TIMESTAMP_NTZ'1970-01-01 00:00:00' + CAST({literal(interval)} AS INTERVAL)"
    (row,) = run(spark, f"SELECT {text}").collect()
    end: datetime = row[0]
    return end - _EPOCH


# Delta deletes history only after the retention period. The same statement continues then.
_WAITS_FOR_RETENTION_PERIOD = {
    "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD",
    "DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST",
    "DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD",
}
# Another writer has dropped the feature.
_ALREADY_DROPPED = {"DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"}


class Statements:
    """Runs statements on the table of a full name.

    `before` is called before each statement, which does not run if it raises. With `may_wait`, a
    statement that Delta requires to run again later is no error.
    """

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        progress: Callable[[Progress], None] | None,
        *,
        before: Callable[[], object] = lambda: None,
        may_wait: bool = False,
    ) -> None:
        self._spark = spark
        self._name = name
        self.sql_name = sql_name(spark, name)
        self._progress = progress
        self._before = before
        self._may_wait = may_wait

    def read(self) -> SurveyedTable:
        """Returns the row of the table as it is now, with its name for SQL. Raises its error."""
        (row,) = rows_of(self._spark, [self._name])
        if row.error is not None:
            from pyspark.errors import AnalysisException

            message = str(row.message).removeprefix(f"[{row.error}] ")
            raise AnalysisException(message, errorClass=row.error, messageParameters={})
        return replace(row, table=self.sql_name)

    def run(self, statement: str) -> bool:
        """Runs a statement, and returns whether Delta requires a second run later."""
        self._before()
        with reported(self._spark, statement, self._progress):
            try:
                run(self._spark, statement)
            except Exception as refusal:
                condition = condition_of(refusal)
                if self._may_wait and condition in _WAITS_FOR_RETENTION_PERIOD:
                    return True
                if condition not in _ALREADY_DROPPED:
                    raise
        return False

    def counts_since(self, version: int) -> Mapping[str, FileCount]:
        """Returns the counts of the newest removal after a version, by name; {} if unknown."""
        newer = commits_since(self._spark, self._name, version)
        done = next((row for row in newer if row["operation"] == keys.REMOVE_COLUMN_MAPPING), None)
        metrics = {} if done is None else done["operationMetrics"] or {}
        return {
            name.lower(): FileCount(
                int(metrics[f"num{name}Files"]), int(metrics[f"num{name}Bytes"])
            )
            for name in ("Kept", "Copied", "Rewritten")
            if f"num{name}Bytes" in metrics
        }


def commits_since(spark: SparkSession, name: str, version: int) -> list[Row]:
    """Returns the rows of `column_mapping_commits` after a version, newest first; -1 for all."""
    return answer(spark, "column_mapping_commits", literal(name), f"{version}L").collect()
