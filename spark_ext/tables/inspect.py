# SPDX-License-Identifier: Apache-2.0
"""Reads tables and changes none: the audit, and what remains of dropped columns."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from spark_ext.auditing.check import DAMAGE, RISK, Finding
from spark_ext.errors import NotACertificateError, SessionWithoutExtensionError
from spark_ext.launch import add_jar, is_connect
from spark_ext.model.dropped import (
    ERASED,
    NEVER_HAD,
    NOT_READ,
    UNKNOWN,
    UNREADABLE,
    VERDICTS,
    Asked,
    CheckedTable,
    ColumnVerdict,
    DroppedPlace,
)
from spark_ext.model.rows import as_row, in_utc, of_row, plain
from spark_ext.model.schema import backticked, path_of
from spark_ext.removal.stages import SurveyedTable
from spark_ext.show import Facts, Lines, Part, Rendered, Table
from spark_ext.tables.find import Options, Place, chosen_tables, require_number, text_of
from spark_ext.tables.progress import (
    READING,
    LakehouseProgress,
    Progress,
    Reporter,
    reported,
    shown,
    shown_statement,
)
from spark_ext.tables.report import write_whole
from spark_ext.tables.sql import DELTA, SURVEYED, VIEW, answer, described, is_path, literal
from spark_ext.tables.threads import each_table, receiving_signals
from spark_ext.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession


_FINDING = ("severity", "version", "check", "column", "file")


@dataclass(frozen=True, repr=False)
class AuditResult(Rendered):
    """The findings of one table, the worst first. A healthy table has none, or risks only."""

    table: str
    findings: tuple[Finding, ...]

    @property
    def num_damages(self) -> int:
        """Returns the number of findings of damage."""
        return sum(finding.severity == DAMAGE for finding in self.findings)

    @property
    def num_risks(self) -> int:
        """Returns the number of findings of risk."""
        return len(self.findings) - self.num_damages

    def as_objects(self) -> Iterable[dict[str, Any]]:
        """Returns each finding with its table, for JSON."""
        return (plain({"table": self.table, **as_row(each)}) for each in self.findings)

    def _parts(self) -> Iterator[Part]:
        counts = {DAMAGE: self.num_damages, RISK: self.num_risks}
        parts = ", ".join(f"{number} {severity}" for severity, number in counts.items() if number)
        number = len(self.findings)
        words = {0: "no findings", 1: f"1 finding ({parts})"}
        many = f"{number} findings ({parts}), worst first"
        yield Lines(f"{self.table}: {words.get(number, many)}")
        if self.findings:
            rows = [
                (at, *(getattr(finding, place) for place in _FINDING))
                for at, finding in enumerate(self.findings, 1)
            ]
            yield Table(("", *_FINDING), rows, "The findings, the worst first")
        for at, finding in enumerate(self.findings, 1):
            yield Lines(f"{at}. {finding.message}", [f"What to do: {finding.remedy}"])


_FUNCTION = "column_mapping_audit"


def audit(
    spark: SparkSession,
    table: str | os.PathLike[str],
    *,
    sample: int | None = None,
    progress: Callable[[Progress], None] | None = shown_statement,
) -> AuditResult:
    """Reads the log of a table and the footers of its files, and returns the findings.

    The audit changes nothing, and reads tables that this session could not write. A classic session
    without spark-ext gets the jar on its class path, and no hook.

    Args:
        spark: Any session with Delta; with Spark Connect, the server needs spark-ext.
        table: A name, or a path: a text with a slash outside of backticks.
        sample: The number of data files whose footers are read, by default of all files.
        progress: Called before, while and after Spark reads; None for no reports.

    Raises:
        TypeError: `table` is neither a text nor a path, or `sample` is not an integer; ValueError
            if `sample` is negative.
        AnalysisException: DELTA_MISSING_DELTA_TABLE; USAGE_TRACKING_INVALID_TABLE_NAME;
            USAGE_TRACKING_UNREADABLE_LOG.
        SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION, with Spark Connect.
        SessionNotAttachableError: USAGE_TRACKING_SESSION_NOT_ATTACHABLE, if the session lacks
            Delta, or if its class path accepts no further jar.
        DifferentVersionsError: The session has a jar of another version.
        ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED.

    Example:
        `spark_ext.audit(spark, "db.t").findings`
    """
    name = _sql_name(table)
    if sample is not None:
        require_number("sample", sample, 0)
    with reported(spark, f"{_FUNCTION}({name})", progress):
        rows = _rows(spark, name, sample).collect()
    return AuditResult(os.fspath(table), tuple(of_row(Finding, row) for row in rows))


def _rows(spark: SparkSession, name: str, sample: int | None) -> DataFrame:
    arguments = () if sample is None else (str(sample),)
    try:
        return answer(spark, _FUNCTION, literal(name), *arguments)
    except SessionWithoutExtensionError:
        if is_connect(spark):
            raise
    # Through the jar's class: the session gets no hook.
    from pyspark.sql import DataFrame

    audit = add_jar(spark).sparkext.sql.TableAudit
    number = -1 if sample is None else sample  # all files
    found: DataFrame = DataFrame(audit.rows(spark._jsparkSession, name, number), spark)
    return found


def _sql_name(table: Any) -> str:
    """Returns a name as SQL reads it, and a path as ``delta.`<path>` ``.

    Example:
        >>> _sql_name("s3://bucket/t"), _sql_name("db.t"), _sql_name("db.`a/b`")
        ('delta.`s3://bucket/t`', 'db.t', 'db.`a/b`')
    """
    if not isinstance(table, (str, os.PathLike)):
        raise TypeError(f"Cannot audit {table!r}: it is neither a table's name nor a path.")
    text = os.fspath(table)
    has_path = not isinstance(table, str) or is_path(text)
    return f"delta.{backticked(text)}" if has_path else text


_PLACES = {
    **{"place": "place", "listed": "num_listed", "remaining": "num_files"},
    **{"bytes": "size_in_bytes", "columns": "paths"},
}


@dataclass(frozen=True, repr=False)
class DroppedColumns(Rendered):
    """The places that remain of the dropped columns of one table.

    Args:
        found: The verdict and the places; None if the table was not read.
        error: The condition of the error, or its class without a condition; None if the table was
            read or has another format.
    """

    table: str
    found: ColumnVerdict | None = None
    error: str | None = None
    message: str | None = None

    @property
    def verdict(self) -> str:
        """Returns one of `VERDICTS`."""
        if self.found is not None:
            return self.found.verdict
        return NOT_READ if self.message is None else UNREADABLE

    @property
    def places(self) -> tuple[DroppedPlace, ...]:
        """Returns the places, in the order of their steps."""
        return () if self.found is None else self.found.places

    def as_object(self) -> dict[str, Any]:
        """Returns the table for JSON; times are in UTC."""
        found: dict[str, Any] = plain({"verdict": self.verdict, **as_row(self)})
        return found

    def _parts(self) -> Iterator[Part]:
        found = self.found
        because = self.message if found is None else found.reason
        yield Lines(f"{self.table}: {self.verdict}" + ("" if because is None else f", {because}"))
        if found is None:
            return
        # A table without a drop is clean since version -1.
        moment = None if found.moment_version == -1 else found.moment_version
        yield Facts.known(
            {
                "table id": found.table_id,
                "location": found.location,
                "version": found.version,
                "read at": in_utc(found.timestamp),
                "schemas known from version": found.oldest_version,
                "clean since version": moment,
                "clean since": None if moment is None else _from_time(found.moment_timestamp),
                "live columns": [column.path for column in found.live_columns],
                "files in the folders of": found.sources,
                "other tables, not read": found.other_tables,
                "check again before": found.check_again_by and in_utc(found.check_again_by),
            }
        )
        yield Table.of(_PLACES, found.places, "What was read")
        steps = [
            (each.place, each.step, _from_time(each.earliest), each.statement)
            for each in found.places
            if each.step is not None
        ]
        if steps:
            yield Table(("place", "step", "from", "what to do"), steps, "What remains to do")


def dropped_columns_of(spark: SparkSession, name: str, asked: Asked) -> DroppedColumns:
    """Returns what remains in one table. Raises as the table functions."""
    text = literal(json.dumps(plain(as_row(asked))))
    (row,) = answer(spark, "column_mapping_verdict", literal(name), text).collect()
    return DroppedColumns(name, of_row(ColumnVerdict, row))


def _from_time(earliest: datetime | None) -> str:
    """Returns a time in UTC as text; None is now."""
    return "now" if earliest is None else in_utc(earliest)


_KIND: Final = "spark-ext certificate of erasure"
_FORMAT: Final = 2
OUT_OF_REACH: Final = (
    "Clones, copies, exports and backups of the table, and tables that were computed from it.",
    "Versions, snapshots and deleted objects that the storage keeps, and unfinished uploads.",
    "Values in other columns, in comments, properties and tags, and in bytes that no footer names.",
    "Data that was written while the table was read.",
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate(Rendered):
    """Reports what remains of a dropped column in many tables, the evidence, and unread tables.

    Args:
        column: The requested name or pattern; None for every dropped column.
        where: The places of the call.
        filters: The options that chose tables, in words.
        tables: The tables, without views.
        num_views: The number of views.
    """

    column: str | None
    where: tuple[str, ...]
    filters: tuple[str, ...]
    tables: tuple[DroppedColumns, ...]
    num_views: int
    time: datetime
    version: str

    @property
    def verdict(self) -> str:
        """Returns the worst verdict of all tables; `UNKNOWN` without tables."""
        return min((each.verdict for each in self.tables), key=VERDICTS.index, default=UNKNOWN)

    @property
    def verdicts(self) -> Mapping[str, int]:
        """Returns the number of tables with each verdict, the worst first."""
        counts = Counter(each.verdict for each in self.tables)
        return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}

    @property
    def complete(self) -> bool:
        """Returns whether no data remains in any table."""
        return self.verdict in (ERASED, NEVER_HAD)

    def as_object(self) -> dict[str, Any]:
        """Returns the certificate for JSON; times are in UTC."""
        found: dict[str, Any] = plain(
            {
                "certificate": _KIND,
                "format": _FORMAT,
                "sparkExt": self.version,
                "time": self.time,
                "column": self.column,
                "where": self.where,
                "filters": self.filters,
                "verdict": self.verdict,
                "verdicts": self.verdicts,
                "views": self.num_views,
                "outOfReach": OUT_OF_REACH,
            }
        )
        return {**found, "tables": [each.as_object() for each in self.tables]}

    def json(self) -> str:
        """Returns the certificate as the text of a JSON file."""
        return json.dumps(self.as_object(), indent=2) + "\n"

    def write(self, file: str | os.PathLike[str]) -> None:
        """Writes the certificate to a `.json` file, of which a reader never sees a part.

        Raises:
            InvalidFileNameError: USAGE_TRACKING_INVALID_FILE_NAME, if the name ends otherwise.
            OSError: The file cannot be written.
        """
        write_whole(file, {".json": self.json})

    def _parts(self) -> Iterator[Part]:
        yield Facts.known(
            {
                "column": self.column or "every dropped column",
                "where": self.where,
                "filters": self.filters,
                "verdict": self.verdict,
                "time": in_utc(self.time),
                "spark-ext": self.version,
                "tables": len(self.tables),
                **self.verdicts,
                "views": self.num_views or None,
            }
        )
        for table in self.tables:
            yield from table._parts()
        yield Lines("Out of reach:", OUT_OF_REACH)
        read = [table.found for table in self.tables if table.found is not None]
        times = [each.earliest for found in read for each in found.places if each.step]
        if times:
            due = [time for time in times if time is not None]
            earliest = "now" if len(due) < len(times) else _from_time(min(due))
            again = [found.check_again_by for found in read if found.check_again_by is not None]
            before = f" before {_from_time(min(again))}" if again else ""
            yield Lines(
                f"Next, from {earliest}: run the steps. Run this call again with its"
                f" certificate{before}: the log has to show every version since."
            )


def checked_tables(
    given: Certificate | str | os.PathLike[str], column: str | None
) -> Mapping[str, CheckedTable]:
    """Returns the tables of an earlier certificate of the same column, by their locations."""
    file = "certificate" if isinstance(given, Certificate) else os.fspath(given)
    text = given.json() if isinstance(given, Certificate) else Path(file).read_bytes()
    try:
        found = json.loads(text)
        problem = _problem(found, column)
        read = [] if problem else [each["found"] for each in found["tables"]]
        tables = {each["location"]: _checked(each) for each in read if each is not None}
    except (AttributeError, KeyError, TypeError, ValueError) as lacking:
        problem = f"It lacks a value of a certificate: {lacking!r}."
        raise NotACertificateError(file=file, problem=problem) from lacking
    if problem:
        raise NotACertificateError(file=file, problem=problem)
    return tables


def _problem(found: Any, column: str | None) -> str | None:
    if not isinstance(found, dict) or found.get("certificate") != _KIND:
        return "It has no key of a certificate."
    if found.get("format") != _FORMAT:
        return f"Its format is {found.get('format')!r}, and this version reads {_FORMAT}."
    if found["column"] != column:
        return f"It is about the column {found['column']!r} and not {column!r}."
    return None


def _checked(found: Mapping[str, Any]) -> CheckedTable:
    named = {"live": found["liveColumns"], "named": found["namedColumns"]}
    return of_row(CheckedTable, cast("Row", {**found, **named}))


def dropped_columns(
    spark: SparkSession,
    *where: Place,
    column: str | None = None,
    certificate: Certificate | str | os.PathLike[str] | None = None,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    only: Callable[[SurveyedTable], bool] | None = None,
    parallel: int = 4,
    progress: Callable[[LakehouseProgress], None] | None = shown,
) -> Certificate:
    """Returns what remains of dropped columns in every Delta table, and the next steps.

    The call reads each table as `UsageTracking.dropped_columns`, and changes nothing. A table that
    cannot be read is in the result with its error, and affects no other table. Views are left out,
    and a table of another format has the verdict `NOT_READ`.

    Args:
        spark: A session with spark-ext, also of Spark Connect.
        where: As in `survey`. A table that is found under several names is read once, under the
            first.
        column: The last name, the path, or any former one of a column, or a shell pattern of them
            (`*`, `?`, `[..]`); by default every dropped column. Letter case never counts.
        certificate: An earlier certificate of the same column, or its file. The moment from which a
            table is clean, and that it had the column, are taken from it as long as the log of the
            table has every version since.
        include: As in `LakehouseOptions`.
        exclude: As in `LakehouseOptions`.
        only: Returns whether a row of the survey takes part. A table of another format has a row
            with its name alone.
        parallel: As in `LakehouseOptions`.
        progress: As in `LakehouseOptions`.

    Raises:
        ValueError: `column` is empty or has an open backtick, or an option is invalid; TypeError
            for a wrong type.
        AnalysisException: SCHEMA_NOT_FOUND, if a name is that of no schema, catalog or table;
            USAGE_TRACKING_INVALID_SCHEMA_NAME.
        NotACertificateError: USAGE_TRACKING_NOT_A_CERTIFICATE.
        KeyboardInterrupt: SIGINT or SIGTERM arrived.
        ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED; its attribute `report` has the result.
        SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION.

    Example:
        `spark_ext.dropped_columns(spark, "sales", "main.hr", column="ssn")`
    """
    if column == "":
        raise ValueError("Cannot find columns by an empty name: use a name, a pattern or None.")
    if column is not None and "`" in column and not path_of(column.strip()):
        raise ValueError(f"Cannot find columns by {column!r}: close each backtick, or double it.")
    options = Options(
        include=include, exclude=exclude, only=only, parallel=parallel, progress=progress
    )
    checked = {} if certificate is None else checked_tables(certificate, column)
    reporter = Reporter(progress)
    with receiving_signals() as interrupts:
        chosen = chosen_tables(spark, where, options, reporter, interrupts)
        # The survey has the error of a path without a table.
        known = {
            row.table: checked.get(row.location)
            for row, kind in chosen
            if kind == DELTA and row.location is not None
        }
        found = each_table(
            spark,
            [*known],
            lambda name: _read(spark, name, Asked(column, known[name])),
            parallel=parallel,
            phase=READING,
            reporter=reporter,
            interrupts=interrupts,
        )
    places = tuple(map(text_of, where))
    if not places:
        (row,) = spark.sql("SELECT current_catalog(), current_schema()").collect()
        places = (f"{row[0]}.{row[1]}",)
    result = Certificate(
        column=column,
        where=places,
        filters=options.filters,
        tables=tuple(
            found.get(row.table) or _not_read(row, kind) for row, kind in chosen if kind != VIEW
        ),
        num_views=sum(kind == VIEW for _, kind in chosen),
        time=datetime.now(timezone.utc),
        version=__version__,
    )
    reporter.raise_failure(READING, result)
    return result


def _read(spark: SparkSession, name: str, asked: Asked) -> DroppedColumns:
    """Returns what remains in one table, or its error."""
    try:
        return dropped_columns_of(spark, name, asked)
    except Exception as error:  # from Spark, Java, a catalog or a storage
        condition, message = described(error)
        return DroppedColumns(name, error=condition, message=message)


def _not_read(table: SurveyedTable, kind: str | None) -> DroppedColumns:
    if kind not in SURVEYED:
        return DroppedColumns(table.table)
    # The catalog cannot read the table, or cannot list the schema.
    return DroppedColumns(table.table, error=table.error, message=table.message or "")
