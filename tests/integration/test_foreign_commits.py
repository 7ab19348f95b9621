# SPDX-License-Identifier: Apache-2.0
"""Reads commits of other writers with unusual lines, as Delta does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

import spark_ext
from tests.integration.foreign_lines import (
    Lines,
    action_that_is_null,
    array_of_actions,
    blank_line,
    blank_lines_around,
    byte_order_mark,
    byte_order_marks,
    carriage_returns,
    escaped_keys,
    file_of,
    half_a_line,
    no_end,
    no_json,
    null,
    number,
    single_quotes,
    statistics_as_objects,
    unknown_action,
    write,
    written,
)
from tests.support.delta_table import Table, refusal
from tests.support.held_statement import HeldStatement, Step
from tests.support.prepared import made_once
from tests.support.releases import PURGES
from tests.support.removal import (
    OPERATION,
    counts,
    data_files,
    insert_one_file,
    live,
    untouched,
)
from tests.support.variants import in_matrix

pytestmark = pytest.mark.without("optimize-write", "auto-compact")

READ: list[Any] = [
    blank_line,
    byte_order_mark,
    array_of_actions,
    *in_matrix(
        blank_lines_around,
        carriage_returns,
        byte_order_marks,
        no_end,
        unknown_action,
        action_that_is_null,
        single_quotes,
        statistics_as_objects,
    ),
]


@made_once
def renamed(table: Table) -> Table:
    """Version 1 adds the only file, in which a column has its former name."""
    table.create_tracked("a INT, b STRING, g INT")
    insert_one_file(table, "(1, 'x', 7), (2, 'y', 7)")
    table.alter("RENAME COLUMN a TO c")
    return table


@pytest.mark.every_variant
@pytest.mark.parametrize("style", READ)
def test_removal_reads_what_delta_reads(table: Table, style: Callable[[Lines], str]) -> None:
    renamed(table)

    with written(table, 1, style):
        assert table.selected("c, b") == [(1, "x"), (2, "y")]
        table.remove_mapping()

    assert table.log.operation == OPERATION
    assert counts(table.log) == (0, 1, 0)
    assert table.selected("c, b") == [(1, "x"), (2, "y")]


@pytest.mark.every_variant
@pytest.mark.parametrize("style", [blank_line, *in_matrix(byte_order_mark, array_of_actions)])
@pytest.mark.parametrize("checksums", [True, False])
def test_dry_run_and_survey_read_what_delta_reads(
    table: Table, style: Callable[[Lines], str], *, checksums: bool
) -> None:
    """Deletes the checksums in one case: the number of files comes from the commits then."""
    renamed(table)
    if not checksums:
        for file in (table.path / "_delta_log").glob("*.crc"):
            file.unlink()

    with written(table, 1, style):
        step = table.usage.remove_column_mapping(dry_run=True, exact=True)[0]
        (surveyed,) = spark_ext.survey(table.spark, str(table.path), progress=None).tables

    assert step.copied is not None
    assert step.copied.num_files == 1
    assert (surveyed.error, surveyed.num_files) == (None, 1)


def test_align_names_reads_what_delta_reads(table: Table) -> None:
    renamed(table)

    with written(table, 1, blank_line):
        aligned = table.usage.align_names().aligned

    assert aligned
    assert table.log.physical_names == {"c": "c", "b": "b", "g": "g"}
    assert table.selected("c, b") == [(1, "x"), (2, "y")]


@PURGES
def test_purge_reads_what_delta_reads(table: Table) -> None:
    renamed(table)
    table.alter("DROP COLUMN g")

    with written(table, 1, blank_line):
        table.purge()

    assert table.log.operation == "REORG"
    assert "-c000" not in table.log.actions("add")[0]["path"]
    assert table.selected() == [(1, "x"), (2, "y")]


@pytest.mark.every_variant
@pytest.mark.parametrize("style", [blank_line, *in_matrix(byte_order_mark, array_of_actions)])
def test_removal_continues_after_a_conflict_that_delta_cannot_read(
    table: Table, style: Callable[[Lines], str]
) -> None:
    """Delta's snapshot reads these lines. Its conflict check parses each line alone, and fails."""
    renamed(table)
    other = Table(table.spark, table.path)

    with HeldStatement(table.spark, lambda: table.remove_mapping(), Step.COMMIT) as held:
        insert_one_file(other, "(9, 'z', 7)")
        file = file_of(table, other.log.version)
        before = file.read_bytes()
        write(file, style(before.decode().splitlines()).encode())
        error = held.release()
    write(file, before)

    assert error is None
    assert table.log.operation == OPERATION
    assert counts(table.log) == (0, 2, 0)
    assert table.selected("c, b") == [(1, "x"), (2, "y"), (9, "z")]
    assert {file.name for file in data_files(table.path)} >= set(live(table.log))


@pytest.mark.every_variant
@pytest.mark.parametrize("style", [byte_order_mark, array_of_actions, *in_matrix(blank_line)])
def test_stale_plan_reads_what_delta_reads(table: Table, style: Callable[[Lines], str]) -> None:
    renamed(table)
    frame = table.frame()
    table.alter("ADD COLUMN n INT")

    with written(table, table.log.version, style):
        rows = frame.collect()

    assert sorted(map(tuple, rows)) == [(1, "x", 7), (2, "y", 7)]


@pytest.mark.every_variant
@pytest.mark.broken_table("file_missing")
@pytest.mark.parametrize(
    ("added", "removed", "is_same"),
    [
        ("{file}", "./{file}", True),
        ("{file}", "{folder}/{file}", False),
        ("{folder}/{file}", "file://{folder}/{file}", True),
    ],
)
def test_audit_compares_paths_as_delta_does(
    table: Table, added: str, removed: str, is_same: bool
) -> None:
    table.create_tracked("a INT")
    insert_one_file(table, "(1)")
    insert_one_file(table, "(2)")
    file = min(live(table.log))

    def path(form: str) -> str:
        return form.format(file=file, folder=quote(str(table.path)))

    add = live(table.log)[file]
    remove = {"deletionTimestamp": 1, "dataChange": True}
    table.log.append_foreign(
        {"remove": {"path": file, **remove}}, {"add": {**add, "path": path(added)}}
    )
    table.log.append_foreign({"remove": {"path": path(removed), **remove}})

    assert len(table.selected()) == (1 if is_same else 2)
    (table.path / file).unlink()
    audited = spark_ext.audit(table.spark, table.path, progress=None).findings
    assert [finding.check for finding in audited] == ([] if is_same else ["file_missing"])


# The omitted columns depend on the time of the call and on the size of the lines.
QUERIES = (
    "SELECT * FROM column_mapping('{}')",
    "SELECT * FROM column_mapping_history('{}')",
    "SELECT * FROM column_mapping_status('{}')",
    "SELECT * EXCEPT (sizeInBytes, earliest) FROM column_mapping_dropped('{}')",
)


@pytest.mark.every_variant
@pytest.mark.parametrize(
    "style",
    [
        byte_order_mark,
        statistics_as_objects,
        escaped_keys,
        *in_matrix(blank_line),
    ],
)
def test_table_functions_read_what_delta_reads(table: Table, style: Callable[[Lines], str]) -> None:
    renamed(table)
    table.alter("DROP COLUMN b")

    def answers() -> list[Any]:
        return [table.spark.sql(query.format(table.name)).collect() for query in QUERIES]

    expected = answers()
    assert all(expected)
    with ExitStack() as stack:
        for version in range(table.log.version + 1):
            stack.enter_context(written(table, version, style))
        findings = spark_ext.audit(table.spark, table.name).findings
        read = answers()

    assert [finding.check for finding in findings] == []
    assert read == expected


@pytest.mark.parametrize("style", [array_of_actions, single_quotes])
def test_table_functions_refuse_lines_that_no_writer_is_known_to_write(
    table: Table, style: Callable[[Lines], str]
) -> None:
    renamed(table)

    with written(table, 0, style):
        for query in QUERIES:
            with refusal("USAGE_TRACKING_UNREADABLE_LOG"):
                table.spark.sql(query.format(table.name)).collect()


@pytest.mark.parametrize("style", [array_of_actions, single_quotes])
@pytest.mark.every_variant
def test_stale_plan_is_refused_when_foreign_commits_changed_its_columns(
    table: Table, style: Callable[[Lines], str]
) -> None:
    """Both versions have equal physical names: only the commits show that `b` was replaced."""
    table.create_tracked("a INT, b STRING, g INT")
    insert_one_file(table, "(1, 'x', 7)")
    held = DeltaTable.forPath(table.spark, str(table.path))
    first = table.log.version + 1
    table.alter("DROP COLUMN b")
    table.alter("ADD COLUMN b STRING AFTER a")
    table.remove_mapping()

    with ExitStack() as stack:
        for version in range(first, table.log.version + 1):
            stack.enter_context(written(table, version, style))
        with refusal("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"):
            held.update(set={"g": "g + 1"})


@pytest.mark.every_variant
@pytest.mark.parametrize("style", [no_json, null, *in_matrix(number, half_a_line)])
def test_error_names_the_line_that_delta_cannot_read(
    spark: SparkSession, tmp_path: Path, style: Callable[[Lines], str]
) -> None:
    """Delta does not fail first: it takes the metadata from the checksum, not from the commits."""
    table = renamed(Table(spark, tmp_path / "a b%20c"))

    with untouched(table), written(table, 1, style):
        with refusal("USAGE_TRACKING_UNREADABLE_LOG") as refused:
            table.remove_mapping()
        with refusal("USAGE_TRACKING_UNREADABLE_LOG"):
            table.usage.remove_column_mapping(dry_run=True, exact=True)

    parameters = refused.value.getMessageParameters()
    assert parameters["path"] == f"file:{table.path}/_delta_log/{1:020}.json"
    assert "line 2" in parameters["reason"]
