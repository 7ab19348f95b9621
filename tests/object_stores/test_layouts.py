# SPDX-License-Identifier: Apache-2.0
"""Tests that a store copies files of other layouts as a local disk does."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.object_stores.requests import Kind
from tests.object_stores.s3 import MIB
from tests.object_stores.store import Store
from tests.object_stores.test_store_copies import remove_both, text_table
from tests.support import parquet_file as parquet
from tests.support.compact_thrift import Struct
from tests.support.delta_table import Table, forget_logs
from tests.support.parquet_file import ParquetFile

# These files are rare, and each takes seconds.
pytestmark = pytest.mark.matrix


def change_data(table: Table, change: Callable[[bytes], bytes]) -> None:
    """Replaces the only data file, and its size in the log."""
    for stale in table.path.rglob("*.crc"):
        stale.unlink()
    for commit in sorted((table.path / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for add in (action["add"] for action in actions if "add" in action):
            file = table.path / add["path"]
            file.write_bytes(change(file.read_bytes()))
            add["size"] = file.stat().st_size
        commit.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    forget_logs(table.spark)


def laid_out(
    data: bytes,
    *,
    lead: int = 0,
    gap: int = 0,
    magic: bytes = parquet.MAGIC,
    is_shuffled: bool = False,
    writer: int = 0,
) -> bytes:
    """Writes a file with its chunks at other offsets and without indexes.

    Args:
        data: The file.
        lead: Bytes before the first chunk.
        gap: Bytes behind each chunk.
        magic: The first four bytes.
        is_shuffled: Whether chunks are in another order than the footer has them.
        writer: Length of the writer's name, which makes the footer long.
    """
    file = ParquetFile.of(data)
    places = [(column, parquet.start(column)) for column in file.columns]
    if is_shuffled:
        random.Random(1).shuffle(places)
    body = bytearray(magic + b"\xaa" * lead)
    for column, start in places:
        by = len(body) - start
        body += file.body[start : start + column[parquet.COMPRESSED]] + b"\xbb" * gap
        move(column, by)
    for group in file.row_groups:
        group.drop(parquet.GROUP_OFFSET)
        for chunk in group[parquet.COLUMNS].items:
            chunk.fields[parquet.FILE_OFFSET] = 0
            for index in (
                *(parquet.OFFSET_INDEX, parquet.OFFSET_INDEX_LENGTH),
                *(parquet.COLUMN_INDEX, parquet.COLUMN_INDEX_LENGTH),
            ):
                chunk.drop(index)
    if writer:
        file.footer.fields[parquet.CREATED_BY] = b"x" * writer
    file.body = bytes(body)
    return file.bytes()


def move(column: Struct, by: int) -> None:
    for offset in (parquet.DATA_PAGE, parquet.INDEX_PAGE, parquet.DICTIONARY_PAGE):
        if column.get(offset):
            column.fields[offset] += by
    for filter_ in (parquet.BLOOM, parquet.BLOOM_LENGTH):
        column.drop(filter_)


CHANGES = ["RENAME COLUMN a TO d", "DROP COLUMNS (id, a)", "DROP COLUMN b"]
LAYOUTS: dict[str, dict[str, Any]] = {
    "without indexes": {},
    "something at the begin": {"lead": 1000},
    "short gaps": {"gap": 7},
    "long gaps": {"gap": 6 * MIB},
    "shuffled": {"is_shuffled": True, "gap": 3, "lead": 1},
    "another begin": {"magic": b"XXXX"},
    "a footer as long as what is read of it": {"writer": 128 << 10},
    "a long footer": {"writer": 7 * MIB},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_store_copies_equal_local_copies_for_every_layout(
    table: Table, store: Store, layout: str, change: str
) -> None:
    text_table(table, megabytes=16, row_group=3 * MIB if change.endswith("b") else 16 * MIB)
    change_data(table, lambda data: laid_out(data, **LAYOUTS[layout]))
    rows = table.frame().count()
    table.alter(change)

    uploaded = remove_both(table, store)

    assert uploaded.counts()[Kind.CREATE_UPLOAD] == 1
    assert len(uploaded.selected()) == rows


@pytest.mark.parametrize("by", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("change", ["RENAME COLUMN a TO d", "DROP COLUMN id"])
def test_store_copies_equal_local_copies_for_about_5_mib(
    table: Table, store: Store, change: str, by: int
) -> None:
    text_table(table, megabytes=4.5)

    def lengthened(data: bytes) -> bytes:
        end = len(ParquetFile.of(laid_out(data)).body)
        return laid_out(data, lead=5 * MIB + by - end)

    change_data(table, lengthened)
    table.alter(change)

    remove_both(table, store)
