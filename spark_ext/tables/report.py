# SPDX-License-Identifier: Apache-2.0
"""The results of statements and tables, and the report of a call over many tables."""

from __future__ import annotations

import errno
import json
import os
import signal
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spark_ext.errors import InvalidFileNameError
from spark_ext.model.metadata import FileCount
from spark_ext.model.rows import ddl, plain
from spark_ext.removal.stages import CHEAPEST_FIRST, METADATA, SurveyedTable
from spark_ext.show import Cases, Facts, Lines, ManyTables, Part, Table, cell, error_in_words, size

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class StatementResult:
    """The result of a statement.

    Args:
        version_before: The newest version of the table before the statement, from 0.
        version_after: The newest version afterwards, which may be of another writer; None if the
            table could not be read.
        waits: Whether Delta requires a second run after its retention period.
        kept: The files that a removal kept; a metadata-only removal counts no file. None if the
            statement removes no column mapping, or if its counts are unknown, as after Delta's
            rewrite beside other commits. The same holds for the next two.
        copied: The files that a removal copied, and their size before, in bytes.
        rewritten: The files that Delta rewrote for a removal, and their size before, in bytes.
    """

    statement: str
    version_before: int
    version_after: int | None
    seconds: float
    waits: bool = False
    kept: FileCount | None = None
    copied: FileCount | None = None
    rewritten: FileCount | None = None

    def __str__(self) -> str:
        after = "(unknown)" if self.version_after is None else self.version_after
        parts = [
            f"{cell(self.statement)}: version {self.version_before} to {after}",
            f"{self.seconds:.1f} s",
            *(["waits for the retention period"] if self.waits else []),
            *in_words(removal_counts((self,))),
        ]
        return ", ".join(parts)


def removal_counts(statements: Iterable[StatementResult]) -> dict[str, Any]:
    """Returns the known counts of the first removal among statements, by name."""
    for each in statements:
        counts = {name: getattr(each, name) for name in ("kept", "copied", "rewritten")}
        if any(counts.values()):
            return {name: count for name, count in counts.items() if count is not None}
    return {}


def in_words(counts: Mapping[str, FileCount]) -> list[str]:
    """Returns counts of files in words."""
    return [
        f"{count.num_files:,} {name} ({count.size_in_bytes:,} bytes)"
        for name, count in counts.items()
    ]


NO_FILES = dict.fromkeys(("kept", "copied", "rewritten"), FileCount())

# The outcomes of a table, in the order of the sums.
PLANNED, DONE, ALREADY_DONE, GONE, WAITING = "PLANNED", "DONE", "ALREADY_DONE", "GONE", "WAITING"
NOT_BEGUN, CANCELLED, BLOCKED = "NOT_BEGUN", "CANCELLED", "BLOCKED"
UNREADABLE, FAILED = "UNREADABLE", "FAILED"
OUTCOMES = (
    *(PLANNED, DONE, ALREADY_DONE, GONE, WAITING),
    *(NOT_BEGUN, CANCELLED, BLOCKED, UNREADABLE, FAILED),
)
# No later call has anything to do for these tables.
# GONE is not in the set: a renamed table exists under another name.
COMPLETE = {DONE, ALREADY_DONE}

# Why a table did not begin.
BYTES, TIME, ERRORS = "BUDGET_OF_BYTES", "BUDGET_OF_TIME", "BUDGET_OF_ERRORS"
INTERRUPTED, PROGRESS_FAILED, CALL_FAILED = "INTERRUPTED", "PROGRESS_FAILED", "CALL_FAILED"


@dataclass(frozen=True, kw_only=True)
class TableResult:
    """The result for one table.

    Args:
        outcome: `PLANNED` (dry run); `DONE`, by this call or by another driver during the call;
            `ALREADY_DONE` before the call; `GONE` if no table has the name any more, because it was
            dropped or renamed; `WAITING` for Delta's retention period; `NOT_BEGUN`; `CANCELLED`
            (the table is as before the last statement); `BLOCKED`; `UNREADABLE`; `FAILED`.
        cost: The highest cost of the planned statements, as in `RemovalStage`; None if none runs.
        num_files: An upper bound of the files to copy or rewrite.
        size_in_bytes: The size of these files, in bytes.
        free_space: The bytes that the storage needs for copies until VACUUM, an upper bound.
        reasons: The reasons why the table is blocked, did not begin, was cancelled or had a
            conflict; `UNKNOWN` if the call could not determine the outcome.
        unblocking: Sentences and statements that remove the reasons.
        before: The row of the survey, or of a later reading just before the table ran.
        after: The row of a second survey after the run; None for a table that did not begin, or
            that has the reason `UNKNOWN`.
        kept: The files that the removal of this call kept; None without a removal, or if unknown,
            as are `copied` and `rewritten`.
        copied: The files whose bytes were copied.
        rewritten: The files that Delta rewrote.
        seconds: The duration; None if `after` is None.
        version_before: The version in `before`; `version_after` that in `after`, which may be of
            another writer.
        error: The condition of the error, or the class of an error without a condition.
        come_back: The earliest time at which the same call finishes the table.
        leftovers: Files of the table's folder that no version in the log names, such as copies of a
            driver that was killed; None if the call did not look for them, or could not.
        removed_by: The statement that removes these files, and its earliest time; or why the call
            could not look for them. None without such files.
    """

    table: str
    outcome: str
    cost: str | None = None
    num_files: int = 0
    size_in_bytes: int = 0
    free_space: int = 0
    reasons: tuple[str, ...] = ()
    unblocking: str | None = None
    before: SurveyedTable | None = None
    after: SurveyedTable | None = None
    statements: tuple[StatementResult, ...] = ()
    kept: FileCount | None = None
    copied: FileCount | None = None
    rewritten: FileCount | None = None
    seconds: float | None = None
    version_before: int | None = None
    version_after: int | None = None
    error: str | None = None
    message: str | None = None
    come_back: datetime | None = None
    leftovers: FileCount | None = None
    removed_by: str | None = None

    @property
    def changed(self) -> FileCount:
        """Returns the files that were copied or rewritten, or the upper bounds without counts."""
        if self.copied is None or self.rewritten is None:
            return FileCount(self.num_files, self.size_in_bytes)
        return self.copied + self.rewritten


@dataclass(frozen=True)
class OutcomeSum:
    """The tables with one outcome, and their files that were copied or rewritten.

    For tables without these counts, the upper bound of their plans counts.
    """

    outcome: str
    num_tables: int
    num_files: int
    size_in_bytes: int


# The ends of the names of files.
REPORT_FORMS: Final = (".html", ".json")
CERTIFICATE_FORMS: Final = (".json",)

_STYLE = "body{font-family:sans-serif}td,th{text-align:left;padding:0 1em 0 0}"


def require_form(path: Path, forms: Iterable[str]) -> str:
    """Returns the end of a file's name in lower case; raises InvalidFileNameError for others."""
    form = path.suffix.lower()
    if form not in forms:
        raise InvalidFileNameError(file=path, forms=", ".join(forms))
    return form


def write_whole(file: str | os.PathLike[str], texts: Mapping[str, Callable[[], str]]) -> None:
    """Writes the text of the form that the end of a file's name names.

    A reader of the path never sees an incomplete text. If the text or the file fails, the path is
    unchanged. Several writers may write one path at once: the last one remains.
    """
    path = Path(file)
    text = texts[require_form(path, texts)]
    part = _part(path)
    try:
        with part.open("x", encoding="utf-8", newline="") as whole:
            whole.write(text())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def require_writable(path: Path) -> None:
    """Raises an OSError if the folder cannot be written, or if the path is a folder."""
    part = _part(path)
    part.touch(exist_ok=False)
    part.unlink()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))


def _part(path: Path) -> Path:
    return path.with_name(f".{uuid.uuid4()}.part")


# The sums have the reasons of these tables.
_STOPPED = {NOT_BEGUN, CANCELLED}
# The next call does not help these tables.
_FOR_A_PERSON = {GONE, BLOCKED, UNREADABLE, FAILED}
_ROWS = (
    *("table", "outcome", "cost", "files", "bytes", "kept", "copied", "rewritten"),
    *("seconds", "versions"),
)
_NARROW = ("outcome", "cost", "files", "bytes", "seconds", "table")


@dataclass(frozen=True, repr=False)
class LakehouseReport(ManyTables):
    """The report of a call over many tables. The report of a dry run is the plan.

    Args:
        goal: The goal in words.
        where: The schemas, catalogs and paths of the call.
        tables: The results in the order of the survey.
        interrupted: The signal that ended the call, such as `SIGINT`; None if none did.
    """

    goal: str
    where: tuple[str, ...]
    tables: tuple[TableResult, ...]
    dry_run: bool = False
    seconds: float = 0.0
    interrupted: str | None = None

    @property
    def complete(self) -> bool:
        """Returns whether tables were found, and no later call has anything to do.

        A call that finds no table may have read another catalog than its user wanted.
        """
        is_ended = self.interrupted is None and bool(self.tables)
        return is_ended and all(each.outcome in COMPLETE for each in self.tables)

    @property
    def come_back(self) -> datetime | None:
        """Returns the earliest time at which the same call finishes a waiting table."""
        return min((each.come_back for each in self.tables if each.come_back), default=None)

    @property
    def next_call(self) -> str | None:
        """Returns in words what to call next, and from when; None if nothing remains."""
        if self.complete:
            return None
        if self.dry_run and self.of(PLANNED):
            return "the same call without the dry run"
        again = "the same call again"
        from_then = f"from {_time(self.come_back)} on" if self.come_back else None
        if self.interrupted is None and not any(map(_may_end_at_once, self.tables)):
            if from_then:
                return f"{again}, {from_then}"
            if not self.tables:
                return f"check the catalog and the names: no table was found. Then {again}"
            return f"unblock or repair the tables, and then {again}"
        left = self.of(NOT_BEGUN)
        refused = [each.size_in_bytes for each in left if BYTES in each.reasons]
        if refused and not self.of(DONE):
            again = f"the same call with a limit of at least {min(refused):,} bytes"
        return f"{again}, and once more {from_then}" if from_then else again

    @property
    def sums(self) -> tuple[OutcomeSum, ...]:
        """Returns the sums of each outcome that a table has."""
        found = ((outcome, self.of(outcome)) for outcome in OUTCOMES)
        return tuple(
            OutcomeSum(outcome, len(tables), *astuple(_changed(tables)))
            for outcome, tables in found
            if tables
        )

    def of(self, outcome: str) -> tuple[TableResult, ...]:
        """Returns the results with an outcome."""
        return tuple(each for each in self.tables if each.outcome == outcome)

    def as_objects(self) -> Iterator[dict[str, Any]]:
        """Yields an object with the sums, then one for each table, for lines of JSON."""
        sums = {
            "goal": self.goal,
            "where": self.where,
            "dryRun": self.dry_run,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "complete": self.complete,
            "comeBack": self.come_back,
            "nextCall": self.next_call,
            "sums": self.sums,
        }
        yield from map(plain, (sums, *self.tables))

    def write(self, file: str | os.PathLike[str]) -> None:
        """Writes the report to a file `.html` or `.json`, as the end of its name says.

        A file `.json` has one object: the sums, with the tables. A reader never sees an incomplete
        file.

        Raises:
            InvalidFileNameError: USAGE_TRACKING_INVALID_FILE_NAME, if the name has another end.
            OSError: The file cannot be written.
        """
        write_whole(file, {".html": self._page, ".json": self._json})

    def _page(self) -> str:
        return (
            f'<!doctype html>\n<meta charset="utf-8">\n<title>{escape(f"spark-ext: {self.goal}")}'
            f"</title>\n<style>{_STYLE}</style>\n{self.html()}\n"
        )

    def _json(self) -> str:
        sums, *tables = self.as_objects()
        return json.dumps({**sums, "tables": tables}) + "\n"

    def to_df(self, spark: SparkSession) -> DataFrame:
        """Returns the tables as a DataFrame, whose columns are the fields of `TableResult`."""
        rows = [plain(each, of_time=lambda time: time) for each in self.tables]
        return spark.createDataFrame(rows, ddl(TableResult))

    def _parts(self) -> Iterator[Part]:
        facts = {
            "goal": self.goal,
            "where": self.where or "the current schema",
            "dry run": self.dry_run or None,
            "interrupted by": self.interrupted,
            "tables": self._groups() or "0",
            "complete": self.complete,
            "come back": _time(self.come_back),
            "seconds": f"{self.seconds:.1f}",
        }
        yield Facts.known(facts, fits=True)
        yield cases("outcome", self.tables)
        yield Table(_ROWS, [*map(_row, self.tables)], "The tables", _NARROW)
        if self.next_call is not None:
            yield Lines(f"Next: {self.next_call}.")

    def _groups(self) -> str:
        """Returns the tables that are done or planned by their cost, and others by outcome."""
        groups: dict[str, list[TableResult]] = {}
        for each in sorted(self.tables, key=_place):
            by_cost = each.outcome in (PLANNED, DONE) and each.cost
            group = by_cost or each.outcome
            reasons = f" ({cell(each.reasons)})" if each.outcome in _STOPPED else ""
            groups.setdefault(group + reasons, []).append(each)
        return ", ".join(_group(name, tables) for name, tables in groups.items())


class LakehouseInterrupted(KeyboardInterrupt):
    """SIGINT or SIGTERM ended a call over many tables.

    No table and no statement began after the signal, and running statements were cancelled.
    `report` includes the tables and statements before the signal. A command exits with 128 plus the
    number of `signal`.
    """

    def __init__(self, report: LakehouseReport, number: signal.Signals) -> None:
        super().__init__(f"{number.name} ended the call. The attribute `report` has its report.")
        self.report = report
        self.signal = number


def _may_end_at_once(each: TableResult) -> bool:
    """Returns whether the same call may finish a table now, without the help of a person."""
    if each.outcome == FAILED:
        return each.error is None or bool(each.reasons)  # another writer, or an unknown end
    is_ready = each.outcome == WAITING and each.come_back is None
    # A table that is gone may have another name.
    return is_ready or each.outcome in (NOT_BEGUN, CANCELLED, GONE)


def _changed(tables: Iterable[TableResult]) -> FileCount:
    return sum((each.changed for each in tables), FileCount())


def _place(each: TableResult) -> tuple[int, int]:
    return OUTCOMES.index(each.outcome), CHEAPEST_FIRST.index(each.cost or METADATA)


def _group(name: str, tables: Sequence[TableResult]) -> str:
    changed = _changed(tables).size_in_bytes
    has_size = changed and tables[0].outcome not in _FOR_A_PERSON
    return f"{len(tables):,} {name}" + (f" {size(changed)}" if has_size else "")


def cases(state: str, tables: Iterable[TableResult]) -> Cases:
    """Returns the tables that need a person, with what has happened and what to do."""
    rows = [
        (
            each.outcome,
            each.table,
            error_in_words(each.error, each.message) or "\n".join(each.reasons),
            "\n".join(filter(None, (each.unblocking, each.removed_by))),
        )
        for each in tables
        if each.outcome in _FOR_A_PERSON or each.removed_by
    ]
    return Cases((state, "table", "because", "what to do"), rows, "Tables that need a person")


def _row(each: TableResult) -> tuple[Any, ...]:
    counts = (each.kept, each.copied, each.rewritten)
    versions = (each.version_before, each.version_after)
    return (
        each.table,
        each.outcome,
        each.cost,
        each.changed.num_files,
        each.changed.size_in_bytes,
        *(None if count is None else count.num_files for count in counts),
        None if each.seconds is None else round(each.seconds, 1),
        None if None in versions else "{} to {}".format(*versions),
    )


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(sep=" ", timespec="seconds")
