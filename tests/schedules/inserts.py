# SPDX-License-Identifier: Apache-2.0
"""Contains appends, overwrites and REPLACE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame

from tests.schedules.act import (
    Act,
    Effect,
    Moment,
    Stage,
    held,
    key_in,
    known,
    new_key,
    row_for,
    value_of,
    values_for,
)
from tests.support.flat_tables import Impossible, key_of, names, replaced, require, with_rows
from tests.support.reference_model import Row, State
from tests.support.table_log import TableLog

OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
KEPT_PROPERTIES = (
    "delta.columnMapping.mode",
    "delta.enableDeletionVectors",
    "delta.enableChangeDataFeed",
)


def _inserting(of: Callable[[Moment], State] = known) -> Effect:
    def effect(before: State, moment: Moment) -> State:
        require(before, *names(of(moment)))
        return with_rows(before, [row_for(moment.number, of(moment))])

    return effect


def _replacing(keys: set[int] | None) -> Effect:
    """Replaces the rows of some keys, or all rows, by one row."""

    def effect(before: State, moment: Moment) -> State:
        require(before, *names(moment.known))
        kept = [row for row in before.rows if keys and key_in(row) not in keys]
        new = row_for(moment.number, moment.known, min(keys) if keys else None)
        return before.rewritten((*kept, new))

    return effect


def _by_name(stage: Stage, number: int) -> str:
    names = stage.names()[1:]
    values = [f"'{value_of(number, name)}' AS `{name}`" for name in reversed(names)]
    return f"SELECT {', '.join([*values, f'{new_key(number)} AS k'])}"


def _moved(number: int) -> int:
    return 1000 * number


def _moved_rows(rows: Sequence[Row], number: int) -> list[Row]:
    return [{**row, "k": key_in(row) + _moved(number)} for row in rows]


def _moved_columns(names: Sequence[str], number: int) -> str:
    return ", ".join([f"k + {_moved(number)} AS k", *(f"`{name}`" for name in names[1:])])


def _insert_from_itself(stage: Stage, number: int, kind: str = "INTO") -> None:
    columns = _moved_columns(stage.names(), number)
    stage.sql(f"INSERT {kind} {{t}} SELECT {columns} FROM {{t}}")


def _known_rows(before: State, known_columns: State) -> list[Row]:
    """Returns the rows with the columns that the plan knows."""
    keys = names(known_columns)
    require(before, *keys)
    return [{key: value for key, value in row.items() if key in keys} for row in before.rows]


def _inserting_itself(before: State, moment: Moment) -> State:
    return with_rows(before, _moved_rows(_known_rows(before, moment.known), moment.number))


def _overwriting_itself(before: State, moment: Moment) -> State:
    rows = _moved_rows(_known_rows(before, moment.known), moment.number)
    return before.rewritten(rows)


def _replace_as_select(stage: Stage, number: int) -> None:
    configuration = TableLog(stage.path).configuration
    properties = ", ".join(
        f"'{name}' = '{configuration[name]}'" for name in KEPT_PROPERTIES if name in configuration
    )
    columns = _moved_columns(stage.names(), number)
    stage.sql(
        f"CREATE OR REPLACE TABLE {{t}} USING delta TBLPROPERTIES ({properties})"
        f" AS SELECT {columns} FROM {{t}}"
    )


def _replacing_as_select(before: State, moment: Moment) -> tuple[State, ...]:
    rows = _moved_rows(_known_rows(before, moment.known), moment.number)
    modes = (moment.known.mode, before.mode)
    found = tuple(replaced(before, moment.known, mode, rows) for mode in modes)
    if before.mode == moment.known.mode and names(before) == names(moment.known):
        return found[:1]
    # The statement was written for another mode or for other columns.
    return (*found, *(replace(state, flag=True) for state in found if state.flag is False))


def _held_rows(stage: Stage, number: int) -> DataFrame:
    names = stage.early_names
    return stage.frame.selectExpr(
        f"k + {_moved(number)} AS k", *(f"`{name}`" for name in names[1:])
    )


def _append_held(stage: Stage, number: int) -> None:
    _held_rows(stage, number).write.format("delta").mode("append").save(stage.url)


def _overwrite_held(stage: Stage, number: int) -> None:
    _held_rows(stage, number).write.format("delta").mode("overwrite").save(stage.url)


def _insert_held_view(stage: Stage, number: int) -> None:
    columns = _moved_columns(stage.early_names, number)
    stage.sql(f"INSERT INTO {{t}} SELECT {columns} FROM held")


def _insert_into_held_view(stage: Stage, number: int) -> None:
    stage.sql(f"INSERT INTO held VALUES {values_for(number, stage.early_names)}")


def _carrying(by_name: bool, is_overwrite: bool = False) -> Effect:
    """Writes columns known at the start to those at the analysis, by name or by position."""

    def effect(before: State, moment: Moment) -> State:
        sources = moment.held.columns
        if by_name:
            targets = [key_of(moment.known, column.name) for column in sources]
        else:
            targets = list(names(moment.known))
            if len(targets) != len(sources):
                raise Impossible("not as many columns")
        require(before, *targets)
        to = dict(zip(names(moment.held), targets, strict=True))
        rows = _moved_rows(_known_rows(before, moment.held), moment.number)
        carried = [{to[key]: value for key, value in row.items()} for row in rows]
        return before.rewritten(carried) if is_overwrite else with_rows(before, carried)

    return effect


def _sinking(before: State, moment: Moment) -> State:
    """Writes rows by names, which a sink resolves to columns when its batch begins."""
    keys = {name: key_of(before, name) for name in names(moment.known).values() if name != "k"}
    row = {key: value_of(moment.number, name) for name, key in keys.items()}
    return with_rows(before, [{"k": new_key(moment.number), **row}])


def _sink_batch(stage: Stage, number: int) -> None:
    """Runs a batch of a stream on this thread, on which the schedule can hold it."""
    spark = stage.spark
    jvm: Any = spark._jvm
    rows = spark.sql(_by_name(stage, number))
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", str(uuid4()))
    sources = jvm.org.apache.spark.sql.delta.sources
    mutable = jvm.java.util.HashMap()
    mutable["path"] = stage.url
    parameters = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(mutable)
    none = jvm.org.apache.spark.api.python.PythonUtils.toSeq(jvm.java.util.ArrayList())
    append = jvm.org.apache.spark.sql.streaming.OutputMode.Append()
    context = spark._jsparkSession.sqlContext()
    sink = sources.DeltaDataSource().createSink(context, parameters, none, append)
    sink.addBatch(0, rows._jdf)


def _overwrite_partitions(stage: Stage, number: int) -> None:
    """Overwrites the partition of row 3. INSERT finds its two columns by position."""
    others = (f"'{value_of(number, name)}'" for name in stage.names()[3:])
    values = ", ".join([str(new_key(number)), "'b.3'", "'d.3'", *others])
    stage.spark.conf.set(OVERWRITE_MODE, "dynamic")
    try:
        stage.sql(f"INSERT OVERWRITE {{t}} VALUES ({values})")
    finally:
        stage.spark.conf.unset(OVERWRITE_MODE)


def _overwriting_partitions(before: State, moment: Moment) -> State:
    require(before, *names(moment.known))
    partition = dict(zip([*names(moment.known)][1:3], ("b.3", "d.3"), strict=True))
    kept = [row for row in before.rows if not partition.items() <= row.items()]
    return before.rewritten((*kept, {**row_for(moment.number, moment.known), **partition}))


INSERT = Act(
    "insert",
    lambda stage, number: stage.sql(
        f"INSERT INTO {{t}} VALUES {values_for(number, stage.names())}"
    ),
    _inserting(),
)
INSERT_BY_NAME = Act(
    "insert by name",
    lambda stage, number: stage.sql(f"INSERT INTO {{t}} BY NAME {_by_name(stage, number)}"),
    _inserting(),
)
OVERWRITE = Act(
    "overwrite",
    lambda stage, number: stage.sql(
        f"INSERT OVERWRITE {{t}} VALUES {values_for(number, stage.names())}"
    ),
    _replacing(None),
)
REPLACE_WHERE = Act(
    "replace where",
    lambda stage, number: stage.sql(
        f"INSERT INTO {{t}} REPLACE WHERE k = 3 VALUES {values_for(number, stage.names(), 3)}"
    ),
    _replacing({3}),
)
INSERT_ITSELF = Act("insert from itself", _insert_from_itself, _inserting_itself)
OVERWRITE_ITSELF = Act(
    "overwrite from itself",
    lambda stage, number: _insert_from_itself(stage, number, "OVERWRITE"),
    _overwriting_itself,
)
REPLACE_AS_SELECT = Act("replace as select", _replace_as_select, _replacing_as_select)
APPEND_HELD = Act("append of a held frame", _append_held, _carrying(True), is_held=True)
OVERWRITE_HELD = Act(
    "overwrite by a held frame", _overwrite_held, _carrying(True, True), is_held=True
)
INSERT_HELD_VIEW = Act("insert from a held view", _insert_held_view, _carrying(False), is_held=True)
INSERT_INTO_HELD_VIEW = Act(
    "insert into a held view", _insert_into_held_view, _inserting(held), is_held=True
)
SINK = Act("batch of a sink", _sink_batch, _sinking)
OVERWRITE_PARTITIONS = Act(
    "overwrite of a partition", _overwrite_partitions, _overwriting_partitions
)
