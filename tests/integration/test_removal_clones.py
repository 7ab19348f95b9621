# SPDX-License-Identifier: Apache-2.0
"""Tests that a shallow clone needs no file of its source after a removal by byte copy."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest

import spark_ext
from tests.support import vectors
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.prepared import made_once
from tests.support.removal import (
    Action,
    counts,
    data_files,
    insert_one_file,
    live,
    local,
    pairs,
    unmap,
    untouched,
    with_inline_vectors,
)

pytestmark = pytest.mark.without("auto-compact", "deletion-vectors", "row-tracking")

VECTORS = "'delta.enableDeletionVectors' = 'true'"
ROW_TRACKING = "'delta.enableRowTracking' = 'true'"
UNREADABLE = "USAGE_TRACKING_UNREADABLE_DATA_FILE"
ROWS = [(a, f"x{a}") for a in range(12) if a % 4 != 1 and a != 6]


@pytest.fixture
def source(table: Table) -> Table:
    return with_vectors(table)


@made_once
def with_vectors(table: Table) -> None:
    """Makes three files of four rows. Deletes a row of each, and then one more row of a file."""
    table.create("a INT, b STRING", TRACKED, NAME_MODE, VECTORS, ROW_TRACKING)
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
    table.path.rename(table.path.with_name("elsewhere"))


def vectors_of(table: Table) -> list[Action]:
    found = [add.get("deletionVector") for add in live(table.log).values()]
    return [vector for vector in found if vector]


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
    shared = {vectors.path_of(vector) for vector in vectors_of(source)}
    assert len(vectors_of(clone)) == 3 > len(shared)
    assert {vector["storageType"] for vector in vectors_of(clone)} == {"p"}
    before = row_ids(clone)

    log = unmap(clone)

    assert counts(log) == (0, 3, 0)
    for old, new in pairs(log):
        assert new["deletionVector"]["storageType"] == "u"
        assert_alike(source.path, old["deletionVector"], clone.path, new["deletionVector"])
    assert len(vector_files(clone)) == 3
    move_away(source)
    assert sorted(clone.rows()) == ROWS
    assert row_ids(clone) == before


def test_clone_is_readable_after_purge_and_vacuum_of_its_source(
    source: Table, clone: Table
) -> None:
    unmap(clone)

    source.purge()
    source.vacuum_at_once()

    assert not vector_files(source)
    assert sorted(clone.rows()) == ROWS
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


def test_deletion_vectors_of_the_clone_are_kept(source: Table, clone: Table) -> None:
    clone.spark.sql(f"DELETE FROM {clone.name} WHERE a = 0")
    (own,) = [vector for vector in vectors_of(clone) if vector["storageType"] == "u"]

    unmap(clone)

    assert own in vectors_of(clone)
    assert len(vector_files(clone)) == 3
    move_away(source)
    assert sorted(clone.rows()) == ROWS[1:]


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


@pytest.mark.matrix
def test_file_with_logical_names_is_copied_with_its_deletion_vector(
    source: Table, tmp_path: Path
) -> None:
    insert_one_file(source, "(20, 'x20')")
    source.alter("RENAME COLUMN b TO c")
    source.alter("RENAME COLUMN c TO b")
    clone = source.clone(tmp_path / "clone")

    assert counts(unmap(source)) == (4, 0, 0)
    assert counts(unmap(clone)) == (0, 4, 0)

    move_away(source)
    assert sorted(clone.rows()) == [*ROWS, (20, "x20")]


def test_file_and_deletion_vector_of_the_clone_are_kept(source: Table, tmp_path: Path) -> None:
    source.alter("RENAME COLUMN b TO c")
    source.alter("RENAME COLUMN c TO b")
    clone = source.clone(tmp_path / "clone")
    insert_one_file(clone, "(20, 'x20'), (21, 'x21')")
    clone.spark.sql(f"DELETE FROM {clone.name} WHERE a = 20")

    assert counts(unmap(clone)) == (1, 3, 0)

    move_away(source)
    assert sorted(clone.rows()) == [*ROWS, (21, "x21")]


@pytest.mark.matrix
def test_removal_in_a_clone_of_a_clone_copies_deletion_vectors(
    source: Table, clone: Table, tmp_path: Path
) -> None:
    clone.spark.sql(f"DELETE FROM {clone.name} WHERE a = 0")
    third = clone.clone(tmp_path / "third")

    unmap(third)

    move_away(source)
    clone.path.rename(tmp_path / "gone")
    assert sorted(third.rows()) == ROWS[1:]


@pytest.mark.matrix
def test_deletion_vectors_are_copied_into_random_folders(source: Table, clone: Table) -> None:
    clone.alter("SET TBLPROPERTIES ('delta.randomizeFilePrefixes' = 'true')")

    log = unmap(clone)

    folders = {local(clone.path, path).parent for path in live(log)}
    assert {file.parent for file in vector_files(clone)} == folders != {clone.path}
    move_away(source)
    assert sorted(clone.rows()) == ROWS


@pytest.mark.matrix
def test_align_names_copies_deletion_vectors(source: Table, clone: Table) -> None:
    clone.usage.align_names(progress=None)

    move_away(source)
    assert sorted(clone.rows()) == ROWS


@pytest.mark.broken_table("file_missing")
def test_failed_removal_deletes_its_copies_of_deletion_vectors(source: Table, clone: Table) -> None:
    (*_, last) = live(clone.log).values()
    local(clone.path, last["path"]).unlink()
    before = data_files(clone.path)

    with untouched(clone), clone.refusal(UNREADABLE):
        unmap(clone)

    assert data_files(clone.path) == before == set()
