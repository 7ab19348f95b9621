# SPDX-License-Identifier: Apache-2.0
"""Runs the statements of random histories, and compares tables with the model."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.histories.readers import (
    Content,
    PlainSpark,
    content,
    read_by_logical_names,
    read_with_us,
)
from tests.histories.sql_text import condition_of, kind_of, select
from tests.support import audited, proof
from tests.support.audited import HARMLESS
from tests.support.reference_model import UUID, Column, Columns, Row, State, leaves, mapped, walk
from tests.support.table_log import TableLog, is_uuid_name


class TableUnderTest:
    """Contains a real table, and the versions of its model."""

    def __init__(self, path: Path, first: State) -> None:
        self.path = path
        self.name = f"delta.`{path}`"
        self.versions = [first]
        self.has_files_of_others = False

    @property
    def state(self) -> State:
        return self.versions[-1]


class World:
    """Contains the sessions and counts that all histories of a run share.

    Hypothesis always begins with the simplest history, which adds columns to one unmapped table.
    """

    def __init__(
        self, spark: SparkSession, plain: PlainSpark, folder: Path, *, has_simplest: bool = True
    ) -> None:
        self.spark = spark
        self.plain = plain
        self.folder = folder
        self.has_simplest = has_simplest
        self.histories = 0
        self.steps = 0
        self.counts: Counter[str] = Counter()  # statements by kind
        self.failures: list[str] = []


class TableSteps:
    """Runs statements, and compares the changed table with the model after each statement.

    At the end of a history, it compares the rows of all tables.
    """

    world: World

    def __init__(self) -> None:
        super().__init__()
        self.spark = self.world.spark
        self.folder = Path(tempfile.mkdtemp(dir=self.world.folder))
        self.tables: list[TableUnderTest] = []
        self.statements: list[str] = []
        self.physical_names: set[str] = set()
        self.values = count(1)
        self.failed = False
        self.world.histories += 1

    def teardown(self) -> None:
        for table in self.tables * (not self.failed):
            self._check_rows(table)
            self._check_older_rows(table)
            self._check_audit(table)
        shutil.rmtree(self.folder)

    def _check_audit(self, table: TableUnderTest) -> None:
        # A clone by the session without spark-ext keeps the flag of its source.
        expected = {"flag_without_feature", *HARMLESS}
        for findings in (audited.findings, proof.findings):
            found = [each for each in findings(table.path) if each.check not in expected]
            self._expect(found, [], f"{findings.__module__} of {table.name}")

    # Steps.

    def _new_table(self, first: State) -> TableUnderTest:
        if self.world.histories == 1 and not self.world.has_simplest:
            reject()
        self.tables.append(TableUnderTest(self.folder / f"t{len(self.tables)}", first))
        return self.tables[-1]

    def _row(self, columns: Columns) -> Row:
        """Returns a new value for each leaf."""
        numbers = [(leaf, next(self.values)) for leaf in leaves(columns)]
        return {leaf.key: n if leaf.kind == "INT" else f"v{n}" for leaf, n in numbers}

    def _set(
        self, table: TableUnderTest, properties: str, new: State, data: Any | None = None
    ) -> None:
        statement = f"ALTER TABLE {table.name} SET TBLPROPERTIES ({properties})"
        self._step(table, statement, new, data=data)

    def _step(
        self,
        table: TableUnderTest,
        statement: str,
        new: State,
        *,
        case_sensitive: bool = False,
        data: Any | None = None,
    ) -> None:
        """Runs a statement and checks the table.

        With `data`, the session without spark-ext may run the statement on an untracked table.
        """
        untracked = not table.state.is_tracked
        if data is not None and untracked and data.draw(st.booleans(), label="without us"):
            self._sql_without_us(statement)
            new = new.without_us(table.state)
        else:
            self._sql(statement, case_sensitive=case_sensitive)
        self._advance(table, new)

    def _says(self, statement: str) -> None:
        self.statements.append(statement)
        self.world.counts[kind_of(statement)] += 1

    def _sql_without_us(self, statement: str) -> None:
        self._says(f"{statement} -- without us")
        self.world.counts["statements without us"] += 1
        self.world.plain.ask(statement)
        self._read(self.world.plain.answer)

    def _sql(self, statement: str, *, case_sensitive: bool = False) -> None:
        self._says(statement + " -- case sensitive" * case_sensitive)
        with self._accepted(), self._case_sensitive(case_sensitive):
            self.spark.sql(statement).collect()

    @contextmanager
    def _accepted(self) -> Iterator[None]:
        """Fails the history if the body is refused."""
        try:
            yield
        except Exception as refusal:
            raise self._failure(f"refused: {condition_of(refusal)} {refusal}"[:1500]) from None

    @contextmanager
    def _case_sensitive(self, yes: bool) -> Iterator[None]:
        self.spark.conf.set("spark.sql.caseSensitive", str(yes).lower())
        try:
            yield
        finally:
            self.spark.conf.set("spark.sql.caseSensitive", "false")

    def _write(
        self,
        table: TableUnderTest,
        columns: Columns,
        row: Row,
        *,
        mode: str,
        option: tuple[str, str],
    ) -> None:
        query = select(columns, [row])
        self.statements.append(f"{query} -- {mode} to {table.name} with {option}")
        self.world.counts[f"{mode} {option[0]}"] += 1
        writer = self.spark.sql(query).write.format("delta").mode(mode).option(*option)
        with self._accepted():
            writer.save(str(table.path))

    def _stream(self, table: TableUnderTest, columns: Columns, row: Row) -> None:
        """Appends by a stream that may add columns."""
        query = select(columns, [row])
        self.statements.append(f"{query} -- streamed to {table.name}")
        self.world.counts["stream mergeSchema"] += 1
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        frame, files = self.spark.sql(query), str(folder / "source")
        frame.write.parquet(files)
        stream = self.spark.readStream.schema(frame.schema).parquet(files).writeStream
        stream = stream.format("delta").option("mergeSchema", "true").trigger(availableNow=True)
        stream = stream.option("checkpointLocation", str(folder / "checkpoint"))
        with self._accepted():
            stream.start(str(table.path)).awaitTermination()

    def _refused(
        self, table: TableUnderTest, statement: str, condition: str, *, case_sensitive: bool = False
    ) -> None:
        self._says(f"{statement} -- to be refused")
        try:
            with self._case_sensitive(case_sensitive):
                self.spark.sql(statement).collect()
        except Exception as refusal:
            self._expect(condition_of(refusal), condition, "condition")
        else:
            raise self._failure(f"not refused with {condition}")
        self._expect(TableLog(table.path).version, len(table.versions) - 1, "version")

    def _advance(self, table: TableUnderTest, new: State) -> None:
        if (table.state.flag, new.flag) == (False, True):
            self.world.counts["flag became true"] += 1
        table.versions.append(new)
        self._check(table)

    # Checks after a step.

    def _check(self, table: TableUnderTest) -> None:
        self.world.steps += 1
        log, state = TableLog(table.path), table.state
        self._expect(log.version, len(table.versions) - 1, "version")
        self._expect(log.is_tracked, state.is_tracked, "tracked")
        self._expect(log.flag, state.flag_text, "flag")
        mode = log.configuration.get("delta.columnMapping.mode", "none")
        self._expect(mode, state.mode, "mode")
        paths = {".".join(path): column for path, column in walk(state.columns)}
        self._expect(list(log.fields), list(paths), "columns")
        self._expect(log.ids, {path: column.id for path, column in paths.items()}, "ids")
        if state.is_mapped:
            self._expect(log.max_column_id, state.max_id, "maxColumnId")
        self._check_names(table, log, paths)
        self._check_rows(table)

    def _check_names(self, table: TableUnderTest, log: TableLog, paths: dict[str, Column]) -> None:
        seen = dict(log.physical_names)
        for path, column in paths.items():
            name = seen[path]
            if column.physical != UUID:
                self._expect(name, column.physical, f"physical name of {path}")
            elif not is_uuid_name(name) or name in self.physical_names:
                raise self._failure(f"physical name of {path} is {name}, not a new UUID")
        self.physical_names.update(filter(None, seen.values()))

        def with_seen(path: tuple[str, ...], column: Column) -> Column:
            return replace(column, physical=seen[".".join(path)])

        table.versions[-1] = replace(table.state, columns=mapped(table.state.columns, with_seen))

    def _check_rows(self, table: TableUnderTest) -> None:
        state = table.state
        rows = expected_content(state)
        self.world.plain.ask(f"SELECT * FROM {table.name}")
        answers = {"Spark with us": self._read(read_with_us, self.spark, table.path)}
        if state.flag is False and names_are_logical(state) and is_for_pyarrow(table):
            answers["pyarrow"] = self._read(read_by_logical_names, table.path)
        answers["Spark without us"] = self._read(self.world.plain.answer)
        for reader, answer in answers.items():
            self._expect(answer, rows, f"rows of {table.name} by {reader}")

    def _check_older_rows(self, table: TableUnderTest) -> None:
        version = len(table.versions) // 2
        rows = expected_content(table.versions[version])
        answer = self._read(read_with_us, self.spark, table.path, version)
        self._expect(answer, rows, f"rows of {table.name} at version {version}")

    def _read(self, reader: Callable[..., Content], *arguments: object) -> Content:
        try:
            return reader(*arguments)
        except Exception as error:
            raise self._failure(f"{reader}: {error}"[:1500]) from None

    def _expect(self, seen: object, expected: object, what: str) -> None:
        if seen != expected:
            raise self._failure(f"{what}: {seen}, expected {expected}")

    def _failure(self, problem: str) -> AssertionError:
        self.failed = True
        story = "\n  ".join(re.sub(f"{self.folder}/", "", line) for line in self.statements)
        self.world.failures.append(f"{problem}\nHistory:\n  {story}")
        return AssertionError(self.world.failures[-1])


def expected_content(state: State) -> Content:
    return content([column.name for column in state.columns], state.expected_rows())


def is_for_pyarrow(table: TableUnderTest) -> bool:
    """Returns whether pyarrow can read a table: no deletion vectors, no files of another table."""
    features = TableLog(table.path).protocol.get("readerFeatures", [])
    return not table.has_files_of_others and "deletionVectors" not in features


def names_are_logical(state: State) -> bool:
    names_match = (column.physical in (None, column.name) for _, column in walk(state.columns))
    return state.is_tracked and all(names_match)
