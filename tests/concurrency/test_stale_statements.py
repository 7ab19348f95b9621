# SPDX-License-Identifier: Apache-2.0
"""Tests stale statements: SQL that was analysed before another statement changed names.

Most tests hold the statement before it takes its snapshot. If a test holds the statement later,
Delta's own conflict checks apply, and may rebase the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from itertools import repeat

import pytest

from tests.concurrency.statements import named_condition
from tests.support.delta_table import NAME_MODE, TRACKED, Table, in_turn
from tests.support.held_statement import HeldStatement, Step
from tests.support.name_changes import (
    Change,
    drop_and_add,
    nothing,
    remove_mapping,
    rename,
    rename_and_add,
    swap,
)
from tests.support.prepared import made_once
from tests.support.releases import since_delta_4_1
from tests.support.variants import crossed, in_matrix

STALE = "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"
METADATA_CHANGED = "DELTA_METADATA_CHANGED"
ROWS = [(1, "x", "p"), (2, "y", "q")]

READERS = {
    "UPDATE": "UPDATE {t} SET a = a + 1 WHERE a = 1",
    "DELETE": "DELETE FROM {t} WHERE a = 1",
    "MERGE": "MERGE INTO {t} t USING (SELECT 1 AS k) ON a = k WHEN MATCHED THEN UPDATE SET a = 9",
    "INSERT SELECT": "INSERT INTO {t} SELECT * FROM {t}",
    "INSERT OVERWRITE": "INSERT OVERWRITE {t} SELECT * FROM {t}",
    "REPLACE": "CREATE OR REPLACE TABLE {t} USING delta AS SELECT * FROM {t}",
}
VALUES = "INSERT INTO {t} VALUES (3, 'z', 'r')"
INSERTS = {
    "INSERT VALUES": VALUES,
    "INSERT BY NAME": "INSERT INTO {t} BY NAME SELECT 3 AS a, 'z' AS {b}, 'r' AS d",
    "INSERT OVERWRITE VALUES": "INSERT OVERWRITE {t} VALUES (3, 'z', 'r')",
}


@made_once
def create(table: Table, before: Change = nothing, *, is_tracked: bool = True) -> Table:
    vectors = "'delta.enableDeletionVectors' = 'false'"
    table.create(
        "a INT, b STRING, d STRING", NAME_MODE, vectors, *([TRACKED] if is_tracked else [])
    )
    table.insert("(1, 'x', 'p'), (2, 'y', 'q')")
    before(table)
    return table


def run_late(table: Table, statement: str, change: Change, column: str = "b") -> Exception | None:
    """Returns the error of a statement if the change commits between its analysis and its start."""
    [error] = run_all_late(table, [statement], change, column)
    return error


def run_all_late(
    table: Table,
    statements: Iterable[str],
    change: Change,
    column: str = "b",
    steps: Iterable[Step] = repeat(Step.START),
) -> list[Exception | None]:
    """Returns the error of each statement if the change commits while all are held at a step."""
    with ExitStack() as stack:
        held = []
        for statement, step in zip(statements, steps, strict=False):
            run = partial(table.spark.sql, statement.format(t=table.name, b=column))
            held.append(stack.enter_context(HeldStatement(table.spark, run, step)))
        change(table)
        return [each.release() for each in held]


def assert_refused(*errors: Exception | None, condition: str = STALE) -> None:
    for error in errors:
        assert error is not None
        assert named_condition(error) == condition


def test_readers_are_refused_when_mapping_was_removed_since_their_analysis(table: Table) -> None:
    create(table, rename)

    assert_refused(*run_all_late(table, READERS.values(), remove_mapping))

    assert table.rows() == ROWS
    assert table.log.operation == "REMOVE COLUMN MAPPING"


@pytest.mark.parametrize("is_tracked", [True, False])
@pytest.mark.parametrize("statement", READERS)
@pytest.mark.parametrize("change", [drop_and_add, rename_and_add])
def test_reader_is_refused_when_columns_changed_since_its_analysis(
    table: Table, statement: str, change: Change, is_tracked: bool
) -> None:
    create(table, is_tracked=is_tracked)

    assert_refused(run_late(table, READERS[statement], change))

    assert table.selected("a, d") == [(1, "p"), (2, "q")]
    assert table.log.operation == "ADD COLUMNS"


# Without BY NAME, INSERT matches columns by position. Its analysis turns positions into names.


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("statement", "change"), crossed(list(INSERTS), [drop_and_add, rename_and_add, rename])
)
def test_insert_is_refused_when_columns_changed_since_its_analysis(
    table: Table, statement: str, change: Change
) -> None:
    create(table)

    assert_refused(run_late(table, INSERTS[statement], change))

    assert table.selected("a, d") == [(1, "p"), (2, "q")]


@pytest.mark.every_variant
@pytest.mark.parametrize("change", [swap, drop_and_add])
def test_inserts_are_refused_when_columns_changed_before_a_removal(
    table: Table, change: Change
) -> None:
    create(table)

    assert_refused(*run_all_late(table, INSERTS.values(), in_turn(change, remove_mapping)))

    assert table.selected("a") == [(1,), (2,)]


@pytest.mark.every_variant
@pytest.mark.parametrize("change", [swap, drop_and_add])
def test_inserts_analysed_without_mapping_are_refused_when_columns_changed(
    table: Table, change: Change
) -> None:
    table.create("a INT, b STRING, d STRING", TRACKED)
    table.insert("(1, 'x', 'p'), (2, 'y', 'q')")

    def map_and_change(changed: Table) -> None:
        changed.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
        change(changed)

    assert_refused(*run_all_late(table, INSERTS.values(), map_and_change))

    assert table.selected("a") == [(1,), (2,)]


@pytest.mark.every_variant
@pytest.mark.parametrize("change", [swap, drop_and_add])
def test_overwrite_of_partitions_is_refused_when_columns_changed(
    table: Table, conf: Callable[[str, str], None], change: Change
) -> None:
    table.create_tracked("a INT, b STRING, d STRING", partitioned_by="a")
    table.insert("(1, 'x', 'p'), (2, 'y', 'q')")
    conf("spark.sql.sources.partitionOverwriteMode", "dynamic")

    assert_refused(run_late(table, "INSERT OVERWRITE {t} VALUES (1, 'v', 'w')", change))

    assert table.selected("a") == [(1,), (2,)]


@pytest.mark.parametrize("statement", INSERTS)
def test_insert_succeeds_when_mapping_was_removed_since_its_analysis(
    table: Table, statement: str
) -> None:
    create(table, rename)

    error = run_late(table, INSERTS[statement], remove_mapping, column="c")

    assert error is None
    assert table.rows()[-1] == (3, "z", "r")
    assert table.log.physical_names == {"a": None, "c": None, "d": None}


def test_insert_succeeds_when_a_column_was_added_since_its_analysis(table: Table) -> None:
    create(table)

    error = run_late(table, VALUES, lambda t: t.alter("ADD COLUMN e INT"))

    assert error is None
    assert table.rows()[-1] == (3, "z", "r", None)


def test_explained_insert_does_not_affect_later_statements(table: Table) -> None:
    create(table)
    table.spark.sql(f"EXPLAIN INSERT INTO {table.name} VALUES (3, 'z', 'r')")
    drop_and_add(table)

    table.alter("ADD COLUMN e INT")
    table.insert("(3, 'r', 'z', 5)")

    assert table.rows()[-1] == (3, "r", "z", 5)


# Delta rebases files written without column mapping on a commit that enabled column mapping.


def restored_with_other_names(table: Table) -> Change:
    create(table, rename)
    version = table.log.version
    remove_mapping(table)
    return lambda t: t.spark.sql(f"RESTORE TABLE {t.name} TO VERSION AS OF {version}")


def test_inserts_conflict_with_a_restore_to_other_physical_names(table: Table) -> None:
    change = restored_with_other_names(table)

    errors = run_all_late(table, [VALUES] * 2, change, steps=[Step.PREPARE, Step.COMMIT])

    assert_refused(*errors, condition=METADATA_CHANGED)
    assert table.rows() == ROWS


@since_delta_4_1("rebases on no winner that switches mapping on")
def test_insert_is_rebased_when_mapping_was_enabled(table: Table) -> None:
    create(table)
    remove_mapping(table)

    with HeldStatement(table.spark, lambda: table.insert("(3, 'z', 'r')"), Step.COMMIT) as held:
        table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
        error = held.release()

    assert error is None
    assert table.rows() == [*ROWS, (3, "z", "r")]


@pytest.mark.every_variant
@pytest.mark.parametrize("change", [swap, drop_and_add])
def test_inserts_are_refused_or_conflict_when_restore_restored_other_columns(
    table: Table, change: Change
) -> None:
    version = with_other_columns(table, change)

    restore = partial(Table.restore, version=version)
    steps = [Step.START, Step.PREPARE, Step.COMMIT]
    analysed, *begun = run_all_late(table, [VALUES] * 3, restore, steps=steps)

    assert_refused(analysed)
    assert_refused(*begun, condition=METADATA_CHANGED)
    assert table.rows() == ROWS


@pytest.mark.parametrize(("change", "operation"), [(drop_and_add, ""), *in_matrix((swap, "OTHER"))])
def test_insert_conflicts_with_a_restore_of_other_columns_under_another_operation(
    table: Table, change: Change, operation: str
) -> None:
    version = with_other_columns(table, change)

    def restore(restored: Table) -> None:
        restored.restore(version)
        restored.log.rename_operation(operation)

    assert_refused(
        *run_all_late(table, [VALUES], restore, steps=[Step.COMMIT]), condition=METADATA_CHANGED
    )
    assert table.selected("a") == [(1,), (2,)]


def with_other_columns(table: Table, change: Change) -> int:
    """Makes a table with mapping removed after a change. Returns the version before the change."""
    create(table)
    version = table.log.version
    change(table)
    table.alter("ALTER COLUMN b AFTER a")  # otherwise Delta sees that columns changed places
    remove_mapping(table)
    return version


@pytest.mark.every_variant
@pytest.mark.parametrize("is_tracked", [True, False])
def test_insert_is_refused_when_restore_selects_a_version_before_mapping(
    table: Table, is_tracked: bool
) -> None:
    table.create("a INT, b STRING, d STRING", *([TRACKED] if is_tracked else []))
    table.insert("(1, 'x', 'p'), (2, 'y', 'q')")
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    swap(table)

    restore = f"RESTORE TABLE {table.name} TO VERSION AS OF 1"
    assert_refused(run_late(table, VALUES, lambda t: t.spark.sql(restore)))

    assert table.rows() == ROWS


@pytest.mark.every_variant
@pytest.mark.parametrize("change", [swap, rename_and_add])
def test_alters_are_refused_when_their_column_changed(table: Table, change: Change) -> None:
    create(table)
    alters = (
        "DROP COLUMN b",
        "RENAME COLUMN b TO e",
        "ALTER COLUMN b COMMENT 'what it was'",
        "REPLACE COLUMNS (a INT, b STRING COMMENT 'what it was', d STRING)",
    )

    errors = run_all_late(table, [f"ALTER TABLE {{t}} {alter}" for alter in alters], change)

    assert_refused(*errors)
    assert "what it was" not in table.log.metadata["schemaString"]
    assert "b" in table.log.fields


def test_alter_in_another_letter_case_is_refused_when_its_column_changed(table: Table) -> None:
    create(table)
    alters = ["ALTER TABLE {t} DROP COLUMN B", "ALTER TABLE {t} RENAME COLUMN B TO e"]

    assert_refused(*run_all_late(table, alters, drop_and_add))

    assert list(table.log.fields) == ["a", "d", "b"]


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("winner", "columns"),
    [
        ("ADD COLUMN e INT", ["a", "d", "e"]),
        ("RENAME COLUMN d TO e", ["a", "e"]),
        ("DROP COLUMN d", ["a"]),
        ("ALTER COLUMN d FIRST", ["d", "a"]),
    ],
)
def test_drop_succeeds_when_other_columns_changed(
    table: Table, winner: str, columns: list[str]
) -> None:
    create(table)

    error = run_late(table, "ALTER TABLE {t} DROP COLUMN b", lambda t: t.alter(winner))

    assert error is None
    assert list(table.log.fields) == columns


@pytest.mark.every_variant
@pytest.mark.parametrize("winner", ["RENAME COLUMN d TO e", "DROP COLUMN d"])
def test_rename_succeeds_when_other_columns_changed(table: Table, winner: str) -> None:
    create(table)

    error = run_late(table, "ALTER TABLE {t} RENAME COLUMN b TO c", lambda t: t.alter(winner))

    assert error is None
    assert table.selected("a, c") == [(1, "x"), (2, "y")]


NESTED = "a INT, s STRUCT<x INT, y INT>, l ARRAY<STRUCT<x INT, y INT>>"


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("alter", "column"),
    crossed(["DROP COLUMN {c}.x", "RENAME COLUMN {c}.x TO z"], ["s", "l.element"]),
)
def test_alter_of_a_field_depends_on_the_field_and_not_on_its_siblings(
    table: Table, alter: str, column: str
) -> None:
    table.create(NESTED, NAME_MODE, TRACKED)
    statement = f"ALTER TABLE {{t}} {alter.format(c=column)}"

    def drop_and_add_field(changed: Table) -> None:
        changed.alter(f"DROP COLUMN {column}.x")
        changed.alter(f"ADD COLUMN {column}.x INT")

    assert_refused(run_late(table, statement, drop_and_add_field))
    beside = f"RENAME COLUMN {column}.y TO w"
    assert run_late(table, statement, lambda t: t.alter(beside)) is None


def test_alter_of_a_struct_depends_on_its_fields(table: Table) -> None:
    table.create(NESTED, NAME_MODE, TRACKED)

    def drop_and_add_field(changed: Table) -> None:
        changed.alter("DROP COLUMN s.x")
        changed.alter("ADD COLUMN s.x INT")

    alters = ["ALTER COLUMN s COMMENT 'of then'", "RENAME COLUMN s TO z"]
    statements = [f"ALTER TABLE {{t}} {alter}" for alter in alters]
    assert_refused(*run_all_late(table, statements, drop_and_add_field))

    assert table.log.operation == "ADD COLUMNS"
