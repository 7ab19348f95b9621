# SPDX-License-Identifier: Apache-2.0
"""Random histories on real tables, each step compared with the reference model."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from column_draws import (
    depth,
    draw_column,
    draw_columns,
    draw_evolution,
    draw_successor,
    droppable,
    free_names,
    has_place,
    has_unmappable_name,
    is_key,
    lost_whole_struct,
    movable,
    moved_first,
    places,
    renamed,
    siblings,
    without,
)
from delta_table import NAME_MODE, TRACKED
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
from sql_text import clause, condition_of, definition, dotted, kind_of, select, sql_type
from table_log import TableLog, is_uuid_name

MODES = {mode: f"'delta.columnMapping.mode' = '{mode}'" for mode in ("none", "name", "id")}
# What changes how files are written, and must change nothing else.
FILE_PROPERTIES = [
    "'delta.enableDeletionVectors' = 'true'",
    "'delta.enableRowTracking' = 'true'",
]
MOST_TABLES = 4
FLAG_TEXT = {True: "true", False: "false", None: None}

data = st.data()


class TableUnderTest:
    """A real table and its versions as the model has them."""

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
        self.counts: Counter[str] = Counter()  # of statements, by their kind
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
        self.failed = False
        self.world.histories += 1

    def teardown(self) -> None:
        for table in self.tables * (not self.failed):
            self._check_rows(table)
            self._check_older_rows(table)
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
        way = data.draw(st.sampled_from(["define", "define", "select", "convert"]), label="way")
        mode, is_tracked = "none", False
        if way != "convert":
            mode = data.draw(st.sampled_from(["none", "name", "name", "id"]), label="mode")
            is_tracked = data.draw(st.booleans(), label="tracked")
        file_properties = [p for p in FILE_PROPERTIES if data.draw(st.booleans(), label=p)]
        first = State(draw_columns(data, mode), mode=mode, is_tracked=is_tracked)
        table = self._new_table(first)
        rows = [] if way == "define" else [self._row(first.columns)]
        table.versions = [first.created().rewritten(rows)]
        properties = [*[TRACKED] * is_tracked, MODES[mode], *file_properties]
        if way == "define":
            columns = ", ".join(definition(column) for column in first.columns)
            self._sql(f"CREATE TABLE {table.name} ({columns}) USING delta{clause(properties)}")
        elif way == "select":
            query = select(first.columns, rows)
            self._sql(f"CREATE TABLE {table.name} USING delta{clause(properties)} AS {query}")
        else:
            self._says(f"{select(first.columns, rows)} -- to Parquet in {table.path}")
            self.spark.sql(select(first.columns, rows)).write.parquet(str(table.path))
            self._sql(f"CONVERT TO DELTA parquet.`{table.path}`")
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
            self._set(table, NAME_MODE, table.state.mapping_enabled(), data)

    @precondition(lambda self: self._any(lambda state: state.is_mapped))
    @rule(data=data)
    def disable_mapping(self, data: Any) -> None:
        table = self._choose(data, lambda state: state.is_mapped)
        if has_unmappable_name(table.state.columns):
            statement = f"ALTER TABLE {table.name} SET TBLPROPERTIES ({MODES['none']})"
            refusal = "DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING"
            self._refused(table, statement, refusal)
        else:
            self._set(table, MODES["none"], table.state.mapping_disabled(), data)

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
            taken = siblings(columns, parent)
            new = draw_column(data, table.state.mode, taken, level=depth(parent))
            first = data.draw(st.booleans(), label="first")
            columns = edited(
                columns, parent, lambda old, n=new, f=first: (n, *old) if f else (*old, n)
            )
            added.append(f"{dotted((*parent, new.name))} {sql_type(new)}{' FIRST' * first}")
        statement = f"ALTER TABLE {table.name} ADD COLUMNS ({', '.join(added)})"
        self._step(table, statement, table.state.altered(columns), data=data)

    @precondition(lambda self: self._any(lambda state: movable(state.columns)))
    @rule(data=data)
    def move_column(self, data: Any) -> None:
        table = self._choose(data, lambda state: movable(state.columns))
        path = data.draw(st.sampled_from(movable(table.state.columns)))
        columns = edited(table.state.columns, path[:-1], moved_first(path[-1]))
        statement = f"ALTER TABLE {table.name} ALTER COLUMN {dotted(path)} FIRST"
        self._step(table, statement, table.state.altered(columns), data=data)

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
        return self._step(table, statement, table.state.altered(rest), data=data)

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
        free = [path[-1].swapcase(), *free_names(taken, table.state.mode)]
        name = data.draw(st.sampled_from(free), label="new name")
        statement = f"ALTER TABLE {table.name} RENAME COLUMN {dotted(path)} TO `{name}`"
        with_case = name.lower() == path[-1].lower()
        if not table.state.is_mapped:
            return self._refused(
                table, statement, "DELTA_UNSUPPORTED_RENAME_COLUMN", case_sensitive=with_case
            )
        columns = edited(table.state.columns, path[:-1], renamed(path[-1], name))
        new = table.state.altered(columns)
        if with_case:
            return self._step(table, statement, new, case_sensitive=True)
        return self._step(table, statement, new, data=data)

    @rule(data=data)
    def insert(self, data: Any) -> None:
        table = self._choose(data)
        rows = [self._row(table.state.columns) for _ in range(data.draw(st.integers(1, 2)))]
        new = table.state.rewritten([*table.state.rows, *rows])
        insert = f"INSERT INTO {table.name} {select(table.state.columns, rows)}"
        self._step(table, insert, new, data=data)

    @precondition(lambda self: self._any(keys))
    @rule(data=data)
    def update(self, data: Any) -> None:
        table = self._choose(data, keys)
        key, value = data.draw(st.sampled_from(keys(table.state)))
        number = next(self.values)
        rows = [{**r, key.key: number} if is_of(r, key, value) else r for r in table.state.rows]
        where = f"`{key.name}` = {value}"
        statement = f"UPDATE {table.name} SET `{key.name}` = {number} WHERE {where}"
        self._step(table, statement, table.state.rewritten(rows), data=data)

    @precondition(lambda self: self._any(keys))
    @rule(data=data)
    def delete(self, data: Any) -> None:
        table = self._choose(data, keys)
        key, value = data.draw(st.sampled_from(keys(table.state)))
        rows = [row for row in table.state.rows if not is_of(row, key, value)]
        statement = f"DELETE FROM {table.name} WHERE `{key.name}` = {value}"
        self._step(table, statement, table.state.rewritten(rows), data=data)

    @precondition(lambda self: self._any(keys))
    @rule(data=data)
    def replace_where(self, data: Any) -> None:
        table = self._choose(data, keys)
        key, value = data.draw(st.sampled_from(keys(table.state)))
        row = {**self._row(table.state.columns), key.key: value}
        option = ("replaceWhere", f"`{key.name}` = {value}")
        self._write(table, table.state.columns, row, mode="overwrite", option=option)
        others = [old for old in table.state.rows if not is_of(old, key, value)]
        self._advance(table, table.state.rewritten([*others, row]))

    @rule(data=data)
    def optimize(self, data: Any) -> None:
        """Makes no commit where there is nothing to do."""
        table = self._choose(data)
        self._sql(f"OPTIMIZE {table.name}")
        if TableLog(table.path).version == len(table.versions):
            self._advance(table, table.state)

    @rule(data=data)
    def append_with_new_columns(self, data: Any) -> None:
        table = self._choose(data)
        given, all_columns = draw_evolution(data, table.state)
        row = self._row(given)
        if data.draw(st.integers(0, 3), label="stream"):
            self._write(table, given, row, mode="append", option=("mergeSchema", "true"))
        else:
            self._stream(table, given, row)
        new = table.state.altered(all_columns)
        self._advance(table, new.rewritten([*new.rows, row]))

    @rule(data=data)
    def merge_with_new_columns(self, data: Any) -> None:
        table = self._choose(data)
        given, all_columns = draw_evolution(data, table.state)
        source = self._row(given)
        rows, condition = [*table.state.rows, source], "false"
        given_keys = [found for found in keys(table.state) if found[0] in given]
        if given_keys:
            key, value = data.draw(st.sampled_from(given_keys))
            source = {**source, key.key: value}
            condition = f"t.`{key.name}` = s.`{key.name}`"
            old = table.state.rows
            rows = [{**row, **source} if is_of(row, key, value) else row for row in old]
        statement = (
            f"MERGE WITH SCHEMA EVOLUTION INTO {table.name} t USING ({select(given, [source])}) s "
            f"ON {condition} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        self._step(table, statement, table.state.altered(all_columns).rewritten(rows))

    @rule(data=data)
    def overwrite_schema(self, data: Any) -> None:
        table = self._choose(data)
        columns = draw_successor(data, table.state.columns, table.state.mode)
        row = self._row(columns)
        self._write(table, columns, row, mode="overwrite", option=("overwriteSchema", "true"))
        self._advance(table, table.state.overwritten(columns, [row]))

    @rule(data=data)
    def replace_table(self, data: Any) -> None:
        table = self._choose(data)
        mode = data.draw(st.sampled_from(["none", "name", "name", "id"]), label="mode")
        columns = draw_successor(data, table.state.columns, mode)
        rows = [self._row(columns)] * data.draw(st.booleans(), label="as select")
        track = data.draw(st.booleans(), label="track")
        properties = clause([*[TRACKED] * track, MODES[mode]])
        if rows:
            query = select(columns, rows)
            statement = f"CREATE OR REPLACE TABLE {table.name} USING delta{properties} AS {query}"
        else:
            types = ", ".join(definition(column) for column in columns)
            statement = f"REPLACE TABLE {table.name} ({types}) USING delta{properties}"
        if mode == "none" and has_unmappable_name(columns):
            self._refused(table, statement, "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES")
        else:
            new = table.state.replaced(columns, rows, mode=mode, track=track)
            self._step(table, statement, new)

    @precondition(lambda self: any(len(table.versions) > 1 for table in self.tables))
    @rule(data=data)
    def restore(self, data: Any) -> None:
        old = [table for table in reversed(self.tables) if len(table.versions) > 1]
        table = data.draw(st.sampled_from(old))
        version = data.draw(st.integers(0, len(table.versions) - 2), label="version")
        statement = f"RESTORE TABLE {table.name} TO VERSION AS OF {version}"
        to = table.versions[version]
        if table.state.can_change_to(to.mode):
            self._step(table, statement, table.state.restored(to))
        else:
            self._refused(table, statement, "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE")

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
        self._sql_without_us(f"CREATE TABLE {clone.name} SHALLOW CLONE {source.name}")
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
        if source.state.mode != target.state.mode:
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
        """Where `data` is given and the table is not tracked, also by the session without us."""
        may_be_without_us = data is not None and not table.state.is_tracked
        if may_be_without_us and data.draw(st.booleans(), label="without us"):
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
        self.spark.conf.set("spark.sql.caseSensitive", str(case_sensitive).lower())
        try:
            self.spark.sql(statement).collect()
        except Exception as refusal:
            raise self._failure(f"refused: {condition_of(refusal)} {refusal}"[:1500]) from None
        finally:
            self.spark.conf.set("spark.sql.caseSensitive", "false")

    def _write(
        self,
        table: TableUnderTest,
        columns: Columns,
        row: dict,
        *,
        mode: str,
        option: tuple[str, str],
    ) -> None:
        query = select(columns, [row])
        self.statements.append(f"{query} -- {mode} to {table.name} with {option}")
        self.world.counts[f"{mode} {option[0]}"] += 1
        writer = self.spark.sql(query).write.format("delta").mode(mode).option(*option)
        try:
            writer.save(str(table.path))
        except Exception as refusal:
            raise self._failure(f"refused: {condition_of(refusal)} {refusal}"[:1500]) from None

    def _stream(self, table: TableUnderTest, columns: Columns, row: dict) -> None:
        """Appends as a stream that may add columns."""
        query = select(columns, [row])
        self.statements.append(f"{query} -- streamed to {table.name}")
        self.world.counts["stream mergeSchema"] += 1
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        frame, files = self.spark.sql(query), str(folder / "source")
        frame.write.parquet(files)
        stream = self.spark.readStream.schema(frame.schema).parquet(files).writeStream
        stream = stream.format("delta").option("mergeSchema", "true").trigger(availableNow=True)
        try:
            stream.option("checkpointLocation", str(folder / "checkpoint")).start(
                str(table.path)
            ).awaitTermination()
        except Exception as refusal:
            raise self._failure(f"refused: {condition_of(refusal)} {refusal}"[:1500]) from None

    def _refused(
        self, table: TableUnderTest, statement: str, condition: str, *, case_sensitive: bool = False
    ) -> None:
        self._says(f"{statement} -- to be refused")
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
        if (table.state.flag, new.flag) == (False, True):
            self.world.counts["flag became true"] += 1
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
        self._expect(mode, state.mode, "mode")
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
        if state.flag is False and names_are_logical(state) and is_for_pyarrow(table):
            answers["pyarrow"] = self._read(read_by_logical_names, table.path)
        answers["Spark without us"] = self._read(self.world.plain.answer)
        for reader, answer in answers.items():
            if answer is not None:
                self._expect(answer, rows, f"rows of {table.name} by {reader}")

    def _check_older_rows(self, table: TableUnderTest) -> None:
        version = len(table.versions) // 2
        state = table.versions[version]
        rows = content([column.name for column in state.columns], state.expected_rows())
        answer = self._read(read_with_us, self.spark, table.path, version)
        self._expect(answer, rows, f"rows of {table.name} at version {version}")

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
                self.world.counts[f"DL {type(error)} {str(error)[:100]}"] += 1
                return None  # deltalake 1.6.6 refuses a struct of which a file has no field
            raise self._failure(f"deltalake: {error}"[:1500]) from None

    def _expect(self, seen: object, expected: object, what: str) -> None:
        if seen != expected:
            raise self._failure(f"{what}: {seen}, expected {expected}")

    def _failure(self, problem: str) -> AssertionError:
        self.failed = True
        story = "\n  ".join(re.sub(f"{self.folder}/", "", line) for line in self.statements)
        self.world.failures.append(f"{problem}\nHistory:\n  {story}")
        return AssertionError(self.world.failures[-1])


def histories(world: World) -> type[TableHistories]:
    return type("Histories", (TableHistories,), {"world": world})


def is_unused(state: State) -> bool:
    """Whether column mapping can be switched off: the state that a wrong flag would betray."""
    return state.is_tracked and state.is_mapped and state.flag is False


def is_for_pyarrow(table: TableUnderTest) -> bool:
    """It reads neither deletion vectors nor the files that a SHALLOW CLONE shares."""
    features = TableLog(table.path).protocol.get("readerFeatures", [])
    return not table.has_files_of_others and "deletionVectors" not in features


def names_are_logical(state: State) -> bool:
    names_match = (column.physical in (None, column.name) for _, column in walk(state.columns))
    return state.is_tracked and all(names_match)


def physical_paths(log: TableLog) -> Iterable[str]:
    names = log.physical_names
    for path in names:
        parts = path.split(".")
        prefixes = [".".join(parts[: n + 1]) for n in range(len(parts))]
        yield ".".join(
            names.get(prefix) or part for prefix, part in zip(prefixes, parts, strict=True)
        )


def keys(state: State) -> list[tuple[Column, object]]:
    """Columns and values by which rows can be found."""
    return [(c, row[c.key]) for c in state.columns for row in state.rows if is_key(c, row)]


def is_of(row: Any, key: Column, value: object) -> bool:
    return row.get(key.key) == value
