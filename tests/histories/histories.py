# SPDX-License-Identifier: Apache-2.0
"""Runs random histories on real tables, and compares each step with the reference model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.histories.sql_text import clause, definition, dotted, select, sql_type
from tests.histories.table_steps import TableSteps, TableUnderTest, World
from tests.support.column_draws import (
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
    movable,
    moved_first,
    places,
    renamed,
    siblings,
    with_new,
    without,
)
from tests.support.delta_table import TRACKED
from tests.support.reference_model import Column, State, edited, walk
from tests.support.session_conf import session_conf
from tests.support.table_log import LIKE, USER_METADATA, TableLog

MODES = {mode: f"'delta.columnMapping.mode' = '{mode}'" for mode in ("none", "name", "id")}
# Properties that change how files are written, and nothing else.
FILE_PROPERTIES = [
    "'delta.enableDeletionVectors' = 'true'",
    "'delta.enableRowTracking' = 'true'",
]
MOST_TABLES = 4

data = st.data()


class TableHistories(TableSteps, RuleBasedStateMachine):
    """Runs statements on a few tables, some of which are clones of others."""

    # Choices.

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
            self._set(table, f"{MODES['name']}, {TRACKED}", both)
        else:
            self._set(table, MODES["name"], table.state.mapping_enabled(), data)

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
            # Delta resolves both columns before it adds the first.
            parents = [p for p in places(columns) if p in places(table.state.columns)]
            if not parents:
                break
            parent = data.draw(st.sampled_from(parents))
            taken = siblings(columns, parent)
            new = draw_column(data, table.state.mode, taken, level=depth(parent))
            first = data.draw(st.booleans(), label="first")
            columns = edited(columns, parent, with_new(new, first=first))
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

    @rule(data=data)
    def comment_column(self, data: Any) -> None:
        table = self._choose(data)
        path = data.draw(st.sampled_from([path for path, _ in walk(table.state.columns)]))
        statement = f"ALTER TABLE {table.name} ALTER COLUMN {dotted(path)} COMMENT 'c'"
        self._step(table, statement, table.state.altered(table.state.columns), data=data)

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
        """Runs OPTIMIZE, which commits only if it changes a file."""
        table = self._choose(data)
        self._sql(f"OPTIMIZE {table.name}")
        if TableLog(table.path).version == len(table.versions):
            self._advance(table, table.state)

    @rule(data=data)
    def append_with_new_columns(self, data: Any) -> None:
        table = self._choose(data)
        given, all_columns = draw_evolution(data, table.state)
        row = self._row(given)
        if data.draw(st.integers(0, 3), label="stream if 0") == 0:
            self._stream(table, given, row)
        else:
            self._write(table, given, row, mode="append", option=("mergeSchema", "true"))
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
        like = self._new_table(source.state.created_like())
        with session_conf(self.spark, {USER_METADATA: LIKE}):
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


def histories(world: World) -> type[TableHistories]:
    return type("Histories", (TableHistories,), {"world": world})


def is_unused(state: State) -> bool:
    """Returns whether a tracked, mapped table's flag is false; a drop or rename must set it."""
    return state.is_tracked and state.is_mapped and state.flag is False


def keys(state: State) -> list[tuple[Column, object]]:
    """Returns columns and values by which a statement can select rows."""
    return [(c, row[c.key]) for c in state.columns for row in state.rows if is_key(c, row)]


def is_of(row: Any, key: Column, value: object) -> bool:
    return row.get(key.key) == value
