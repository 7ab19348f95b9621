# SPDX-License-Identifier: Apache-2.0
"""Runs rows of text files: a script on a start state, and what the table is afterwards.

    add_column: A new column has its logical name.
        tracked name (a INT)
        VALUES (1)
        ADD COLUMN b INT => false {+b: 2 b} rows (1, None)

Each row is a test. Its lines run in order. A line is

- a start state: `tracked` or `untracked`, `name`, `id` or `unmapped`, the columns of CREATE TABLE
  and further clauses, in which `WITH` begins properties;
- `VALUES`, which inserts rows, `FILE`, which inserts them as one file, the end of an ALTER TABLE
  statement, or any other statement in SQL;
- `NAME: query`, a name of `CALLS` or `WAYS` below: the row runs once for each way. `NAME[x]` has
  some of the ways, and `NAME(x)` passes an argument;
- `conf key = value`, for the rest of the row; `check x`, a Python expression about `log` and
  `before`;
- a commit of another writer: `foreign flag x` sets the flag to a Python value, `foreign add {..}`
  changes the action of the newest file, `foreign column {..}` the first column, and `foreign
  operation ".."` the newest operation; `foreign file {..}` adds a file of 32-bit integers or
  strings without statistics, and `foreign {..}` commits an action. `CUT: n` deletes the commits
  before version n.

`source:` before a line runs it on another table. Behind `=>` is the expectation of a line:

- a condition: the statement fails, and commits nothing. Behind `naming` is a part of the error's
  parameters, and if `untouched` follows, no data file was written or deleted;
- `no commit`; `kept`, one commit that keeps flag, columns and highest id;
- otherwise one commit, unless `in 2 commits` follows. It begins with the flag, `missing`,
  `untracked`, or `stale` and the flag of an untracked table. Columns follow by their paths, each
  with id and physical name: without braces all columns of before, `+` and `-` change them, `?` is
  any unused id. The highest id is the highest ever, if `max` does not say otherwise. `rows` has
  what Spark reads, in any order.
- `files` is for removals and purges: the numbers of kept, copied and rewritten files, `none` if the
  statement read no file, or `delta` if Delta rewrote them. Without a flag before it, the flag is
  the same.
- Behind PLAN, it is the stages of a removal with their costs, behind REASONS the reasons of the
  first one, and behind COUNTS whether it is exact, its files, and kept, copied and rewritten ones.
- Behind SELECT, FEED with versions of a change feed, and STREAM with the options of a stream, it is
  the rows that they read, or the condition with which they are refused.

A table of `|` before the lines has the values of `{words}`: the row runs once for each line of the
table, or if the line begins with `~`, only in the matrix. `{word}: x | y` is a table of one word.
Parentheses behind the name of a row contain marks: `named` for a table of the catalog, `second` if
`make test` omits the row, `matrix`, `broken` and `without` as in pyproject.toml, and marks of
`tests.support.releases`. A line `marks: ..` of a file is for each of its rows.
"""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from spark_ext.errors import SparkExtError
from tests.integration.routes import CREATIONS, REPLACEMENTS, STREAM, WRITES, Route
from tests.integration.streams import Stream
from tests.support import releases, removal
from tests.support.delta_table import (
    ID_MODE,
    LEGACY_PROTOCOL,
    NAME_MODE,
    NONE_MODE,
    TRACKED,
    Table,
    create_like,
    refusal,
    thrown,
)
from tests.support.prepared import made_once
from tests.support.session_conf import session_conf
from tests.support.sessions import warehouse_of
from tests.support.table_log import FEATURE, FLAG, TableLog

ROW = re.compile(r"^(\w+)(?: \(([^)]*)\))?: .*\n((?: +.*\n)+)", re.M)
START = re.compile(
    r"(tracked|untracked) (name|id|unmapped) \((.*?)\)((?: (?:PARTITIONED|CLUSTER|WITH) .*)?)$"
)
ALTER = re.compile(r"(ADD|DROP|RENAME|ALTER|CHANGE|REPLACE) (COLUMNS?|FEATURE)|(UN)?SET T|CLUSTER ")
SETUP = re.compile(rf"{START.pattern}|VALUES|FILE|foreign flag|{ALTER.pattern}")
STATE = re.compile(
    r"(?P<flag>\w+)(?: (?P<stale>\w+))??(?: {(?P<columns>.*?)})?(?: max (?P<max>\d+))?"
    r"(?: in (?P<commits>\d) commits)?(?: files (?P<files>none|delta|\d+ \d+ \d+))?"
    r"(?: rows (?P<rows>.*))?$"
)
WAY = re.compile(r"([A-Z]+)(?:\[(.*?)\])?(?:\(([^()]*)\))?: ?(.*)$")
FOREIGN = re.compile(r"foreign (flag |column |add |file |operation |(?={))(.*)$")
CONDITION = re.compile(
    r"(?P<name>[A-Z_]{2}[A-Z0-9_.]+)(?: naming (?P<part>.*?))?(?: in (?P<commits>\d) commits?)?"
    r"(?P<untouched> untouched)?$"
)
TOKEN = re.compile(r'"[^"]*"|[^\s,:]+')
DEFAULTS = "spark.databricks.delta.properties.defaults"
WORDS = {
    "TRACKED": TRACKED,
    "NAME": NAME_MODE,
    "ID": ID_MODE,
    "NONE": NONE_MODE,
    "LEGACY": LEGACY_PROTOCOL,
    "FLAG": FLAG,
    "READ_ONLY": "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
    "FEATURE": FEATURE,
    "DEFAULTS": DEFAULTS,
    "FEATURE_DEFAULT": f"{DEFAULTS}.feature.{FEATURE}",
    "BY_DEFAULT": "spark.sparkext.usageTracking.enabledByDefault",
    "REMOVAL": removal.SETTING,
    "PURGE": removal.PURGE_SETTING,
    "MODE": "delta.columnMapping.mode",
}
MODES = {"name": [NAME_MODE], "id": [ID_MODE], "unmapped": []}

Rows = list[tuple[object, ...]]


def parsed(options: str) -> dict[str, str]:
    """Returns options such as `mergeSchema=true, replaceWhere=a = 1`."""
    pairs = (option.partition("=") for option in options.split(", ") if option)
    return {key: value for key, _, value in pairs}


def append(table: Table, query: str, options: str = "") -> None:
    rows = table.spark.sql(query).coalesce(1).write.format("delta").mode("append")
    rows.options(**parsed(options)).save(str(table.path))


def overwrite(table: Table, query: str, options: str = "") -> None:
    chosen = parsed(options)
    writer = table.spark.sql(query).write.format("delta").mode("overwrite")
    writer = writer.partitionBy(*chosen.pop("partitionBy", "").split())
    is_named = bool(chosen.pop("named", ""))
    writer = writer.options(**chosen)
    writer.saveAsTable(table.name) if is_named else writer.save(str(table.path))


def write_parquet(table: Table, query: str, options: str = "") -> None:
    partitions = parsed(options).get("partitionBy", "").split()
    table.spark.sql(query).write.partitionBy(*partitions).parquet(str(table.path))


def clone(table: Table, source: str) -> None:
    table.spark.sql(f"CREATE OR REPLACE TABLE {table.name} SHALLOW CLONE {source}")


def clone_by_builder(table: Table, source: str) -> None:
    found = DeltaTable.forName(table.spark, source)
    found.clone(str(table.path), isShallow=True, replace=True)


def changes(table: Table, versions: str) -> Rows | str:
    """Returns the rows of a change feed between versions, or its condition if it is refused."""
    ends = zip(("startingVersion", "endingVersion"), versions.split(), strict=False)
    reader = table.spark.read.format("delta").options(readChangeFeed="true", **dict(ends))
    try:
        rows = reader.load(str(table.path)).drop("_commit_timestamp", "_commit_version").collect()
    except (PySparkException, Py4JJavaError) as refused:
        return str(thrown(refused).getCondition())
    return sorted(map(tuple, rows), key=repr)


def streamed(table: Table, options: str) -> Rows | str:
    """Returns all rows that a stream reads, or its condition if it is refused."""
    folders = table.path.parent.glob("stream-*")
    stream = Stream(table, table.path.with_name(f"stream-{len([*folders])}"), **parsed(options))
    try:
        rows = stream.run()
    except StreamingQueryException as refused:
        assert not stream.rows()
        return re.findall(r"\[((?:DELTA|USAGE_TRACKING)_[A-Z_]+)", str(refused))[0]
    return sorted((tuple(row.values()) for row in rows), key=repr)


def change_column(table: Table, metadata: dict[str, Any]) -> None:
    schema = json.loads(table.log.metadata["schemaString"])
    schema["fields"][0]["metadata"] |= metadata
    changed = {**table.log.metadata, "schemaString": json.dumps(schema)}
    table.log.append_foreign({"metaData": changed})


def by_python(call: Callable[..., Any], **options: object) -> None:
    """Calls a method of UsageTracking. Its refusal is raised as PySpark raises those of the JVM."""
    try:
        call(progress=None, **options)
    except SparkExtError as refused:
        condition, params = refused.condition, refused.params
        raise PySparkException(str(refused), condition, params) from refused


def stages(table: Table, wanted: str) -> Rows:
    found = table.usage.remove_column_mapping(dry_run=True)
    rows = table.spark.sql(f"SELECT stage, reached FROM column_mapping_removal('{table.name}')")
    assert [(step.stage, step.reached) for step in found] == [tuple(row) for row in rows.collect()]
    return sorted((step.stage, step.cost) for step in found if wanted in ("", step.stage))


def reasons(table: Table, _: str) -> Rows:
    (first, *_rest) = table.usage.remove_column_mapping(dry_run=True)
    return sorted(((why.reason, why.name, why.detail) for why in first.reasons), key=repr)


def file_counts(table: Table, exact: str) -> Rows:
    """Returns whether the first stage is exact, and its numbers of files, in SQL and in Python."""
    (step, *_rest) = table.usage.remove_column_mapping(dry_run=True, exact=bool(exact))
    counts = [each and each.num_files for each in (step.kept, step.copied, step.rewritten)]
    name = f"'{table.name}', true" if exact else f"'{table.name}'"
    row = table.spark.sql(f"SELECT * FROM column_mapping_removal({name})").first()
    assert row
    assert [row[key] and row[key][0] for key in ("kept", "copied", "rewritten")] == counts
    assert (row["cost"], row["exact"]) == (step.cost, step.exact)
    return [(step.exact, step.num_files, *counts)]


def ways(**runs: Callable[..., object]) -> dict[str, Route]:
    return {name: Route(run, in_every_run=True) for name, run in runs.items()}


CALLS: dict[str, Callable[..., object]] = {
    "APPEND": append,
    "OVERWRITE": overwrite,
    "PARQUET": write_parquet,
    "LIKE": lambda table, source: create_like(table.spark, table.name, source),
    "AGE": lambda table, _: table.age_log(),
    "CUT": lambda table, version: table.cut_log(int(version)),
    "UNMAP": lambda table, _: table.remove_mapping(),
    "ALIGN": lambda table, _, *options: by_python(
        table.usage.align_names, **dict.fromkeys(options, True)
    ),
    "UNTIL": lambda table, until: by_python(table.usage.remove_column_mapping, until=until),
    "PURGE": lambda table, where: table.spark.sql(
        f"REORG TABLE {table.name} {where} APPLY (PURGE)"
    ),
}
WAYS: dict[str, dict[str, Route]] = {
    "CREATIONS": CREATIONS,
    "REPLACEMENTS": REPLACEMENTS,
    "WRITES": WRITES | STREAM,
    "BATCHES": WRITES,
    "MERGES": {name: way for name, way in WRITES.items() if way.updates},
    "ENABLE": ways(
        SQL=lambda table, _: table.alter(f"SET TBLPROPERTIES ({TRACKED})"),
        DeltaTable=lambda table, _: table.delta_table.addFeatureSupport(FEATURE),
        UsageTracking=lambda table, _: table.usage.enable(),
    ),
    "DISABLE": ways(
        SQL=lambda table, _: table.alter(f"DROP FEATURE {FEATURE}"),
        DeltaTable=lambda table, _: table.delta_table.dropFeatureSupport(FEATURE),
        UsageTracking=lambda table, _: table.usage.disable(),
    ),
    "REMOVE": ways(
        SET=lambda table, _: table.remove_mapping(),
        UNSET=lambda table, _: table.alter("UNSET TBLPROPERTIES ('delta.columnMapping.mode')"),
        DROP=lambda table, _: table.alter("DROP FEATURE columnMapping"),
        DeltaTable=lambda table, _: table.delta_table.dropFeatureSupport("columnMapping"),
        UsageTracking=lambda table, _: table.usage.remove_column_mapping(progress=None),
    ),
    "RESTORE": ways(
        SQL=lambda table, version: table.restore(int(version)),
        DeltaTable=lambda table, version: table.delta_table.restoreToVersion(int(version)),
    ),
    "CLONE": {"SQL": Route(clone, in_every_run=True), "DeltaTable": Route(clone_by_builder)},
    "CONVERT": ways(
        SQL=lambda table, _: table.spark.sql(f"CONVERT TO DELTA parquet.`{table.path}`"),
        DeltaTable=lambda table, _: DeltaTable.convertToDelta(
            table.spark, f"parquet.`{table.path}`"
        ),
    ),
}
FOREIGNERS: dict[str, Callable[[Table, Any], object]] = {
    "": lambda table, action: table.log.append_foreign(action),
    "column ": change_column,
    "flag ": lambda table, value: table.log.append_properties({FLAG: value}),
    "add ": lambda table, changes: removal.add_again(table, **changes),
    "file ": removal.add_foreign_file,
    "operation ": lambda table, name: table.log.rename_operation(name),
}
READS: dict[str, Callable[[Table, str], Rows | str]] = {
    "SELECT": Table.selected,
    "FEED": changes,
    "STREAM": streamed,
    "PLAN": stages,
    "REASONS": reasons,
    "COUNTS": file_counts,
}
# Tables of the catalog that rows create besides their own.
NAMES = ("registered", "copied", "fresh")


@dataclass(frozen=True)
class Variant:
    """Contains the values of a row's words, and the way of its lines."""

    id: str
    words: Mapping[str, str] = field(default_factory=dict)
    way: Route | None = None
    marks: tuple[pytest.MarkDecorator, ...] = ()


@dataclass(frozen=True)
class Row:
    """Contains a row of a file."""

    name: str
    lines: list[str]
    variants: list[Variant]
    marks: list[str]


def rows(folder: str) -> Iterator[Row]:
    for file in sorted(Path(__file__).with_name(folder).glob("*.txt")):
        text = re.sub(r"^#.*\n", "", file.read_text(), flags=re.M)
        common = "; ".join(re.findall(r"^marks: (.*)\n", text, re.M))
        text = re.sub(r"^marks: .*\n", "", text, flags=re.M)
        assert not ROW.sub("", text).strip(), f"{file.name} has a line without a row."
        for name, marks, body in ROW.findall(text):
            lines = re.sub(r"\n {8,}", " ", body.rstrip()).split("\n")
            yield row(name, list(single(lines)), re.split("; ?", f"{common}; {marks}"))


def single(lines: list[str]) -> Iterator[str]:
    """Yields the lines of a row. A line that begins with a start state may have several."""
    for line in map(str.strip, lines):
        name = "source: " if line.startswith("source: ") else ""
        is_start = re.match(r"(source: )?(tracked|untracked|{state}) ", line)
        first, *further = line.split("; ") if is_start else [line]
        yield from [first, *(f"{name}{each}" for each in further)]


def row(name: str, lines: list[str], marks: list[str]) -> Row:
    axes: list[list[Variant]] = []
    words: list[str] = []
    script = []
    for line in lines:
        if one := re.match(r"{(\w+)}: (.*)$", line):
            cells = re.split(r" \| ", one[2])
            axes.append([variant([one[1]], [cell.lstrip("~ ")], cell) for cell in cells])
        elif line[0] in "|~":
            cells = [cell.strip() for cell in re.split(r" \| ", line.strip("|~ "))]
            if words:
                axes[-1].append(variant(words, cells, line))
            else:
                words = cells
                axes.append([])
        else:
            script.append(line)
            words = []
    for line in script:
        if (found := WAY.match(line)) and found[1] in WAYS:
            chosen = found[2].split(", ") if found[2] else WAYS[found[1]]
            axes.append([of_way(way, WAYS[found[1]][way]) for way in chosen])
            break
    return Row(name, script, [combined(each) for each in product(*axes)], marks)


def variant(words: list[str], cells: list[str], line: str) -> Variant:
    marks = (pytest.mark.matrix,) if line.startswith("~") else ()
    return Variant(cells[0], dict(zip(words, cells, strict=True)), marks=marks)


def of_way(name: str, way: Route) -> Variant:
    matrix = () if way.in_every_run else (pytest.mark.matrix,)
    return Variant(name, {"refusal": way.refusal}, way, (*way.marks, *matrix))


def combined(parts: tuple[Variant, ...]) -> Variant:
    return Variant(
        "-".join(part.id for part in parts),
        {word: value for part in parts for word, value in part.words.items()},
        next((part.way for part in parts if part.way), None),
        tuple(mark for part in parts for mark in part.marks),
    )


@made_once
def prepared(table: Table, name: str, *lines: str) -> None:
    """Makes a table for each name, because copies of one table would have the same id."""
    for line in lines:
        run_line(table, line)


def run_line(table: Table, line: str) -> None:
    if start := START.match(line):
        tracked, mode, columns, clauses = start.groups()
        clauses, _, added = clauses.partition("WITH ")
        properties = [TRACKED] * (tracked == "tracked") + MODES[mode] + [added] * bool(added)
        partitioned = re.fullmatch(r" PARTITIONED BY \((.*)\) *", clauses)
        if clauses.strip() and not partitioned:
            table.spark.sql(
                f"CREATE TABLE {table.name} ({columns}) USING delta {clauses}"
                f" TBLPROPERTIES ({', '.join(properties)})"
            )
        else:
            table.create(columns, *properties, partitioned_by=partitioned[1] if partitioned else "")
    elif line.startswith("VALUES"):
        table.spark.sql(f"INSERT INTO {table.name} {line}")
    elif line.startswith("FILE "):
        removal.insert_one_file(table, line.removeprefix("FILE "))
    elif foreign := FOREIGN.match(line):
        FOREIGNERS[foreign[1]](table, literal_eval(foreign[2]))
    elif ALTER.match(line):
        table.alter(line)
    else:
        table.spark.sql(line.replace("{t}", table.name))


class Script:
    """Runs the lines of a row on its tables."""

    def __init__(self, variant: Variant, tables: dict[str, Table]) -> None:
        self.variant = variant
        self.tables = tables
        self.waiting: dict[str, list[str]] = {name: [] for name in tables}
        self.settings = ExitStack()
        self.before = tables["t"].log

    def run(self, lines: list[str]) -> None:
        with self.settings:
            for line in lines:
                self.step(self.filled(line))
            self.prepare()

    def filled(self, line: str) -> str:
        words = {**self.variant.words, **WORDS, "path": str(self.tables["t"].path)}
        words |= {name: table.name for name, table in self.tables.items() if name != "t"}
        for word, value in words.items():
            line = line.replace(f"{{{word}}}", value)
        return line

    def prepare(self) -> None:
        """Runs the lines that wait, or copies the files of a table on which they ran before."""
        for name, lines in self.waiting.items():
            if lines:
                prepared(self.tables[name], name, *lines)
                lines.clear()

    def step(self, line: str) -> None:
        statement, _, expected = line.partition(" => ")
        name, _, rest = statement.partition(": ")
        name, statement = (name, rest) if name in self.tables else ("t", statement)
        table = self.tables[name]
        is_first = START.match(statement) or self.waiting[name]
        if not expected and is_first and SETUP.match(statement):
            self.waiting[name].append(statement)
            return
        self.prepare()
        before = table.log
        kind, _, rest = statement.partition(" ")
        if kind in READS:
            wanted = expected if CONDITION.match(expected) else as_rows(expected)
            assert (line, READS[kind](table, rest)) == (line, wanted)
        elif statement.startswith("check "):
            known: dict[str, object] = {"FEATURE": FEATURE, "FLAG": FLAG}
            known["CHANGE_DATA"] = releases.CHANGE_DATA
            logs = {"log": before, "before": self.before, "source": self.tables["source"].log}
            assert eval(statement.removeprefix("check "), {**known, **logs, "table": table}), line
        elif condition := CONDITION.match(expected):
            files = condition["untouched"] and removal.data_files(table.path)
            with refusal(condition["name"]) as refused:
                self.statement(table, statement)
            commits = int(condition["commits"] or 0)
            assert (line, table.log.version) == (line, before.version + commits)
            assert (condition["part"] or "") in str(thrown(refused.value).getMessageParameters())
            assert not condition["untouched"] or removal.data_files(table.path) == files
        else:
            commits = self.statement(table, statement)
            self.before = before
            if expected:
                assert_state(line, expected, before, table, commits)

    def statement(self, table: Table, statement: str) -> int:
        """Runs a statement, and returns the number of its commits."""
        found = WAY.match(statement)
        if statement.startswith("conf "):
            key, _, value = statement.removeprefix("conf ").partition(" = ")
            value = literal_eval(value) if value.startswith('"') else value
            self.settings.enter_context(session_conf(table.spark, {key: value}))
        elif found and found[1] in CALLS | WAYS:
            way = self.variant.way
            run = CALLS.get(found[1]) or (way and way.run)
            assert run, statement
            version = table.log.version
            run(table, found[4], *[found[3]] * bool(found[3]))
            if found[1] in WAYS and way and not way.has_rows:
                assert table.log.actions("add") == []
                table.spark.sql(f"INSERT INTO {table.name} {found[4]}")
                return 2
            if found[1] == "REMOVE":  # DROP FEATURE commits again
                return table.log.version - version
        else:
            run_line(table, statement)
        return 1


def assert_state(line: str, expected: str, before: TableLog, table: Table, commits: int) -> None:
    log = table.log
    if expected == "no commit":
        assert (line, log.version) == (line, before.version)
        return
    if expected.startswith("files"):
        expected = f"same {expected}"
    state = STATE.match("same" if expected == "kept" else expected)
    assert state, line
    if state["files"]:
        newer = map(log.at, range(before.version + 1, log.version + 1))
        commit = next(each for each in newer if each.operation in removal.REPLACES_FILES)
        assert (line, removal.files_of(commit)) == (line, state["files"])
        if commit.operation == removal.OPERATION:
            removal.assert_checksum_holds(commit)
    commits = int(state["commits"] or commits)
    assert (line, log.version) == (line, before.version + commits)
    known = before.columns if before.commits else {}
    if state["files"] and not log.is_mapped:
        known = dict.fromkeys(known, (None, None))
    flags = {"missing": (True, None), "untracked": (False, None), "stale": (False, state["stale"])}
    same = (before.is_tracked, before.flag) if state["flag"] == "same" else None
    flag = same or flags.get(state["flag"], (True, state["flag"]))
    columns = columns_of(state["columns"], known, log.columns)
    assert (line, log.is_tracked, log.flag, log.columns) == (line, *flag, columns)
    ids = [id for id, _ in columns.values() if id]
    if ids:
        was = before.configuration if before.commits else {}
        ids.append(int(was.get("delta.columnMapping.maxColumnId", 0)))
        assert (line, log.max_column_id) == (line, int(state["max"] or max(ids)))
    if state["rows"] is not None:
        assert (line, table.selected()) == (line, as_rows(state["rows"]))


Columns = dict[str, tuple[int | None, str | None]]


def columns_of(text: str | None, before: Columns, now: Columns) -> Columns:
    """Returns the columns of an expectation."""
    entries = re.split(r", (?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", text or "") if text else []
    is_change = text is None or any(entry[0] in "+-" for entry in entries)
    columns = dict(before) if is_change else {}
    for entry in entries:
        path, *mapping = [token.strip('"') for token in TOKEN.findall(entry.lstrip("+-"))]
        if entry.startswith("-"):
            del columns[path]
        elif mapping:
            id = mapping[0]
            used = {id for id, _ in before.values()}
            if id == "?" and path in now and now[path][0] not in used:
                id = str(now[path][0])
            columns[path] = (int(id), "col-<uuid>" if mapping[1] == "uuid" else mapping[1])
        else:
            columns[path] = (None, None)
    return columns


def as_rows(text: str) -> Rows:
    found = literal_eval(f"[{text}]") if text != "none" else []
    return sorted((each if isinstance(each, tuple) else (each,) for each in found), key=repr)


def as_test(row: Row) -> Callable[..., None]:
    """Returns a test of a row."""

    def test(spark: SparkSession, tmp_path: Path, created: list[str], variant: Variant) -> None:
        tables = {"t": Table(spark, tmp_path / "t"), "source": Table(spark, tmp_path / "source")}
        created += [name for name in NAMES if name in " ".join(row.lines)]
        if "named" in row.marks:
            home = warehouse_of(spark)
            tables = {key: Table(spark, home / f"named_{key}", f"named_{key}") for key in tables}
            created += [table.name for table in tables.values()]
        Script(variant, tables).run(row.lines)

    variants = [pytest.param(each, id=each.id or "row", marks=each.marks) for each in row.variants]
    test = pytest.mark.parametrize("variant", variants)(test)
    for mark in filter(None, row.marks):
        name, _, arguments = mark.partition(" ")
        if name == "named":
            continue
        known = {"broken": pytest.mark.broken_table, "without": pytest.mark.without}
        others = {"matrix": pytest.mark.matrix, "second": pytest.mark.second_tier}
        decorator = known[name](*arguments.split()) if name in known else others.get(name)
        test = (decorator or getattr(releases, name))(test)
    return pytest.mark.every_variant(test)


def as_tests(folder: str) -> dict[str, Callable[..., None]]:
    """Returns a test of each row in the files of a folder."""
    tests: dict[str, Callable[..., None]] = {}
    for each in rows(folder):
        assert f"test_{each.name}" not in tests, f"Two rows have the name {each.name}."
        tests[f"test_{each.name}"] = as_test(each)
    return tests
