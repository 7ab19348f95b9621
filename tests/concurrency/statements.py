# SPDX-License-Identifier: Apache-2.0
"""Contains the statements that race, and the effect of each on a table.

The effects follow the RFC and the meaning of the statements, not our rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_ext import UsageTracking
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.flat_tables import renamed, replaced, with_column, with_rows, without
from tests.support.reference_model import Column, Row, State

NONE_MODE = "'delta.columnMapping.mode' = 'none'"
EARLY_VERSION = 1
EARLY_COLUMNS = (Column("a", "INT", key="a"), Column("b", "STRING", key="b"))
EARLY_ROWS: tuple[Row, ...] = ({"a": 1, "b": "x"}, {"a": 2, "b": "y"})
LATE_ROW: Row = {"a": 3, "b": "z", "c": 30}


@dataclass(frozen=True)
class Kind:
    """Describes a table at the start of a race."""

    is_tracked: bool = True
    is_mapped: bool = True
    is_empty: bool = False
    is_used: bool = False
    """A column was renamed: the flag is true, and a name in the files differs."""

    @property
    def state(self) -> State:
        early = State(EARLY_COLUMNS, "name" if self.is_mapped else "none", self.is_tracked)
        state = with_rows(early.created(), EARLY_ROWS)
        state = with_column(state, "x" if self.is_used else "c", "c", "INT")
        state = renamed(state, "c", "c") if self.is_used else state
        return state.rewritten(() if self.is_empty else (*EARLY_ROWS, LATE_ROW))


@dataclass(frozen=True)
class Statement:
    """Describes a statement. `run` gets whether the table has column mapping."""

    name: str
    run: Callable[[Table, bool], object]
    effect: Callable[[State], State]

    def __str__(self) -> str:
        return self.name


class Tables:
    """Copies tables. The original of each kind is made once."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self._spark = spark
        self._home = home

    def copy(self, kind: Kind, path: Path) -> Table:
        copytree(self._original(kind), path)
        return Table(self._spark, path)

    def _original(self, kind: Kind) -> Path:
        path = self._home / f"{kind.is_tracked}-{kind.is_mapped}-{kind.is_empty}-{kind.is_used}"
        if not path.exists():
            self._make(Table(self._spark, path), kind)
        return path

    def _make(self, table: Table, kind: Kind) -> None:
        wanted = {TRACKED: kind.is_tracked, NAME_MODE: kind.is_mapped}
        table.create("a INT, b STRING", *(name for name, is_wanted in wanted.items() if is_wanted))
        table.insert("(1, 'x'), (2, 'y')")
        assert table.log.version == EARLY_VERSION
        table.alter(f"ADD COLUMN {'x' if kind.is_used else 'c'} INT")
        if kind.is_used:
            table.alter("RENAME COLUMN x TO c")
        table.insert("(3, 'z', 30)")
        if kind.is_empty:
            self._spark.sql(f"DELETE FROM {table.name}")


def _append_with_new_column(table: Table, is_mapped: bool) -> None:
    row = table.spark.sql("SELECT 8 AS a, 'v' AS b, 80 AS c, 800 AS d")
    writer = row.write.format("delta").mode("append").option("mergeSchema", "true")
    writer.save(str(table.path))


def _replace(table: Table, is_mapped: bool) -> None:
    properties = f"TBLPROPERTIES ({NAME_MODE})" if is_mapped else ""
    table.spark.sql(
        f"CREATE OR REPLACE TABLE {table.name} USING delta {properties} AS SELECT 7 AS a, 'r' AS b"
    )


def create_as_select(table: Table, verb: str = "CREATE") -> None:
    table.spark.sql(
        f"{verb} TABLE {table.name} USING delta TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
        " AS SELECT 7 AS a, 'r' AS b"
    )


def _clone_over(table: Table, is_mapped: bool) -> None:
    # Only an empty table may be cloned over. The source is a similar table, at a version with rows.
    source = table.path.with_name(f"{table.path.name}-source")
    table.spark.sql(
        f"CREATE OR REPLACE TABLE {table.name} "
        f"SHALLOW CLONE delta.`{source}` VERSION AS OF {EARLY_VERSION}"
    )


def _early(state: State) -> State:
    """Returns the early version of a table that has the mode and the feature from its start."""
    early = State(EARLY_COLUMNS, state.mode, state.is_tracked).created()
    return early.rewritten(EARLY_ROWS)


def _replaced(state: State) -> State:
    return replaced(state, _early(state), state.mode, [{"a": 7, "b": "r"}])


def _altering(change: str) -> Callable[[Table, bool], None]:
    return lambda table, is_mapped: table.alter(change)


APPEND = Statement(
    "append",
    lambda table, is_mapped: table.insert("(9, 'w', 90)"),
    lambda state: with_rows(state, [{"a": 9, "b": "w", "c": 90}]),
)
APPEND_WITH_NEW_COLUMN = Statement(
    "append with mergeSchema",
    _append_with_new_column,
    lambda state: with_rows(
        with_column(state, "d", "d", "INT"), [{"a": 8, "b": "v", "c": 80, "d": 800}]
    ),
)
RENAME = Statement(
    "rename", _altering("RENAME COLUMN b TO e"), lambda state: renamed(state, "b", "e")
)
DROP = Statement("drop", _altering("DROP COLUMN c"), lambda state: without(state, "c"))
ADD = Statement(
    "add",
    _altering("ADD COLUMN f INT"),
    lambda state: with_column(state, "f", "f", "INT"),
)
ENABLE_TRACKING = Statement(
    "enable tracking",
    _altering(f"SET TBLPROPERTIES ({TRACKED})"),
    State.tracking_enabled,
)
ENABLE_MAPPING = Statement(
    "enable mapping",
    _altering(f"SET TBLPROPERTIES ({NAME_MODE})"),
    lambda state: state if state.is_mapped else state.mapping_enabled(),
)
REMOVE_MAPPING = Statement(
    "remove mapping",
    _altering(f"SET TBLPROPERTIES ({NONE_MODE})"),
    State.mapping_disabled,
)
RESTORE = Statement(
    "restore",
    lambda table, is_mapped: table.spark.sql(
        f"RESTORE TABLE {table.name} TO VERSION AS OF {EARLY_VERSION}"
    ),
    lambda state: state.restored(_early(state)),
)
REPLACE = Statement("replace", _replace, _replaced)
CLONE_OVER = Statement("clone over", _clone_over, lambda state: _early(state).cloned_over(state))
CREATE_AS_SELECT = Statement(
    "create as select",
    lambda table, is_mapped: create_as_select(table),
    lambda state: _early(state).rewritten([{"a": 7, "b": "r"}]),
)
DROP_MAPPING_FEATURE = Statement(
    "drop the mapping feature",
    _altering("DROP FEATURE columnMapping"),
    State.mapping_disabled,
)

ALIGN = Statement(
    "align",
    lambda table, is_mapped: UsageTracking.forName(table.spark, table.name).align_names(
        progress=None
    ),
    State.aligned,
)

# The statements that race. Each makes one commit on an existing table.
STATEMENTS = (
    APPEND,
    APPEND_WITH_NEW_COLUMN,
    RENAME,
    DROP,
    ADD,
    ENABLE_TRACKING,
    ENABLE_MAPPING,
    REMOVE_MAPPING,
    RESTORE,
    REPLACE,
    CLONE_OVER,
)


def kind_for(*statements: Statement) -> Kind:
    """Returns a kind of table on which all statements are possible. Its flag is false or absent.

    ENABLE_MAPPING changes nothing on a mapped table. RENAME, DROP and REMOVE_MAPPING need a mapped
    table, so ENABLE_MAPPING may run on one beside them.
    """
    needs_mapping = {RENAME, DROP, REMOVE_MAPPING}.intersection(statements)
    return Kind(
        is_tracked=ENABLE_TRACKING not in statements,
        is_mapped=ENABLE_MAPPING not in statements or bool(needs_mapping),
        is_empty=CLONE_OVER in statements,
    )


def named_condition(error: BaseException) -> str | None:
    """Returns the condition without subclass. Exceptions of Delta have it in the text only."""
    text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    named = re.match(r"\[([A-Z_]+)(\.[A-Z_]+)?\]", text)
    return named[1] if named else None
