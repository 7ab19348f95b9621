# SPDX-License-Identifier: Apache-2.0
"""Reads a table by deltalake in its two ways."""

from __future__ import annotations

from pathlib import Path

import pyarrow
from deltalake import DeltaTable, QueryBuilder


def read_by_datafusion(path: Path) -> pyarrow.Table:
    """Reads through DataFusion, which respects column mapping."""
    query = QueryBuilder().register("t", DeltaTable(str(path))).execute("SELECT * FROM t")
    return pyarrow.table(query)


def read_by_pyarrow(path: Path) -> pyarrow.Table:
    """Reads through pyarrow, which ignores column mapping."""
    return DeltaTable(str(path)).to_pyarrow_table()
