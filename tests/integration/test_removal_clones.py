# SPDX-License-Identifier: Apache-2.0
"""Tests that a shallow clone needs no file of its source after a removal by byte copy."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spark_ext
from tests.support import vectors
from tests.support.delta_table import NAME_MODE, TRACKED, Table, forget_logs
from tests.support.prepared import made_once
from tests.support.removal import (
    Action,
    data_files,
    files_of,
    insert_one_file,
    live,
    local,
    pairs,
    unmap,
    untouched,
    with_inline_vectors,
)
from tests.support.variants import in_matrix

pytestmark = pytest.mark.without("auto-compact", "deletion-vectors", "row-tracking")

ROWS = [(a, f"x{a}") for a in range(12) if a % 4 != 1 and a != 6]


@pytest.fixture
def source(table: Table) -> Table:
    return with_vectors(table)


@made_once
def with_vectors(table: Table) -> None:
    """Makes three files of four rows. Deletes a row of each, and then one more row of a file."""
    properties = "'delta.enableDeletionVectors' = 'true'", "'delta.enableRowTracking' = 'true'"
    table.create("a INT, b STRING", TRACKED, NAME_MODE, *properties)
    for first in (0, 4, 8):
        rows = ", ".join(f"({a}, 'x{a}')" for a in range(first, first + 4))
        insert_one_file(table, rows)
    table.spark.sql(f"DELETE FROM {table.name} WHERE a % 4 = 1")
    table.spark.sql(f"DELETE FROM {table.name} WHERE a = 6")


@pytest.fixture
def clone(source: Table, tmp_path: Path) -> Table:
    source.alter("RENAME COLUMN b TO c")
    return source.clone(tmp_path / "clone")


def row_ids(table: Table) -> list[tuple[object, ...]]:
    return table.selected("*, _metadata.row_id, _metadata.row_commit_version")


def move_away(table: Table) -> None:
    """Makes the files of a table unreachable."""
    table.path.rename(table.path.with_name(f"{table.path.name}-elsewhere"))


def vectors_of(table: Table) -> list[Action]:
    return [add["deletionVector"] for add in live(table.log).values() if "deletionVector" in add]


def vector_files(table: Table) -> set[Path]:
    return set(table.path.rglob("deletion_vector_*.bin"))


def assert_alike(old: Path, before: dict[str, Any], new: Path, now: dict[str, Any]) -> None:
    """Asserts that the vector was copied, and that its descriptor differs only in the place."""
    changing = {"storageType", "pathOrInlineDv", "offset"}
    for key in (before.keys() | now.keys()) - changing:
        assert before[key] == now[key], key
    assert vectors.problem(new, now) is None
    found = vectors.read(vectors.file_of(new, now), now["offset"])
    assert found == vectors.read(vectors.file_of(old, before), before["offset"])
    assert vectors.file_of(new, now).read_bytes()[0] == 1


def test_removal_in_a_clone_copies_deletion_vectors_of_the_source(
    source: Table, clone: Table
) -> None:
    assert len(vectors_of(clone)) == 3 > len(vector_files(source))
    assert {vector["storageType"] for vector in vectors_of(clone)} == {"p"}
    before, files = row_ids(clone), {each: each.read_bytes() for each in data_files(source.path)}

    log = unmap(clone)

    assert files_of(log) == "0 3 0"
    for old, new in pairs(log):
        assert new["deletionVector"]["storageType"] == "u"
        assert_alike(source.path, old["deletionVector"], clone.path, new["deletionVector"])
    assert len(vector_files(clone)) == 3
    assert {each: each.read_bytes() for each in data_files(source.path)} == files
    move_away(source)
    assert sorted(clone.rows()) == ROWS
    assert row_ids(clone) == before
    clone.vacuum_at_once()
    assert sorted(clone.rows()) == ROWS


def test_vectors_that_a_killed_driver_copied_are_counted_in_the_report(
    clone: Table, tmp_path: Path
) -> None:
    """The folder contains the copies of a removal, and its log does not name them."""
    killed = tmp_path / "killed"
    shutil.copytree(clone.path, killed)
    unmap(clone)
    copies = [*clone.path.glob("part-*.parquet"), *vector_files(clone)]
    for file in copies:
        shutil.copy(file, killed)
    (killed / f"deletion_vector_{uuid.uuid4()}.bin").write_bytes(b"of a DELETE that failed")

    report = spark_ext.remove_column_mapping(clone.spark, killed, progress=None)

    (found,) = report.tables
    assert (found.outcome, len(copies)) == ("DONE", 3 + 3)
    sizes = [file.stat().st_size for file in copies]
    assert found.leftovers == spark_ext.FileCount(len(sizes), sum(sizes))


def test_own_files_and_deletion_vectors_of_a_clone_are_kept(source: Table, tmp_path: Path) -> None:
    source.alter("RENAME COLUMN b TO c")
    source.alter("RENAME COLUMN c TO b")  # every file has logical names
    clone = source.clone(tmp_path / "clone")
    insert_one_file(clone, "(20, 'x20'), (21, 'x21')")
    clone.spark.sql(f"DELETE FROM {clone.name} WHERE a IN (0, 20)")
    own = [vector for vector in vectors_of(clone) if vector["storageType"] == "u"]

    assert files_of(unmap(clone)) == "1 3 0"

    assert len(own) == 2
    assert all(vector in vectors_of(clone) for vector in own)
    move_away(source)
    assert sorted(clone.rows()) == [*ROWS[1:], (21, "x21")]


def test_inline_deletion_vectors_are_kept(source: Table, tmp_path: Path) -> None:
    source.alter("RENAME COLUMN b TO c")
    with_inline_vectors(source)
    clone = source.clone(tmp_path / "clone")
    before = vectors_of(clone)

    unmap(clone)

    assert sorted(vectors_of(clone), key=repr) == sorted(before, key=repr)
    assert not vector_files(clone)
    move_away(source)
    assert sorted(clone.rows()) == ROWS


def randomize_and_unmap(clone: Table) -> None:
    clone.alter("SET TBLPROPERTIES ('delta.randomizeFilePrefixes' = 'true')")
    folders = {local(clone.path, path).parent for path in live(unmap(clone))}
    assert {file.parent for file in vector_files(clone)} == folders != {clone.path}


def clone_and_unmap(clone: Table) -> None:
    third = clone.clone(clone.path.with_name("third"))
    unmap(third)
    move_away(clone)
    third.path.rename(clone.path)


@pytest.mark.parametrize(
    "act",
    in_matrix(
        randomize_and_unmap,
        clone_and_unmap,
        lambda clone: clone.usage.align_names(progress=None),
    ),
)
def test_vectors_are_copied_in_other_ways(
    source: Table, clone: Table, act: Callable[[Table], object]
) -> None:
    act(clone)

    move_away(source)
    assert sorted(clone.rows()) == ROWS


@pytest.mark.broken_table("file_missing")
def test_failed_removal_deletes_its_copies_of_deletion_vectors(source: Table, clone: Table) -> None:
    (*_, last) = live(clone.log).values()
    local(clone.path, last["path"]).unlink()

    with untouched(clone), clone.refusal("USAGE_TRACKING_UNREADABLE_DATA_FILE"):
        unmap(clone)

    assert data_files(clone.path) == set()


def test_relative_path_to_a_file_outside_of_the_table_is_copied(
    table: Table, tmp_path: Path
) -> None:
    source = Table(table.spark, tmp_path / "source").create("a INT, b INT", TRACKED, NAME_MODE)
    source.alter("DROP COLUMN b")
    insert_one_file(source, "(1)")
    table.spark.sql(f"CREATE TABLE {table.name} SHALLOW CLONE {source.name}")
    commit = table.path / "_delta_log" / f"{0:020}.json"
    text, count = re.subn('"path":"[^"]*/source/', '"path":"../source/', commit.read_text())
    commit.write_text(text)
    commit.with_name(f".{commit.name}.crc").unlink()
    for checkpoint in commit.parent.glob("*checkpoint*"):
        checkpoint.unlink()
    forget_logs(table.spark)
    assert (count, table.selected()) == (1, [(1,)])

    log = unmap(table)

    assert files_of(log) == "0 1 0"
    assert not any(".." in file for file in log.live_files)
    assert table.selected() == [(1,)]
