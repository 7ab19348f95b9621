# SPDX-License-Identifier: Apache-2.0
"""Judges whether some serial order of the successful statements explains a table.

The oracle reads the log and the Parquet files itself, and shares no code with `spark_ext`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pyarrow.parquet
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from tests.schedules.act import Moment
from tests.schedules.actors import Run, StatementRun, signatures
from tests.schedules.faults import MESSAGE
from tests.schedules.held_streams import STREAMS
from tests.schedules.inserts import INSERT
from tests.schedules.reads import STREAM
from tests.schedules.schedule import Fault
from tests.schedules.table_acts import (
    ADD,
    ALIGN,
    DROP_MAPPING,
    MAP,
    REMOVE_BY_DELTA,
    REMOVE_MAPPING,
    REORG,
    VACUUM_NOW,
)
from tests.support import proof
from tests.support.flat_tables import Impossible, differences, values
from tests.support.proof import findings
from tests.support.reference_model import Key, State
from tests.support.table_files import Row, in_order, live, rows_in_files
from tests.support.table_log import TableLog, local
from tests.support.vectors import file_of

CONDITIONS = re.compile(r"\[((?:DELTA|USAGE_TRACKING)_[A-Z_]+)(?:\.[A-Z_]+)?\]")
OF_SPARK = {
    "UNRESOLVED_COLUMN",
    "FIELD_NOT_FOUND",
    "FIELD_ALREADY_EXISTS",
    "INSERT_COLUMN_ARITY_MISMATCH",
}
"""Spark's conditions if a column was renamed or dropped before the analysis."""
OF_FAULTS = re.compile(f"{MESSAGE}|Could not find any delta files")
"""Texts of raw errors: that of the storage, and Delta's if a listing lacks a checkpoint's entry."""
CONFLICT = "USAGE_TRACKING_REMOVAL_CONFLICT"
"""A few statements beside a removal must not cause this condition."""

SPARK_READS = 3
"""Spark reads the table of every third schedule."""
FILTERS = 6
"""The maximum number of filters by which Spark reads such a table."""

KEEPS_STREAM_RUNNING = {ALIGN, REMOVE_MAPPING, REMOVE_BY_DELTA, MAP, INSERT, ADD, REORG}
"""If a schedule has no other statements, its stream must continue."""

AFTER_COMMIT = "DELTA_INVALID_COMMITTED_VERSION"
"""RESTORE and CLONE raise this after their commit, if others commit before the next reading."""


class Finding(AssertionError):
    """Reports a violation that a schedule has shown."""


@dataclass(frozen=True)
class Order:
    """Contains a serial order, its table, and every value that a column ever had."""

    statements: tuple[StatementRun, ...]
    end: State
    values: frozenset[tuple[Key, object]]

    def __str__(self) -> str:
        return ", then ".join(map(str, self.statements)) or "nothing"


def judge(spark: SparkSession, run: Run) -> None:
    """Raises a `Finding` if no serial order explains the table."""
    log = TableLog(run.path)
    _judge_errors(run, log)
    if not _is_written_twice(run, log):
        _judge_log(run, log)
    rows = rows_in_files(log)
    order = _order_of(run, log, rows)
    if run.schedule.seed % SPARK_READS == 0:  # Spark takes 20 times as long as the oracle
        _judge_reading(spark, run, rows)
    _judge_checksums(run, log)
    _judge_files(run, log)
    _judge_feed(spark, run, log, rows, order)


def _judge_log(run: Run, log: TableLog) -> None:
    found = [each for each in findings(run.path) if not _is_of_delta(each, run, log)]
    if found:
        raise Finding("\n".join(map(str, found)))


def _is_of_delta(found: proof.Finding, run: Run, log: TableLog) -> bool:
    """Returns whether a finding may be the fault of Delta.

    Delta writes a column that is dropped during a rewrite. The time of the drop is not compared.

    Source: Delta 4.4.0, OptimizeTableCommand.scala, `commitAndRetry`.
    """
    return (
        found.check in ("statistics_names", "file_columns")
        and log.at(found.version).operation in ("OPTIMIZE", "REORG")
        and any(act.name.startswith("drop ") for act in run.schedule.acts)
    )


def _is_written_twice(run: Run, log: TableLog) -> bool:
    """Returns whether Delta took its own log entry for a conflict and committed again."""
    of_faults = {statement.signature for statement in run.statements if statement.fault}
    infos = [action["commitInfo"] for c in log.commits for action in c if "commitInfo" in action]
    found = Counter(
        (info.get("userMetadata"), info["operation"], str(info["operationParameters"]))
        for info in infos
    )
    return any(times > 1 for (signature, *_), times in found.items() if signature in of_faults)


# Errors.


def _judge_errors(run: Run, log: TableLog) -> None:
    committed = {signature for _, signature in signatures(run, log.commits)}
    acts, streams = {each.act for each in run.statements}, {STREAM, *STREAMS.values()}
    for each in run.statements:
        error = each.error
        if error is None:
            continue
        if each.act in streams and acts - streams <= KEEPS_STREAM_RUNNING:
            raise Finding(f"{each} did not continue: {_first_lines(error)}") from error
        if condition_of(error) == CONFLICT:
            raise Finding(f"{each} found a conflict in every round: {_first_lines(error)}")
        if not is_stable(error) and not (each.fault and OF_FAULTS.search(str(error))):
            raise Finding(f"{each}: a raw error: {_first_lines(error)}") from error
        may_be_committed = each.fault or each.act.has_parts or condition_of(error) == AFTER_COMMIT
        if each.signature in committed and not may_be_committed:
            raise Finding(f"{each} failed, and its commit is in the log: {_first_lines(error)}")


def is_stable(error: Exception) -> bool:
    """Returns whether an error has a condition that a program can handle."""
    return condition_of(error) is not None


def condition_of(error: Exception) -> str | None:
    is_of_stream = isinstance(error, StreamingQueryException)
    if isinstance(error, PySparkException) and error.getCondition() and not is_of_stream:
        condition = str(error.getCondition()).split(".")[0]
        is_known = condition in OF_SPARK or condition.startswith(("DELTA_", "USAGE_TRACKING_"))
        return condition if is_known else None
    text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    # Errors of an observed step and of a stream arrive through Python, as text.
    is_wrapped = is_of_stream or "Python Proxy" in (text or "")
    found = (CONDITIONS.search if is_wrapped else CONDITIONS.match)(text or "")
    return found[1] if found else None


def _first_lines(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:600]}"


# Values, names and the flag.


def _order_of(run: Run, log: TableLog, rows: list[Row]) -> Order:
    """Returns the first serial order that explains the table."""
    orders = list(_orders(run, log))
    for order in orders:
        if not any(differences(order.end, log, rows)):
            return order
    reported = "\n".join(
        f"  {order}: {'; '.join(differences(order.end, log, rows))}" for order in orders[:8]
    )
    saw = "".join(f"  {each} saw {each.seen}\n" for each in run.statements if each.seen)
    raise Finding(
        f"no serial order gives the table {tuple(log.fields)}, flag {log.flag}, "
        f"mapped {log.is_mapped}:\n  {in_order(rows)}\n{saw}"
        f"{reported or '  there is no order in which all of them succeed'}"
    )


def _orders(run: Run, log: TableLog) -> Iterator[Order]:
    versions: dict[str, list[int]] = {}
    for version, signature in signatures(run, log.commits):
        versions.setdefault(signature, []).append(version)
    must = [each for each in run.statements if each.succeeded or each.seen]
    may = [each for each in run.statements if not each.succeeded and each.signature in versions]
    played = _Played(run, versions)
    for some in _subsets(may):
        for statements in permutations([*must, *some]):
            if _is_in_time(statements):
                yield from played.orders(statements)


def _subsets(statements: list[StatementRun]) -> Iterator[list[StatementRun]]:
    if not statements:
        yield []
        return
    for rest in _subsets(statements[1:]):
        yield [statements[0], *rest]
        yield rest


def _is_in_time(statements: tuple[StatementRun, ...]) -> bool:
    """Returns whether no statement precedes one that ended before the statement began."""
    return not any(late.ended < early.began for early, late in combinations(statements, 2))


class _Played:
    """Plays statements on the model, each beginning of an order once."""

    def __init__(self, run: Run, versions: dict[str, list[int]]) -> None:
        self._kind = run.schedule.kind
        self._versions = versions
        start = Order((), self._kind.model, frozenset(self._kind.values))
        self._known: dict[tuple[int, ...], list[Order]] = {(): [start]}

    def orders(self, statements: tuple[StatementRun, ...]) -> list[Order]:
        """Returns an order for each table that the statements can make."""
        numbers = tuple(statement.number for statement in statements)
        if numbers not in self._known:
            *earlier, statement = statements
            found: dict[str, Order] = {}
            for before in self.orders(tuple(earlier)):
                for known in self.orders(tuple(filter(self._is_seen_by(statement), earlier))):
                    for after in self._after(before.end, statement, known.end):
                        seen = before.values | values(after)
                        same = found.get(repr(after))
                        found[repr(after)] = Order(
                            statements, after, same.values | seen if same else seen
                        )
            self._known[numbers] = list(found.values())
        return self._known[numbers]

    def _is_seen_by(self, statement: StatementRun) -> Callable[[StatementRun], bool]:
        def is_seen(earlier: StatementRun) -> bool:
            made = self._versions.get(earlier.signature)
            return made is not None and made[-1] <= statement.known_version

        return is_seen

    def _after(self, state: State, statement: StatementRun, known: State) -> tuple[State, ...]:
        kind, has_failed = self._kind, not statement.succeeded
        moment = Moment(
            statement.number, known, kind.model, kind.early, kind.mapped, statement.seen, has_failed
        )
        try:
            after = statement.act.effect(state, moment)
        except Impossible:
            return ()
        return after if isinstance(after, tuple) else (after,)


def _judge_reading(spark: SparkSession, run: Run, rows: list[Row]) -> None:
    read = [
        {name: value for name, value in row.asDict().items() if value is not None}
        for row in spark.read.format("delta").load(run.url).collect()
    ]
    if in_order(read) != in_order(rows):
        raise Finding(f"Spark reads\n  {in_order(read)}\nof\n  {in_order(rows)}")
    _judge_skipping(spark, run, rows)


def _judge_skipping(spark: SparkSession, run: Run, rows: list[Row]) -> None:
    """Raises a `Finding` if a filter, which skips files by statistics, misses a value."""
    values = {(name, value) for row in rows for name, value in row.items()}
    table = spark.read.format("delta").load(run.url)
    found = [
        table.where(f"`{name}` = {value!r}").selectExpr(f"'{name}'", f"string(`{name}`)")
        for name, value in sorted(values, key=repr)[:: 1 + len(values) // FILTERS]
    ]
    reported = reduce(DataFrame.union, found).distinct().count() if found else 0
    if reported != len(found):
        raise Finding(f"{len(found) - reported} of {len(found)} filters find nothing")


# Checksums.


def _judge_checksums(run: Run, log: TableLog) -> None:
    for version in range(run.first_version + 1, log.version + 1):
        file = run.path / "_delta_log" / f"{version:020}.crc"
        if file.exists():
            reported = json.loads(file.read_text())
            wrong = _wrong(reported, log.at(version))
            if wrong:
                raise Finding(f"the checksum of version {version}: {wrong}")


def _wrong(reported: dict[str, Any], log: TableLog) -> dict[str, Any]:
    adds = live(log).values()
    vectors = [add["deletionVector"] for add in adds if "deletionVector" in add]
    right = {
        "numFiles": len(adds),
        "tableSizeBytes": sum(add["size"] for add in adds),
        "metadata": log.metadata,
        "protocol": log.protocol,
        "numDeletionVectorsOpt": len(vectors),
        "numDeletedRecordsOpt": sum(vector["cardinality"] for vector in vectors),
    }
    return {
        name: (reported[name], value)
        for name, value in right.items()
        if name in reported and _comparable(reported[name]) != _comparable(value)
    }


def _comparable(value: Any) -> Any:
    """Returns a value in which features and properties have a fixed order."""
    if isinstance(value, dict):
        return {key: _comparable(inner) for key, inner in value.items()}
    return sorted(value) if isinstance(value, list) and all_text(value) else value


def all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


# Files.


def _judge_files(run: Run, log: TableLog) -> None:
    """Raises a `Finding` for unreferenced files that no failed statement explains."""
    unnamed = _unnamed(log)
    may_be_committed = any(
        statement.fault not in (None, Fault.BROKEN)
        and not statement.succeeded
        and statement.act in (REMOVE_MAPPING, DROP_MAPPING, ALIGN, REORG)
        for statement in run.statements
    )
    copies = {path for path in unnamed if "c000" not in path and path.endswith(".parquet")}
    if copies and not may_be_committed:
        raise Finding(f"copies that no version names: {copies}")
    if all(statement.succeeded for statement in run.statements):
        # Delta does not delete a file that it wrote without rows.
        full = {path for path in unnamed - copies if _num_rows(run.path / path)}
        if full:
            raise Finding(f"files that no version names, and nothing failed: {full}")


def _num_rows(file: Path) -> int:
    return int(pyarrow.parquet.read_metadata(file).num_rows)


def _unnamed(log: TableLog) -> set[str]:
    named = set()
    for commit in log.commits:
        for action in commit:
            for kind in ("add", "remove", "cdc"):
                if kind in action:
                    named |= _files_of(log.path, action[kind])
    files = {
        file
        for file in log.path.rglob("*")
        if file.is_file()
        and file.relative_to(log.path).parts[0] != "_delta_log"
        and file.suffix != ".crc"
        # Delta writes the vector before it sees that every row of the file is deleted.
        and file.suffix != ".bin"
    }
    return {str(file.relative_to(log.path)) for file in files - named}


def _files_of(table: Path, action: dict[str, Any]) -> set[Path]:
    vector = action.get("deletionVector")
    stored = [vector] if vector and vector["storageType"] != "i" else []
    return {local(table, action["path"]), *(file_of(table, vector) for vector in stored)}


# The change feed.


def _judge_feed(
    spark: SparkSession, run: Run, log: TableLog, rows: list[Row], order: Order
) -> None:
    """Raises a `Finding` if the change feed does not replay to the table, and is not refused."""
    if not run.schedule.kind.has_feed or VACUUM_NOW in run.schedule.acts:
        return
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    try:
        changes = reader.option("startingVersion", 0).load(run.url).collect()
    except Exception as error:
        if not is_stable(error):
            raise Finding(f"the change feed: a raw error: {_first_lines(error)}") from error
        return
    keys = {column.name: column.key for column in order.end.columns}
    for change in changes:
        for name, value in change.asDict().items():
            known = value is None or name not in keys
            if not known and name != "k" and (keys[name], value) not in order.values:
                raise Finding(f"the change feed shows {value} in {name}")
    if run.schedule.kind.is_empty:
        return
    names = _constant_names(log)
    remaining: Counter[tuple[Any, ...]] = Counter()
    for change in changes:
        is_new = change["_change_type"] in ("insert", "update_postimage")
        remaining[tuple(change[name] for name in names)] += 1 if is_new else -1
    wanted = Counter(tuple(row.get(name) for name in names) for row in rows)
    if +remaining != wanted or -remaining:
        raise Finding(f"the change feed replays {names} to {remaining}, not to {wanted}")


def _constant_names(log: TableLog) -> list[str]:
    """Returns the columns that every version contains under one physical name."""
    found: dict[str, set[str]] = {}
    versions = [log.at(version).physical_names for version in range(log.version + 1)]
    for names in versions:
        for name, physical in names.items():
            found.setdefault(name, set()).add(physical or name)
    return [
        name
        for name, physical in found.items()
        if len(physical) == 1 and all(name in names for names in versions)
    ]
