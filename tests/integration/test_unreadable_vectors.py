# SPDX-License-Identifier: Apache-2.0
"""Tests that statements fail before a commit if a deletion vector is missing or broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import vectors
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.prepared import made_once
from tests.support.removal import (
    data_files,
    insert_one_file,
    live,
    unmap,
    untouched,
)
from tests.support.session_conf import SetConf
from tests.support.variants import in_matrix

pytestmark = pytest.mark.without("auto-compact", "row-tracking")

VECTORS = "'delta.enableDeletionVectors' = 'true'"
UNREADABLE = "USAGE_TRACKING_UNREADABLE_DATA_FILE"


def missing(file: Path) -> None:
    file.unlink()


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def changed(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:-5] + bytes([content[-5] ^ 1]) + content[-4:])


def of_another_length(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:4] + bytes([content[4] ^ 1]) + content[5:])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


BROKEN = pytest.mark.broken_table("file_missing", "file_unreadable")
BREAKING = pytest.mark.parametrize(
    "break_it", [missing, changed, *in_matrix(cut_short, of_another_length, emptied)]
)


@pytest.fixture
def deleted(table: Table) -> Table:
    """Makes a table of two files with a deletion vector for one row."""
    return with_vector(table)


@made_once
def with_vector(table: Table) -> None:
    table.create("a INT, b STRING, d INT", TRACKED, NAME_MODE, VECTORS)
    insert_one_file(table, "(1, 'x', 7), (2, 'x', 7)")
    insert_one_file(table, "(3, 'y', 8), (4, 'y', 8)")
    table.spark.sql(f"DELETE FROM {table.name} WHERE a = 4")


def vector_file(table: Table) -> Path:
    """Returns the file of the only vector, and removes its checksum file."""
    (add,) = [add for add in live(table.log).values() if "deletionVector" in add]
    file = vectors.file_of(table.path, add["deletionVector"])
    file.with_name(f".{file.name}.crc").unlink()
    return file


def refused(table: Table, file: Path, statement: Callable[[Table], object]) -> None:
    """Asserts that a statement fails with the vector's path, and changes nothing."""
    with untouched(table), table.refusal(UNREADABLE) as refusal:
        statement(table)
    assert file.name in refusal.value.getMessageParameters()["path"]


@pytest.mark.parametrize("break_it", [missing, *in_matrix(cut_short)])
def test_overwrite_gives_up_the_rows_of_a_file_whose_vector_is_lost(
    deleted: Table, conf: SetConf, break_it: Callable[[Path], None]
) -> None:
    """docs/audit.md, "A lost data file"."""
    break_it(vector_file(deleted))
    conf("spark.sql.files.ignoreMissingFiles", "true")
    conf("spark.sql.files.ignoreCorruptFiles", "true")

    deleted.spark.sql(f"INSERT OVERWRITE {deleted.name} SELECT * FROM {deleted.name}")

    assert deleted.rows() == [(1, "x", 7), (2, "x", 7)]


@BREAKING
def test_removal_fails_when_a_vector_is_unreadable(
    deleted: Table, break_it: Callable[[Path], None]
) -> None:
    deleted.alter("RENAME COLUMN b TO c")
    file = vector_file(deleted)
    content = file.read_bytes()
    break_it(file)

    refused(deleted, file, unmap)
    refused(
        deleted,
        file,
        lambda table: table.usage.remove_column_mapping(dry_run=True, exact=True, progress=None),
    )

    file.write_bytes(content)
    unmap(deleted)
    assert deleted.selected("a, c") == [(1, "x"), (2, "x"), (3, "y")]


def test_align_names_fails_when_a_vector_is_unreadable(deleted: Table) -> None:
    deleted.alter("RENAME COLUMN b TO c")
    file = vector_file(deleted)
    content = file.read_bytes()
    changed(file)
    files = data_files(deleted.path)

    with refusal(UNREADABLE) as refused:
        deleted.usage.align_names(progress=None)

    assert file.name in refused.value.getMessageParameters()["path"]
    assert data_files(deleted.path) == files
    assert deleted.log.configuration["delta.columnMapping.mode"] == "name"
    file.write_bytes(content)
    assert deleted.usage.align_names(progress=None).aligned
    assert deleted.selected("a, c") == [(1, "x"), (2, "x"), (3, "y")]


def renamed_back(table: Table) -> None:
    """Makes a table whose data file a removal would keep."""
    table.alter("RENAME COLUMN b TO c")
    table.alter("RENAME COLUMN c TO b")


def without_statistics(table: Table) -> None:
    """Makes a table whose data file Delta would rewrite."""
    table.alter("RENAME COLUMN b TO c")
    (add,) = [add for add in live(table.log).values() if "deletionVector" in add]
    table.log.append_foreign({"add": {**add, "stats": "{}", "dataChange": False}})


@pytest.mark.every_variant
@BROKEN
@pytest.mark.parametrize("change", [renamed_back, without_statistics])
def test_removal_fails_without_the_vector_of_a_file_that_it_does_not_copy(
    deleted: Table, change: Callable[[Table], None]
) -> None:
    change(deleted)
    file = vector_file(deleted)
    file.unlink()

    refused(deleted, file, unmap)


@BROKEN
@BREAKING
def test_purge_fails_when_a_vector_is_unreadable(
    deleted: Table, break_it: Callable[[Path], None]
) -> None:
    deleted.alter("DROP COLUMN d")
    file = vector_file(deleted)
    break_it(file)

    refused(deleted, file, Table.purge)


@BROKEN
def test_metadata_only_removal_reads_no_vector(deleted: Table) -> None:
    vector_file(deleted).unlink()

    log = unmap(deleted)

    assert not log.actions("add")
