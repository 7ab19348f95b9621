# SPDX-License-Identifier: Apache-2.0
"""Tests that a copy allocates memory for the footer and a buffer, and not for the whole file."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.parquet.columns import Column, plan
from tests.parquet.renamer import BY, Renamer

pytestmark = pytest.mark.every_variant  # each takes well under a second

MIB = 1 << 20
A, B = Column(1, "col-a", "a", pa.binary()), Column(2, "col-b", "b", pa.binary())


def write(path: Path, mebibytes: int) -> None:
    """Writes one row group of two columns of incompressible bytes."""
    bits = Random(1)
    values = [bits.randbytes(MIB // 2) for _ in range(mebibytes)]
    table = pa.table({"col-a": values, "col-b": values})
    pq.write_table(table, path, use_dictionary=False, write_statistics=False)


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("columns", [(A, B), (A,)], ids=["renamed", "dropped"])
def test_memory_does_not_grow_with_the_file(
    renamer: Renamer, tmp_path: Path, columns: tuple[Column, ...], by: str
) -> None:
    threads = renamer.jvm.java.lang.management.ManagementFactory.getThreadMXBean()

    def allocated(mebibytes: int) -> int:
        source = tmp_path / f"{mebibytes}.parquet"
        write(source, mebibytes)
        before = threads.getCurrentThreadAllocatedBytes()
        copied = renamer.copy(source, tmp_path / f"copy-{mebibytes}", plan(columns), by=by)
        assert copied.way == "COPIED"
        return int(threads.getCurrentThreadAllocatedBytes() - before)

    allocated(1)  # this call loads the classes
    assert allocated(64) < allocated(8) + 2 * MIB
