# SPDX-License-Identifier: Apache-2.0
"""The report of a call over many tables, for people and for programs."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from spark_ext.lakehouse.files import REPORT_FORMS, page, require_form, whole_file
from spark_ext.lakehouse.results import COMPLETE, OutcomeSum, TableResult, sums
from spark_ext.lakehouse.signals import Interrupted
from spark_ext.show.tables import Facts, Part, Rendered, Table, as_text
from spark_ext.wire.rows import ddl, in_camel_case, write_csv

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHOWN = 100
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
    """

    goal: str
    where: tuple[str, ...]
    tables: tuple[TableResult, ...]
    dry_run: bool = False
    seconds: float = 0.0
    interrupted: str | None = None

    @property
    def complete(self) -> bool:
        """Returns whether no later call has anything to do."""
        return self.interrupted is None and all(each.outcome in COMPLETE for each in self.tables)

    @property
    def come_back(self) -> datetime | None:
        """Returns the earliest time at which the same call finishes a waiting table."""
        return min((each.come_back for each in self.tables if each.come_back), default=None)

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
        yield {
            "goal": self.goal,
            "where": list(self.where),
            "dryRun": self.dry_run,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "complete": self.complete,
            "comeBack": _plain(self.come_back, texts=True),
            "sums": _plain(self.sums, texts=True),
        }
        for each in self.tables:
            yield _plain(each, texts=True)

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

        A file `.json` has a line for each of `as_objects`. A reader never sees a part of the file.

        Raises:
            ValueError: The file has another end.
            OSError: The file cannot be written.
        """
        path = Path(file)
        form = path.suffix.lower()
        require_form(path, REPORT_FORMS)
        with whole_file(path) as written:
            if form == ".csv":
                self.write_csv(written)
            elif form == ".html":
                written.write(page(f"spark-ext: {self.goal}", self.html()))
            elif form == ".json":
                written.writelines(f"{json.dumps(each)}\n" for each in self.as_objects())
            else:
                written.write(f"{self.text()}\n")

    def to_df(self, spark: SparkSession) -> DataFrame:
        """Returns the tables as a DataFrame, whose columns are the fields of `TableResult`."""
        return spark.createDataFrame([_plain(each) for each in self.tables], ddl(TableResult))

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


def _plain(value: Any, *, texts: bool = False) -> Any:
    """Returns dataclasses as objects of their columns, and times as texts if `texts`."""
    if is_dataclass(value):
        return {
            in_camel_case(field.name): _plain(getattr(value, field.name), texts=texts)
            for field in fields(value)
        }
    if isinstance(value, tuple):
        return [_plain(each, texts=texts) for each in value]
    return value.isoformat() if texts and isinstance(value, datetime) else value


def _csv_cell(value: Any) -> str:
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    if is_dataclass(value) or isinstance(value, tuple):
        return json.dumps(_plain(value, texts=True))
    plain = value.isoformat() if isinstance(value, datetime) else value
    return "" if plain is None else str(plain).lower() if isinstance(plain, bool) else str(plain)
