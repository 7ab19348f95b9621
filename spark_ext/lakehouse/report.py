# SPDX-License-Identifier: Apache-2.0
"""The report of a call over many tables, for people and for programs."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from spark_ext.lakehouse.budget import BYTES
from spark_ext.lakehouse.files import REPORT_FORMS, page, require_form, whole_file
from spark_ext.lakehouse.next_call import Call, NextCall
from spark_ext.lakehouse.results import (
    CANCELLED,
    COMPLETE,
    FAILED,
    GONE,
    NOT_BEGUN,
    PLANNED,
    WAITING,
    OutcomeSum,
    TableResult,
    sums,
)
from spark_ext.lakehouse.signals import Interrupted
from spark_ext.show.tables import Facts, Part, Rendered, Table, as_text
from spark_ext.wire.rows import ddl, in_camel_case, json_lines, plain, write_csv

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHOWN = 100
# The same call may finish these tables at once. A table that is gone may have another name.
_AGAIN = {NOT_BEGUN, CANCELLED, FAILED, GONE}
_SUMS = ("outcome", "tables", "files", "bytes")
_ROWS = (
    *("table", "outcome", "cost", "files", "bytes", "kept", "copied", "rewritten"),
    *("seconds", "versions", "reasons, or error", "what to do"),
)


@dataclass(frozen=True, repr=False)
class LakehouseReport(Rendered):
    """The report of a call over many tables. The report of a dry run is the plan.

    Args:
        goal: The goal in words.
        where: The schemas, catalogs and paths of the call.
        tables: The results in the order of the survey.
        dry_run: Whether the call changed nothing.
        seconds: The duration of the call.
        interrupted: The signal that ended the call, such as `SIGINT`; None if none did.
        call: The call; None if it is not known.
    """

    goal: str
    where: tuple[str, ...]
    tables: tuple[TableResult, ...]
    dry_run: bool = False
    seconds: float = 0.0
    interrupted: str | None = None
    call: Call | None = None

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
    def next_call(self) -> NextCall | None:
        """Returns the call that continues this one, and from when; None if nothing remains."""
        if self.call is None or self.complete:
            return None
        if self.dry_run and self.of(PLANNED):
            return NextCall(words="run the plan", earliest=None, calls=self.call.texts())
        is_ready = any(each.outcome == WAITING and each.come_back is None for each in self.tables)
        if self.interrupted is None and not is_ready and not any(map(self.of, _AGAIN)):
            return self._next_call_later(self.call)
        call = self._with_more_bytes(self.call)
        words = "the same call again" if call == self.call else "the same call with more bytes"
        if self.come_back is not None:
            words += f", and once more from {_time(self.come_back)} on"
        return NextCall(words=words, earliest=None, calls=call.texts())

    def _next_call_later(self, call: Call) -> NextCall:
        words = "unblock or repair the tables, and then the same call again"
        if not self.tables:
            words = "check the catalog and the names: no table was found. Then the same call again"
        if self.come_back is not None:
            words = f"the same call again, from {_time(self.come_back)} on"
        return NextCall(words=words, earliest=self.come_back, calls=call.texts())

    def _with_more_bytes(self, call: Call) -> Call:
        """Returns the call with a budget for the largest table if no table fits into the budget."""
        refused = [each.size_in_bytes for each in self.of(NOT_BEGUN) if BYTES in each.reasons]
        if not refused or min(refused) <= call.options.get("max_bytes", 0):
            return call
        return call.with_options(max_bytes=max(refused))

    def writing(self, files: Iterable[str | os.PathLike[str]]) -> LakehouseReport:
        """Returns the report of a command that writes files, as its next call does."""
        if self.call is None:
            return self
        options = tuple(("--report", os.fspath(file)) for file in files)
        return replace(self, call=replace(self.call, files=options))

    @property
    def sums(self) -> tuple[OutcomeSum, ...]:
        """Returns the sums of each outcome that a table has."""
        return sums(self.tables)

    def of(self, outcome: str) -> tuple[TableResult, ...]:
        """Returns the results with an outcome."""
        return tuple(each for each in self.tables if each.outcome == outcome)

    def text(self, *, shown: int | None = None) -> str:
        """Returns the sums and the first `shown` tables; None for all tables."""
        return as_text(self._parts(shown))

    def html(self, *, shown: int | None = None) -> str:
        """Returns the HTML of `text`."""
        return "".join(part.html() for part in self._parts(shown))

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

    def write_csv(self, file: TextIO) -> None:
        """Writes a line for each table under the names of the columns; inner objects are JSON."""
        names = [field.name for field in fields(TableResult)]
        rows = ([_csv_cell(getattr(each, name)) for name in names] for each in self.tables)
        write_csv(file, map(in_camel_case, names), rows)

    def to_csv(self) -> str:
        """Returns the text of `write_csv`."""
        file = io.StringIO()
        self.write_csv(file)
        return file.getvalue()

    def write(self, file: str | os.PathLike[str]) -> None:
        """Writes the report to a file, in the form that its end names: one of `REPORT_FORMS`.

        A file `.json` has a line for each of `as_objects`. A reader never sees an incomplete file.

        Raises:
            InvalidFileNameError: USAGE_TRACKING_INVALID_FILE_NAME, if the name has another end.
            OSError: The file cannot be written.
        """
        path = Path(file)
        form = require_form(path, REPORT_FORMS)
        with whole_file(path) as written:
            if form == ".csv":
                self.write_csv(written)
            elif form == ".html":
                written.write(page(f"spark-ext: {self.goal}", self.html()))
            elif form == ".json":
                written.writelines(json_lines(self.as_objects()))
            else:
                written.write(f"{self.text()}\n")

    def to_df(self, spark: SparkSession) -> DataFrame:
        """Returns the tables as a DataFrame, whose columns are the fields of `TableResult`."""
        rows = [plain(each, of_time=lambda time: time) for each in self.tables]
        return spark.createDataFrame(rows, ddl(TableResult))

    def _parts(self, shown: int | None = _SHOWN) -> Iterator[Part]:
        yield Facts(
            {
                "goal": self.goal,
                "where": self.where or "the current schema",
                **({"dry run": True} if self.dry_run else {}),
                **({"interrupted by": self.interrupted} if self.interrupted else {}),
                "tables": len(self.tables),
                "complete": self.complete,
                **({"come back": _time(self.come_back)} if self.come_back else {}),
                "seconds": f"{self.seconds:.1f}",
            }
        )
        if self.tables:
            rows = [tuple(asdict(each).values()) for each in self.sums]
            yield Table(_SUMS, rows, "Tables by outcome")
            yield Table(_ROWS, self._rows(shown), "The tables")
        if self.next_call is not None:
            yield from self.next_call.parts()

    def _rows(self, shown: int | None) -> list[Sequence[Any]]:
        rows: list[Sequence[Any]] = [_row(each) for each in self.tables[:shown]]
        more = len(self.tables) - len(rows)
        return [*rows, (f"({more:,} more)", *[None] * (len(_ROWS) - 1))] if more else rows


class LakehouseInterrupted(Interrupted):
    """SIGINT or SIGTERM ended a call over many tables."""

    report: LakehouseReport


def _row(each: TableResult) -> tuple[Any, ...]:
    counts = (each.kept, each.copied, each.rewritten)
    versions = (each.version_before, each.version_after)
    todo = [each.unblocking, each.removed_by]
    if each.come_back is not None:
        todo.append(f"run the same call again at {_time(each.come_back)}")
    return (
        each.table,
        each.outcome,
        each.cost,
        each.num_files,
        each.size_in_bytes,
        *(None if count is None else count.num_files for count in counts),
        None if each.seconds is None else round(each.seconds, 1),
        None if None in versions else "{} to {}".format(*versions),
        each.error or each.reasons,
        "; ".join(text for text in todo if text),
    )


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(sep=" ", timespec="seconds")


def _csv_cell(value: Any) -> str:
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    shown = plain(value)
    if isinstance(shown, (dict, list)):
        return json.dumps(shown)
    return "" if shown is None else str(shown).lower() if isinstance(shown, bool) else str(shown)
