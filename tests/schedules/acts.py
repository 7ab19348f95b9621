# SPDX-License-Identifier: Apache-2.0
"""Contains the statements of the schedules, and the effect of each on the model of a table.

A statement refers to the columns at its analysis. A held DeltaTable, DataFrame or view refers to
the columns at the start of the schedule. The effects follow the meaning of the statements, not our
rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Row as SparkRow

from tests.schedules.table_kinds import Kind, Original
from tests.schedules.table_model import OPEN, Impossible, Model, Row
from tests.support.delta_table import NAME_MODE, TRACKED
from tests.support.removal import NONE_MODE, SETTING
from tests.support.table_log import TableLog

OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
KEPT_PROPERTIES = (
    "delta.columnMapping.mode",
    "delta.enableDeletionVectors",
    "delta.enableChangeDataFeed",
)


@dataclass
class Stage:
    """Contains the table in the session of an actor."""

    spark: SparkSession
    path: Path
    url: str
    kind: Kind
    original: Original

    def __post_init__(self) -> None:
        self.delta_table = DeltaTable.forPath(self.spark, self.url)
        self.frame: DataFrame = self.spark.read.format("delta").load(self.url)
        self.frame.createOrReplaceTempView("held")

    @property
    def name(self) -> str:
        return f"delta.`{self.url}`"

    @cached_property
    def early_names(self) -> tuple[str, ...]:
        return self.kind.model.names

    def names(self) -> tuple[str, ...]:
        """Returns the current names of the columns."""
        return tuple(TableLog(self.path).fields)

    def sql(self, text: str) -> None:
        self.spark.sql(text.replace("{t}", self.name))


@dataclass(frozen=True)
class Moment:
    """Contains the facts on which the effect of a statement depends.

    Args:
        number: The number of the statement.
        known: The table at the analysis of the statement.
        held: The table at the start of the schedule.
        early: The table to which RESTORE goes.
        mapped: The table to which RESTORE of mapped columns goes.
        seen: The rows that the statement read.
    """

    number: int
    known: Model
    held: Model
    early: Model
    mapped: Model
    seen: Sequence[Row] = ()


Effect = Callable[[Model, Moment], Model]


@dataclass(frozen=True)
class Act:
    """Describes a statement. The values that it writes depend on its number."""

    name: str
    run: Callable[[Stage, int], object]
    effect: Effect
    is_held: bool = False
    """Whether the statement uses an object from before the schedule."""
    has_parts: bool = False
    """Whether the statement commits more than once, and may fail between commits."""
    prepare: Callable[[Stage], object] | None = None
    """Prepares the statement before the schedule starts."""

    def __str__(self) -> str:
        return self.name


def key_of(number: int) -> int:
    return 100 * number


def moved(number: int) -> int:
    return 1000 * number


def value_of(number: int, name: str) -> str:
    return f"{name}.of.{number}"


def values_for(number: int, names: Sequence[str], key: int | None = None) -> str:
    """Returns a row of values for these columns."""
    others = (f"'{value_of(number, name)}'" for name in names[1:])
    return f"({', '.join([str(key or key_of(number)), *others])})"


def row_for(number: int, known: Model, key: int | None = None) -> Row:
    found: dict[str, Any] = {"k": key or key_of(number)}
    return found | {column.identity: value_of(number, column.name) for column in known.columns[1:]}


def nothing(before: Model, moment: Moment) -> Model:
    return before


def sql(text: str) -> Callable[[Stage, int], object]:
    return lambda stage, number: stage.sql(text.replace("{n}", str(number)))


# UPDATE, DELETE and MERGE, by SQL and by a held DeltaTable.


def _updating(column: str, suffix: str | None, of: Callable[[Moment], Model]) -> Effect:
    """Sets a column in rows with odd keys, or in all rows, to one value."""

    def effect(before: Model, moment: Moment) -> Model:
        identity = of(moment).identity(column)
        before.require("k", identity)
        rows = []
        for row in before.rows:
            if suffix is None:
                row = {**row, identity: f"{column}.all.{moment.number}"}
            elif int(row["k"]) % 2 == 1 and identity in row:
                row = {**row, identity: f"{row[identity]}.{moment.number}"}
            rows.append(row)
        return replace(before, rows=tuple(rows))

    return effect


def _deleting(keys: set[int], of: Callable[[Moment], Model]) -> Effect:
    def effect(before: Model, moment: Moment) -> Model:
        before.require(of(moment).identity("k"))
        return replace(before, rows=tuple(row for row in before.rows if row["k"] not in keys))

    return effect


def _deleting_by_b(of: Callable[[Moment], Model]) -> Effect:
    def effect(before: Model, moment: Moment) -> Model:
        identity = of(moment).identity("b")
        before.require(identity)
        rows = tuple(row for row in before.rows if row.get(identity) != "b.3")
        return replace(before, rows=rows)

    return effect


def _updating_by_b(of: Callable[[Moment], Model]) -> Effect:
    def effect(before: Model, moment: Moment) -> Model:
        b, d = of(moment).identity("b"), of(moment).identity("d")
        before.require(b, d)
        rows = (
            {**row, d: f"by b.{moment.number}"} if row.get(b) == "b.3" else row
            for row in before.rows
        )
        return replace(before, rows=tuple(rows))

    return effect


def _merging(of: Callable[[Moment], Model]) -> Effect:
    def effect(before: Model, moment: Moment) -> Model:
        number, identity = moment.number, of(moment).identity("d")
        before.require(identity)
        rows = [{**row, identity: f"m.{number}"} if row["k"] == 1 else row for row in before.rows]
        rows.append({"k": key_of(number), identity: f"i.{number}"})
        if all(row["k"] != 1 for row in before.rows):
            rows.append({"k": 1, identity: f"i.{number}"})
        return replace(before, rows=tuple(rows))

    return effect


def known(moment: Moment) -> Model:
    return moment.known


def held(moment: Moment) -> Model:
    return moment.held


def _source(number: int) -> str:
    return f"SELECT 1 AS s UNION ALL SELECT {key_of(number)} AS s"


def _merge(stage: Stage, number: int) -> None:
    stage.sql(
        f"MERGE INTO {{t}} t USING ({_source(number)}) ON k = s"
        f" WHEN MATCHED THEN UPDATE SET d = 'm.{number}'"
        f" WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s, 'i.{number}')"
    )


def _held_merge(stage: Stage, number: int) -> None:
    merge = stage.delta_table.alias("t").merge(stage.spark.sql(_source(number)), "t.k = s")
    merge = merge.whenMatchedUpdate(set={"d": f"'m.{number}'"})
    merge.whenNotMatchedInsert(values={"k": "s", "d": f"'i.{number}'"}).execute()


UPDATE = Act(
    "update",
    sql("UPDATE {t} SET d = concat(d, '.{n}') WHERE k % 2 = 1"),
    _updating("d", ".", known),
)
FILL = Act("fill b", sql("UPDATE {t} SET b = 'b.all.{n}'"), _updating("b", None, known))
DELETE = Act("delete", sql("DELETE FROM {t} WHERE k = 3"), _deleting({3}, known))
DELETE_FILE = Act(
    "delete of a file", sql("DELETE FROM {t} WHERE k IN (3, 4)"), _deleting({3, 4}, known)
)
DELETE_BY_B = Act("delete by b", sql("DELETE FROM {t} WHERE b = 'b.3'"), _deleting_by_b(known))
UPDATE_BY_B = Act(
    "update by b",
    sql("UPDATE {t} SET d = 'by b.{n}' WHERE b = 'b.3'"),
    _updating_by_b(known),
)
HELD_DELETE_BY_B = Act(
    "held delete by b",
    lambda stage, number: stage.delta_table.delete("b = 'b.3'"),
    _deleting_by_b(held),
    is_held=True,
)
HELD_UPDATE_BY_B = Act(
    "held update by b",
    lambda stage, number: stage.delta_table.update("b = 'b.3'", {"d": f"'by b.{number}'"}),
    _updating_by_b(held),
    is_held=True,
)
MERGE = Act("merge", _merge, _merging(known))
HELD_UPDATE = Act(
    "held update",
    lambda stage, number: stage.delta_table.update("k % 2 = 1", {"d": f"concat(d, '.{number}')"}),
    _updating("d", ".", held),
    is_held=True,
)
HELD_DELETE = Act(
    "held delete",
    lambda stage, number: stage.delta_table.delete("k = 3"),
    _deleting({3}, held),
    is_held=True,
)
HELD_MERGE = Act("held merge", _held_merge, _merging(held), is_held=True)

# Appends and overwrites.


def _inserting(of: Callable[[Moment], Model] = known) -> Effect:
    def effect(before: Model, moment: Moment) -> Model:
        before.require(*of(moment).identities)
        return before.appended([row_for(moment.number, of(moment))])

    return effect


def _replacing(keys: set[int] | None) -> Effect:
    """Replaces the rows of some keys, or all rows, by one row."""

    def effect(before: Model, moment: Moment) -> Model:
        before.require(*moment.known.identities)
        kept = [row for row in before.rows if keys and row["k"] not in keys]
        new = row_for(moment.number, moment.known, min(keys) if keys else None)
        return replace(before, rows=(*kept, new))

    return effect


def _by_name(stage: Stage, number: int) -> str:
    names = stage.names()[1:]
    values = [f"'{value_of(number, name)}' AS `{name}`" for name in reversed(names)]
    return f"SELECT {', '.join([*values, f'{key_of(number)} AS k'])}"


def _moved_rows(rows: Sequence[Row], number: int) -> list[Row]:
    return [{**row, "k": int(row["k"]) + moved(number)} for row in rows]


def _moved_columns(names: Sequence[str], number: int) -> str:
    return ", ".join([f"k + {moved(number)} AS k", *(f"`{name}`" for name in names[1:])])


def _insert_from_itself(stage: Stage, number: int, kind: str = "INTO") -> None:
    columns = _moved_columns(stage.names(), number)
    stage.sql(f"INSERT {kind} {{t}} SELECT {columns} FROM {{t}}")


def _known_rows(before: Model, known_columns: Model) -> list[Row]:
    """Returns the rows with the columns that the plan knows."""
    before.require(*known_columns.identities)
    return [
        {key: value for key, value in row.items() if key in known_columns.identities}
        for row in before.rows
    ]


def _inserting_itself(before: Model, moment: Moment) -> Model:
    return before.appended(_moved_rows(_known_rows(before, moment.known), moment.number))


def _overwriting_itself(before: Model, moment: Moment) -> Model:
    rows = _moved_rows(_known_rows(before, moment.known), moment.number)
    return replace(before, rows=tuple(rows))


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


def _replacing_as_select(before: Model, moment: Moment) -> Model:
    rows = _moved_rows(_known_rows(before, moment.known), moment.number)
    result = replace(before, columns=moment.known.columns, rows=tuple(rows))
    if before.columns == moment.known.columns and before.is_mapped == moment.known.is_mapped:
        return result
    open_flag = OPEN if before.flag == "false" else before.flag
    return replace(result, is_mapped=None, flag=open_flag)


def _held_rows(stage: Stage, number: int) -> DataFrame:
    names = stage.early_names
    return stage.frame.selectExpr(f"k + {moved(number)} AS k", *(f"`{name}`" for name in names[1:]))


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
    """Writes rows of the columns at the start to the columns at the analysis."""

    def effect(before: Model, moment: Moment) -> Model:
        sources = moment.held.columns
        if by_name:
            targets = [moment.known.identity(column.name) for column in sources]
        else:
            targets = list(moment.known.identities)
            if len(targets) != len(sources):
                raise Impossible("not as many columns")
        before.require(*targets)
        to = dict(zip(moment.held.identities, targets, strict=True))
        rows = _moved_rows(_known_rows(before, moment.held), moment.number)
        carried = [{to[key]: value for key, value in row.items()} for row in rows]
        return replace(before, rows=tuple(carried)) if is_overwrite else before.appended(carried)

    return effect


def _sinking(before: Model, moment: Moment) -> Model:
    """Writes rows by names, which a sink resolves to columns when its batch begins."""
    names = {column.name: before.identity(column.name) for column in moment.known.columns}
    row = {names[name]: value_of(moment.number, name) for name in moment.known.names[1:]}
    return before.appended([{"k": key_of(moment.number), **row}])


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
    """Overwrites the partition of row 3, under the current names of its two columns."""
    others = (f"'{value_of(number, name)}'" for name in stage.names()[3:])
    values = ", ".join([str(key_of(number)), "'b.3'", "'d.3'", *others])
    stage.spark.conf.set(OVERWRITE_MODE, "dynamic")
    try:
        stage.sql(f"INSERT OVERWRITE {{t}} VALUES ({values})")
    finally:
        stage.spark.conf.unset(OVERWRITE_MODE)


def _overwriting_partitions(before: Model, moment: Moment) -> Model:
    before.require(*moment.known.identities)
    partition = dict(zip(moment.known.identities[1:3], ("b.3", "d.3"), strict=True))
    kept = [row for row in before.rows if not partition.items() <= row.items()]
    return replace(before, rows=(*kept, {**row_for(moment.number, moment.known), **partition}))


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

# Reads.


def _with_values(rows: Iterable[SparkRow]) -> list[Row]:
    return [{k: v for k, v in row.asDict().items() if v is not None} for row in rows]


def _read_held(stage: Stage, number: int) -> list[Row]:
    """Reads a held frame joined with a new frame, which Delta resolves first."""
    keys = stage.spark.read.format("delta").load(stage.url).select("k").distinct()
    return _with_values(keys.join(stage.frame, "k").collect())


def _stream(stage: Stage) -> list[Row]:
    """Reads the rows that are new to a stream with a checkpoint."""
    rows: list[Row] = []
    query = (
        stage.spark.readStream.format("delta")
        .load(stage.url)
        .writeStream.foreachBatch(lambda batch, _: rows.extend(_with_values(batch.collect())))
        .option("checkpointLocation", f"{stage.path}-stream")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return rows


def _seeing(all_rows: Sequence[Row], columns: Model, moment: Moment) -> None:
    names = {column.identity: column.name for column in columns.columns}
    there = Counter(
        frozenset((names[key], value) for key, value in row.items() if key in names)
        for row in all_rows
    )
    seen = Counter(frozenset(row.items()) for row in moment.seen)
    if there != seen:
        raise Impossible(f"it saw {seen}, not {there}")


def _reading_held(before: Model, moment: Moment) -> Model:
    before.require(*moment.held.identities)
    _seeing(before.rows, moment.held, moment)
    return before


def _streaming(before: Model, moment: Moment) -> Model:
    """Returns the effect of a stream, which skips old rows and fails if an old row changed."""
    new = list(before.rows)
    for row in moment.held.rows:
        if row not in new:
            raise Impossible(f"the stream does not know that {row} was deleted")
        new.remove(row)
    _seeing(new, moment.known, moment)
    return before


READ_HELD = Act("read of a held frame", _read_held, _reading_held, is_held=True)
STREAM = Act(
    "stream that goes on", lambda stage, number: _stream(stage), _streaming, prepare=_stream
)

# Statements that change no row and no name.

OPTIMIZE = Act("optimize", sql("OPTIMIZE {t}"), nothing)
ZORDER = Act("z-order", sql("OPTIMIZE {t} ZORDER BY (k)"), nothing)
REORG = Act("reorg", sql("REORG TABLE {t} APPLY (PURGE)"), nothing)
PROPERTIES = Act("properties", sql("ALTER TABLE {t} SET TBLPROPERTIES ('p{n}' = 'q')"), nothing)
VACUUM = Act("vacuum", sql("VACUUM {t}"), nothing, has_parts=True)
VACUUM_NOW = Act("vacuum now", sql("VACUUM {t} RETAIN 0 HOURS"), nothing, has_parts=True)

# Columns.


def _renaming(old: str, new: str) -> Effect:
    return lambda before, moment: before.renamed(
        moment.known.identity(old), new.replace("{n}", str(moment.number))
    )


def _dropping(name: str) -> Effect:
    return lambda before, moment: before.without(moment.known.identity(name))


def _adding(name: str) -> Effect:
    def effect(before: Model, moment: Moment) -> Model:
        new = name.replace("{n}", str(moment.number))
        return before.with_column(new, f"{new}@{moment.number}")

    return effect


def _rename(old: str, new: str) -> Act:
    text = f"ALTER TABLE {{t}} RENAME COLUMN {old} TO {new}"
    return Act(f"rename {old} to {new}", sql(text), _renaming(old, new))


def _drop(name: str) -> Act:
    return Act(f"drop {name}", sql(f"ALTER TABLE {{t}} DROP COLUMN {name}"), _dropping(name))


def _add(name: str) -> Act:
    return Act(f"add {name}", sql(f"ALTER TABLE {{t}} ADD COLUMN {name} STRING"), _adding(name))


RENAME = _rename("b", "r{n}")
RENAME_B_ASIDE = _rename("b", "aside")
RENAME_D_TO_B = _rename("d", "b")
RENAME_ASIDE_TO_D = _rename("aside", "d")
DROP_B = _drop("b")
DROP_E = _drop("e")
ADD = _add("f{n}")
ADD_B = _add("b")
ADD_F = _add("f")
FILL_F = Act("fill f", sql("UPDATE {t} SET f = 'f.all.{n}'"), _updating("f", None, known))

# The table as a whole.


def _remove_mapping(stage: Stage, how: str) -> None:
    stage.spark.conf.set(SETTING, how)
    stage.sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ({NONE_MODE})")


def _unmapped(before: Model, moment: Moment) -> Model:
    return replace(before, is_mapped=False)


def _tracked(before: Model, moment: Moment) -> Model:
    if before.is_tracked:
        return before
    flag = OPEN if before.is_mapped is None else str(before.is_mapped).lower()
    return replace(before, flag=flag)


def _restore(stage: Stage, number: int) -> None:
    stage.sql(f"RESTORE TABLE {{t}} TO VERSION AS OF {stage.original.early_version}")


def _clone_over(stage: Stage, number: int) -> None:
    source = f"delta.`{stage.original.path}` VERSION AS OF {stage.original.early_version}"
    stage.sql(f"CREATE OR REPLACE TABLE {{t}} SHALLOW CLONE {source}")


REMOVE_MAPPING = Act(
    "remove by copy", lambda stage, number: _remove_mapping(stage, "copy"), _unmapped
)
REMOVE_BY_DELTA = Act(
    "remove by rewrite", lambda stage, number: _remove_mapping(stage, "rewrite"), _unmapped
)
DROP_MAPPING = Act(
    "drop the mapping feature",
    sql("ALTER TABLE {t} DROP FEATURE columnMapping"),
    _unmapped,
    has_parts=True,
)
MAP = Act(
    "map",
    sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ({NAME_MODE})"),
    lambda before, moment: replace(before, is_mapped=True),
)
TRACK = Act("track", sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ({TRACKED})"), _tracked)
UNTRACK = Act(
    "untrack",
    sql("ALTER TABLE {t} DROP FEATURE columnMappingUsageTracking"),
    lambda before, moment: replace(before, flag=None),
    has_parts=True,
)
RESTORE = Act("restore", _restore, lambda before, moment: before.replaced_by(moment.early))
RESTORE_MAPPED = Act(
    "restore of the mapped version",
    lambda stage, number: stage.sql(
        f"RESTORE TABLE {{t}} TO VERSION AS OF {stage.original.mapped_version}"
    ),
    lambda before, moment: before.replaced_by(moment.mapped),
)
CLONE_OVER = Act("clone over", _clone_over, lambda before, moment: before.replaced_by(moment.early))

WRITERS = (
    UPDATE,
    DELETE,
    DELETE_FILE,
    DELETE_BY_B,
    UPDATE_BY_B,
    MERGE,
    INSERT,
    INSERT_BY_NAME,
    OVERWRITE,
    REPLACE_WHERE,
    INSERT_ITSELF,
    OVERWRITE_ITSELF,
    REPLACE_AS_SELECT,
    HELD_UPDATE,
    HELD_DELETE,
    HELD_DELETE_BY_B,
    HELD_UPDATE_BY_B,
    HELD_MERGE,
    APPEND_HELD,
    OVERWRITE_HELD,
    INSERT_HELD_VIEW,
    INSERT_INTO_HELD_VIEW,
    SINK,
)
KEEPERS = (OPTIMIZE, ZORDER, REORG, PROPERTIES, VACUUM)
CHANGES: tuple[tuple[Act, ...], ...] = (
    (RENAME,),
    (RENAME, ADD_B),
    (RENAME, ADD_B, FILL),
    (DROP_B,),
    (DROP_B, ADD_B),
    (DROP_B, ADD_B, FILL),
    (DROP_E,),
    (RENAME_B_ASIDE, RENAME_D_TO_B, RENAME_ASIDE_TO_D),
    (ADD,),
    (ADD, INSERT),
    (ADD_F, FILL_F),
    (REMOVE_MAPPING,),
    (REMOVE_MAPPING,),
    (REMOVE_MAPPING,),
    (REMOVE_MAPPING, ADD),
    (REMOVE_MAPPING, MAP),
    (DROP_B, REMOVE_MAPPING, ADD_B),
    (DROP_B, REMOVE_MAPPING, ADD_B, MAP),
    (DROP_B, ADD_B, REMOVE_MAPPING),
    (RENAME, REMOVE_MAPPING),
    (REMOVE_BY_DELTA,),
    (REMOVE_BY_DELTA,),
    (DROP_MAPPING,),
    (MAP,),
    (MAP, RENAME),
    (TRACK,),
    (UNTRACK,),
    (RESTORE,),
    (RESTORE, REMOVE_MAPPING),
    (RESTORE_MAPPED,),
    (CLONE_OVER,),
    (REPLACE_AS_SELECT,),
)
"""The scripts of an actor that change names or modes."""
