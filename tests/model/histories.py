# SPDX-License-Identifier: Apache-2.0
"""Random histories on real tables, each step compared with the reference model."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from pyspark.sql import SparkSession
from readers import (
    Content,
    PlainSpark,
    content,
    read_by_logical_names,
    read_with_deltalake,
    read_with_us,
)
from reference_model import UUID, Column, Columns, State, edited, leaves, mapped, walk
from table_log import TableLog, is_uuid_name

TRACKED = "'delta.feature.columnMappingUsageTracking' = 'supported'"
NAME_MODE = "'delta.columnMapping.mode' = 'name'"
NO_MODE = "'delta.columnMapping.mode' = 'none'"
# Few, so that names come back after a drop or rename, also in the other letter case.
NAMES = ["a", "b", "c", "A", "B", "é", "É", "d"]
MOST_TABLES, MOST_COLUMNS, MOST_FIELDS = 4, 5, 3
FLAG_TEXT = {True: "true", False: "false", None: None}

data = st.data()


class TableUnderTest:
    """A real table and its versions as the model has them.

    pyarrow can't read the files that a SHALLOW CLONE shares with its source.
    """

    def __init__(self, path: Path, first: State) -> None:
        self.path = path
        self.name = f"delta.`{path}`"
        self.versions = [first]
        self.has_files_of_others = False

    @property
    def state(self) -> State:
        return self.versions[-1]


class World:
    """What all histories of a run share, and how much they did."""

    def __init__(self, spark: SparkSession, plain: PlainSpark, folder: Path) -> None:
        self.spark = spark
        self.plain = plain
        self.folder = folder
        self.histories = 0
        self.steps = 0
        self.failures: list[str] = []


class TableHistories(RuleBasedStateMachine):
    """Statements on a few tables, of which some are clones of others."""

    world: World

    def __init__(self) -> None:
        super().__init__()
        self.spark = self.world.spark
        self.folder = Path(tempfile.mkdtemp(dir=self.world.folder))
        self.tables: list[TableUnderTest] = []
        self.statements: list[str] = []
        self.physical_names: set[str] = set()
        self.values = count(1)
        self.world.histories += 1

    def teardown(self) -> None:
        for table in self.tables[:-1]:
            self._check_rows(table)
        shutil.rmtree(self.folder)

    # What there is to choose from.

    def _choose(self, data: Any, what: Callable[[State], object] = bool) -> TableUnderTest:
        return data.draw(st.sampled_from([t for t in reversed(self.tables) if what(t.state)]))

    def _any(self, what: Callable[[State], object]) -> bool:
        return any(what(table.state) for table in self.tables)

    def _has_room(self) -> bool:
        return len(self.tables) < MOST_TABLES

    # Steps.

    @initialize(data=data)
    def create_first(self, data: Any) -> None:
        self._create(data)

    @precondition(lambda self: self._has_room())
    @rule(data=data)
    def create(self, data: Any) -> None:
        self._create(data)

    def _create(self, data: Any) -> TableUnderTest:
        first = State(
            draw_columns(data),
            is_mapped=data.draw(st.booleans()),
            is_tracked=data.draw(st.booleans()),
        )
        table = self._new_table(first.created())
        properties = [*[TRACKED] * first.is_tracked, *[NAME_MODE] * first.is_mapped]
        columns = ", ".join(definition(column) for column in first.columns)
        self._sql(f"CREATE TABLE {table.name} ({columns}) USING delta{clause(properties)}")
        self._check(table)
        return table

    @precondition(lambda self: self._any(lambda state: not state.is_tracked))
    @rule(data=data)
    def enable_tracking(self, data: Any) -> None:
        table = self._choose(data, lambda state: not state.is_tracked)
        self._set(table, TRACKED, table.state.tracking_enabled())

    @precondition(lambda self: self._any(lambda state: not state.is_mapped))
    @rule(data=data)
    def enable_mapping(self, data: Any) -> None:
        table = self._choose(data, lambda state: not state.is_mapped)
        if not table.state.is_tracked and data.draw(st.booleans(), label="and tracking"):
            both = table.state.tracking_enabled().mapping_enabled()
            self._set(table, f"{NAME_MODE}, {TRACKED}", both)
        else:
            self._set(table, NAME_MODE, table.state.mapping_enabled())

    @precondition(lambda self: self._any(lambda state: state.is_mapped))
    @rule(data=data)
    def disable_mapping(self, data: Any) -> None:
        table = self._choose(data, lambda state: state.is_mapped)
        self._set(table, NO_MODE, table.state.mapping_disabled())

    @precondition(lambda self: self._any(lambda state: state.is_tracked))
    @rule(data=data)
    def drop_tracking(self, data: Any) -> None:
        table = self._choose(data, lambda state: state.is_tracked)
        drop = f"ALTER TABLE {table.name} DROP FEATURE columnMappingUsageTracking"
        self._step(table, drop, table.state.tracking_dropped())

    @precondition(lambda self: self._any(has_place))
    @rule(data=data)
    def add_columns(self, data: Any) -> None:
        table = self._choose(data, has_place)
        columns, added = table.state.columns, []
        for _ in range(data.draw(st.integers(1, 2), label="how many")):
            # Delta resolves both before it adds the first.
            parents = [p for p in places(columns) if p in places(table.state.columns)]
            if not parents:
                break
            parent = data.draw(st.sampled_from(parents))
            new = draw_column(data, siblings(columns, parent), nested=not parent)
            first = data.draw(st.booleans(), label="first")
            columns = edited(
                columns, parent, lambda old, n=new, f=first: (n, *old) if f else (*old, n)
            )
            added.append(f"{dotted((*parent, new.name))} {sql_type(new)}{' FIRST' * first}")
        statement = f"ALTER TABLE {table.name} ADD COLUMNS ({', '.join(added)})"
        self._step(table, statement, table.state.altered(columns))

    @precondition(lambda self: self._any(lambda state: droppable(state.columns)))
    @rule(data=data)
    def drop_column(self, data: Any) -> None:
        self._drop_column(data, self._choose(data, lambda state: droppable(state.columns)))

    @precondition(lambda self: self._any(lambda s: is_unused(s) and droppable(s.columns)))
    @rule(data=data)
    def drop_first_column(self, data: Any) -> None:
        table = self._choose(data, lambda s: is_unused(s) and droppable(s.columns))
        self._drop_column(data, table)

    def _drop_column(self, data: Any, table: TableUnderTest) -> None:
        path = data.draw(st.sampled_from(droppable(table.state.columns)))
        statement = f"ALTER TABLE {table.name} DROP COLUMN {dotted(path)}"
        if not table.state.is_mapped:
            return self._refused(table, statement, "DELTA_UNSUPPORTED_DROP_COLUMN")
        rest = edited(table.state.columns, path[:-1], without(path[-1]))
        return self._step(table, statement, table.state.altered(rest))

    @rule(data=data)
    def rename_column(self, data: Any) -> None:
        self._rename_column(data, self._choose(data))

    @precondition(lambda self: self._any(is_unused))
    @rule(data=data)
    def rename_first_column(self, data: Any) -> None:
        self._rename_column(data, self._choose(data, is_unused))

    def _rename_column(self, data: Any, table: TableUnderTest) -> None:
        path = data.draw(st.sampled_from([path for path, _ in walk(table.state.columns)]))
        taken = siblings(table.state.columns, path[:-1])
        free = [path[-1].swapcase(), *free_names(taken)]
        name = data.draw(st.sampled_from(free), label="new name")
        statement = f"ALTER TABLE {table.name} RENAME COLUMN {dotted(path)} TO `{name}`"
        with_case = name.lower() == path[-1].lower()
        if not table.state.is_mapped:
            return self._refused(
                table, statement, "DELTA_UNSUPPORTED_RENAME_COLUMN", case_sensitive=with_case
            )
        columns = edited(table.state.columns, path[:-1], renamed(path[-1], name))
        new = table.state.altered(columns)
        return self._step(table, statement, new, case_sensitive=with_case)

    @rule(data=data)
    def insert(self, data: Any) -> None:
        table = self._choose(data)
        rows = [self._row(table.state.columns) for _ in range(data.draw(st.integers(1, 2)))]
        new = table.state.rewritten([*table.state.rows, *rows])
        self._step(table, f"INSERT INTO {table.name} {select(table.state.columns, rows)}", new)

    @rule(data=data)
    def append_with_new_columns(self, data: Any) -> None:
        table = self._choose(data)
        given, all_columns = draw_evolution(data, table.state.columns)
        row = self._row(given)
        self._write(table, given, row, mode="append", option="mergeSchema")
        new = table.state.altered(all_columns)
        self._advance(table, new.rewritten([*new.rows, row]))

    @rule(data=data)
    def merge_with_new_columns(self, data: Any) -> None:
        table = self._choose(data)
        given, all_columns = draw_evolution(data, table.state.columns)
        keys = [(c, r[c.key]) for c in given for r in table.state.rows if is_key(c, r)]
        source = self._row(given)
        rows, condition = [*table.state.rows, source], "false"
        if keys:
            key, value = data.draw(st.sampled_from(keys))
            source = {**source, key.key: value}
            condition = f"t.`{key.name}` = s.`{key.name}`"
            old = table.state.rows
            rows = [{**row, **source} if row.get(key.key) == value else row for row in old]
        statement = (
            f"MERGE WITH SCHEMA EVOLUTION INTO {table.name} t USING ({select(given, [source])}) s "
            f"ON {condition} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        self._step(table, statement, table.state.altered(all_columns).rewritten(rows))

    @rule(data=data)
    def overwrite_schema(self, data: Any) -> None:
        table = self._choose(data)
        columns = draw_successor(data, table.state.columns)
        row = self._row(columns)
        self._write(table, columns, row, mode="overwrite", option="overwriteSchema")
        self._advance(table, table.state.overwritten(columns, [row]))

    @rule(data=data)
    def replace_table(self, data: Any) -> None:
        table = self._choose(data)
        columns = draw_successor(data, table.state.columns)
        row = self._row(columns)
        is_mapped, track = data.draw(st.booleans()), data.draw(st.booleans())
        properties = clause([*[TRACKED] * track, *[NAME_MODE] * is_mapped])
        query = select(columns, [row])
        statement = f"CREATE OR REPLACE TABLE {table.name} USING delta{properties} AS {query}"
        new = table.state.replaced(columns, [row], is_mapped=is_mapped, track=track)
        self._step(table, statement, new)

    @precondition(lambda self: any(len(table.versions) > 1 for table in self.tables))
    @rule(data=data)
    def restore(self, data: Any) -> None:
        old = [table for table in reversed(self.tables) if len(table.versions) > 1]
        table = data.draw(st.sampled_from(old))
        version = data.draw(st.integers(0, len(table.versions) - 2), label="version")
        statement = f"RESTORE TABLE {table.name} TO VERSION AS OF {version}"
        self._step(table, statement, table.state.restored(table.versions[version]))

    @precondition(lambda self: self._has_room())
    @rule(data=data)
    def clone(self, data: Any) -> None:
        source = self._choose(data)
        clone = self._new_table(source.state)
        clone.has_files_of_others = True
        self._sql(f"CREATE TABLE {clone.name} SHALLOW CLONE {source.name}")
        self._check(clone)

    @precondition(lambda self: self._has_room())
    @rule(data=data)
    def clone_without_us(self, data: Any) -> None:
        source = self._choose(data)
        clone = self._new_table(source.state.cloned_without_us())
        clone.has_files_of_others = True
        statement = f"CREATE TABLE {clone.name} SHALLOW CLONE {source.name}"
        self.statements.append(f"{statement} -- without us")
        self.world.plain.ask(statement)
        self.world.plain.answer()
        self._check(clone)

    @precondition(lambda self: self._has_room())
    @rule(data=data)
    def create_like(self, data: Any) -> None:
        source = self._choose(data)
        like = self._new_table(source.state.liked())
        self._sql(f"CREATE TABLE {like.name} LIKE {source.name}")
        self._check(like)

    @precondition(lambda self: self._has_room() or len(self.tables) > 1)
    @rule(data=data)
    def clone_over(self, data: Any) -> None:
        source = self._choose(data)
        others = [table for table in self.tables if table is not source]
        fresh = not others or (self._has_room() and data.draw(st.booleans(), label="fresh"))
        target = self._create(data) if fresh else data.draw(st.sampled_from(others))
        statement = f"CREATE OR REPLACE TABLE {target.name} SHALLOW CLONE {source.name}"
        if source.state.is_mapped != target.state.is_mapped:
            self._refused(target, statement, "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE")
            return
        if target.state.rows:
            self._refused(target, statement, "DELTA_UNSUPPORTED_NON_EMPTY_CLONE")
            self._step(target, f"DELETE FROM {target.name}", target.state.rewritten([]))
        target.has_files_of_others = True
        self._step(target, statement, source.state.cloned_over(target.state))

    # How a step runs.

    def _new_table(self, first: State) -> TableUnderTest:
        self.tables.append(TableUnderTest(self.folder / f"t{len(self.tables)}", first))
        return self.tables[-1]

    def _row(self, columns: Columns) -> dict[int, object]:
        """A value that was never written before for each leaf."""
        numbers = [(leaf, next(self.values)) for leaf in leaves(columns)]
        return {leaf.key: n if leaf.kind == "INT" else f"v{n}" for leaf, n in numbers}

    def _set(self, table: TableUnderTest, properties: str, new: State) -> None:
        self._step(table, f"ALTER TABLE {table.name} SET TBLPROPERTIES ({properties})", new)

    def _step(
        self, table: TableUnderTest, statement: str, new: State, *, case_sensitive: bool = False
    ) -> None:
        self._sql(statement, case_sensitive=case_sensitive)
        self._advance(table, new)

    def _sql(self, statement: str, *, case_sensitive: bool = False) -> None:
        self.statements.append(statement + " -- case sensitive" * case_sensitive)
        self.spark.conf.set("spark.sql.caseSensitive", str(case_sensitive).lower())
        try:
            self.spark.sql(statement).collect()
        except Exception as refusal:
            raise self._failure(f"refused: {condition_of(refusal)} {refusal}"[:1500]) from None
        finally:
            self.spark.conf.set("spark.sql.caseSensitive", "false")

    def _write(
        self, table: TableUnderTest, columns: Columns, row: dict, *, mode: str, option: str
    ) -> None:
        query = select(columns, [row])
        self.statements.append(f"{query} -- {mode} to {table.name} with {option}")
        writer = self.spark.sql(query).write.format("delta").mode(mode).option(option, "true")
        try:
            writer.save(str(table.path))
        except Exception as refusal:
            raise self._failure(f"refused: {condition_of(refusal)} {refusal}"[:1500]) from None

    def _refused(
        self, table: TableUnderTest, statement: str, condition: str, *, case_sensitive: bool = False
    ) -> None:
        self.statements.append(f"{statement} -- to be refused")
        self.spark.conf.set("spark.sql.caseSensitive", str(case_sensitive).lower())
        try:
            self.spark.sql(statement).collect()
        except Exception as refusal:
            self._expect(condition_of(refusal), condition, "condition")
        else:
            raise self._failure(f"not refused with {condition}")
        finally:
            self.spark.conf.set("spark.sql.caseSensitive", "false")
        self._expect(TableLog(table.path).version, len(table.versions) - 1, "version")

    def _advance(self, table: TableUnderTest, new: State) -> None:
        table.versions.append(new)
        self._check(table)

    # What must hold after it.

    def _check(self, table: TableUnderTest) -> None:
        self.world.steps += 1
        log, state = TableLog(table.path), table.state
        self._expect(log.version, len(table.versions) - 1, "version")
        self._expect(log.is_tracked, state.is_tracked, "tracked")
        self._expect(log.flag, FLAG_TEXT[state.flag], "flag")
        mode = log.configuration.get("delta.columnMapping.mode", "none")
        self._expect(mode, "name" if state.is_mapped else "none", "mode")
        paths = {".".join(path): column for path, column in walk(state.columns)}
        self._expect(list(log.fields), list(paths), "columns")
        self._expect(log.ids, {path: column.id for path, column in paths.items()}, "ids")
        if state.is_mapped:
            self._expect(log.max_column_id, state.max_id, "maxColumnId")
        self._check_names(table, log, paths)
        self._check_against_last_version(log)
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

    def _check_against_last_version(self, log: TableLog) -> None:
        """What holds whatever the model says."""
        ids = [id for id in log.ids.values() if id is not None]
        self._expect(len(ids), len(set(ids)), "number of distinct ids")
        physical = list(physical_paths(log))
        self._expect(len(physical), len({path.lower() for path in physical}), "distinct paths")
        if log.version == 0:
            return
        before = log.at(log.version - 1)
        if before.is_tracked and log.is_tracked and before.flag == "true":
            self._expect(log.flag, "true", "flag that was true before")
        mapped_on = "delta.columnMapping.maxColumnId"
        if mapped_on in before.configuration and mapped_on in log.configuration:
            lower = log.max_column_id < before.max_column_id
            self._expect(lower, False, "maxColumnId went down")

    def _check_rows(self, table: TableUnderTest) -> None:
        state = table.state
        rows = content([column.name for column in state.columns], state.expected_rows())
        self.world.plain.ask(f"SELECT * FROM {table.name}")
        answers = {"Spark with us": self._read(read_with_us, self.spark, table.path)}
        answers["deltalake"] = self._read_with_deltalake(table)
        if state.flag is False and names_are_logical(state) and not table.has_files_of_others:
            answers["pyarrow"] = self._read(read_by_logical_names, table.path)
        answers["Spark without us"] = self._read(self.world.plain.answer)
        for reader, answer in answers.items():
            if answer is not None:
                self._expect(answer, rows, f"rows of {table.name} by {reader}")

    def _read(self, reader: Callable[..., Content], *arguments: object) -> Content:
        try:
            return reader(*arguments)
        except Exception as error:
            raise self._failure(f"{reader}: {error}"[:1500]) from None

    def _read_with_deltalake(self, table: TableUnderTest) -> Content | None:
        try:
            return read_with_deltalake(table.path)
        except Exception as error:
            if any(lost_whole_struct(table.state.columns, row) for row in table.state.rows):
                return None  # deltalake 1.6.6 refuses a struct of which a file has no field
            raise self._failure(f"deltalake: {error}"[:1500]) from None

    def _expect(self, seen: object, expected: object, what: str) -> None:
        if seen != expected:
            raise self._failure(f"{what}: {seen}, expected {expected}")

    def _failure(self, problem: str) -> AssertionError:
        story = "\n  ".join(re.sub(f"{self.folder}/", "", line) for line in self.statements)
        self.world.failures.append(f"{problem}\nHistory:\n  {story}")
        return AssertionError(self.world.failures[-1])


def histories(world: World) -> type[TableHistories]:
    return type("Histories", (TableHistories,), {"world": world})


# Questions about columns.


def siblings(columns: Columns, parent: tuple[str, ...]) -> Columns:
    found: list[Columns] = []
    edited(columns, parent, lambda old: found.append(old) or old)
    return found[0]


def free_names(taken: Columns) -> list[str]:
    used = {column.name.lower() for column in taken}
    return [name for name in NAMES if name.lower() not in used]


def places(columns: Columns) -> list[tuple[str, ...]]:
    """Where a column can be added, as paths of parents."""
    inside = [
        (*path, "element") if column.kind == "ARRAY" else path
        for path, column in walk(columns)
        if column.fields and len(column.fields) < MOST_FIELDS
    ]
    return [*[()] * (len(columns) < MOST_COLUMNS), *inside]


def has_place(state: State) -> bool:
    return bool(places(state.columns))


def is_unused(state: State) -> bool:
    """Whether column mapping can be switched off: the state that a wrong flag would betray."""
    return state.is_tracked and state.is_mapped and state.flag is False


def droppable(columns: Columns) -> list[tuple[str, ...]]:
    """Delta refuses to drop the last column, and the last field of a struct."""
    return [path for path, _ in walk(columns) if len(siblings(columns, path[:-1])) > 1]


def is_key(column: Column, row: Any) -> bool:
    return column.kind == "INT" and row.get(column.key) is not None


def names_are_logical(state: State) -> bool:
    names_match = (column.physical in (None, column.name) for _, column in walk(state.columns))
    return state.is_tracked and all(names_match)


def lost_whole_struct(columns: Columns, row: Any) -> bool:
    """Whether none of the fields that a struct has now was there when the row was written."""
    return any(
        column.fields and not any(leaf.key in row for leaf in leaves(column.fields))
        for _, column in walk(columns)
    )


def physical_paths(log: TableLog) -> Iterable[str]:
    names = log.physical_names
    for path in names:
        parts = path.split(".")
        prefixes = [".".join(parts[: n + 1]) for n in range(len(parts))]
        yield ".".join(
            names.get(prefix) or part for prefix, part in zip(prefixes, parts, strict=True)
        )


# Changes of columns.


def without(name: str) -> Callable[[Columns], Columns]:
    return lambda old: tuple(column for column in old if column.name != name)


def renamed(name: str, to: str) -> Callable[[Columns], Columns]:
    return lambda old: tuple(replace(c, name=to) if c.name == name else c for c in old)


def fresh(column: Column) -> Column:
    """A column that looks the same and has no past."""
    return Column(column.name, column.kind, tuple(map(fresh, column.fields)))


# Random columns.


def draw_column(data: Any, taken: Columns = (), *, nested: bool) -> Column:
    name = data.draw(st.sampled_from(free_names(taken)), label="name")
    kinds = ["INT", "STRING", "STRUCT", "ARRAY"] if nested else ["INT", "STRING"]
    kind = data.draw(st.sampled_from(kinds), label="kind")
    if kind in ("INT", "STRING"):
        return Column(name, kind)
    fields: Columns = ()
    for _ in range(data.draw(st.integers(1, 2), label="fields")):
        fields = (*fields, draw_column(data, fields, nested=False))
    return Column(name, kind, fields)


def draw_columns(data: Any) -> Columns:
    columns: Columns = ()
    for _ in range(data.draw(st.integers(1, 3), label="columns")):
        columns = (*columns, draw_column(data, columns, nested=True))
    return columns


def draw_evolution(data: Any, columns: Columns) -> tuple[Columns, Columns]:
    """Some of the columns and perhaps a new one at each place; then all columns after it."""
    given = [c for c in columns if data.draw(st.booleans(), label=f"with {c.name}")]
    parents = [p for p in places(columns) if not p or p[0] in {c.name for c in given}]
    some, everything = tuple(given), columns
    if parents and (not given or data.draw(st.booleans(), label="new column")):
        parent = data.draw(st.sampled_from(parents))
        new = draw_column(data, siblings(columns, parent), nested=not parent)
        some = edited(some, parent, lambda old: (*old, new))
        everything = edited(everything, parent, lambda old: (*old, new))
    return (some, everything) if some else (columns, columns)


def draw_successor(data: Any, columns: Columns) -> Columns:
    """What an overwrite brings: the same columns, fewer, more, or of another case or type."""
    successor: Columns = ()
    for column in map(fresh, columns):
        change = data.draw(st.sampled_from(["same", "same", "gone", "case", "type", "field case"]))
        if change == "gone":
            continue
        if change == "case":
            column = replace(column, name=column.name.swapcase())
        elif change == "type":
            column = Column(column.name, "STRING" if column.kind == "INT" else "INT")
        elif change == "field case" and column.fields:
            first, *rest = column.fields
            column = replace(column, fields=(replace(first, name=first.name.swapcase()), *rest))
        successor = (*successor, column)
    if not successor or (len(successor) < MOST_COLUMNS and data.draw(st.booleans(), label="more")):
        successor = (*successor, draw_column(data, successor, nested=True))
    return successor


# SQL.


def dotted(path: tuple[str, ...]) -> str:
    return ".".join(name if name == "element" else f"`{name}`" for name in path)


def clause(properties: list[str]) -> str:
    return f" TBLPROPERTIES ({', '.join(properties)})" if properties else ""


def sql_type(column: Column) -> str:
    if not column.fields:
        return column.kind
    struct = f"STRUCT<{', '.join(f'`{c.name}`: {sql_type(c)}' for c in column.fields)}>"
    return struct if column.kind == "STRUCT" else f"ARRAY<{struct}>"


def definition(column: Column) -> str:
    return f"`{column.name}` {sql_type(column)}"


def literal(column: Column, row: Any) -> str:
    if not column.fields:
        value = row[column.key]
        return str(value) if column.kind == "INT" else f"'{value}'"
    fields = ", ".join(f"'{child.name}', {literal(child, row)}" for child in column.fields)
    struct = f"named_struct({fields})"
    return struct if column.kind == "STRUCT" else f"array({struct})"


def select(columns: Columns, rows: list[Any]) -> str:
    return " UNION ALL ".join(
        "SELECT " + ", ".join(f"{literal(column, row)} AS `{column.name}`" for column in columns)
        for row in rows
    )


def condition_of(refusal: Exception) -> str | None:
    """Delta's condition, also of exceptions that PySpark does not know."""
    condition = refusal.getCondition() if hasattr(refusal, "getCondition") else None
    cause = getattr(refusal, "java_exception", None)
    while condition is None and cause is not None:
        text = str(cause.getMessage() or "")
        condition = text[1:].partition("]")[0] if text.startswith("[") else None
        cause = cause.getCause()
    return condition
