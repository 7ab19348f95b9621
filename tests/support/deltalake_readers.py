# SPDX-License-Identifier: Apache-2.0
"""The two ways in which deltalake reads a table."""

from __future__ import annotations

from pathlib import Path

import pyarrow
from deltalake import DeltaTable, QueryBuilder


def read_by_datafusion(path: Path) -> pyarrow.Table:
    """Respects column mapping."""
    query = QueryBuilder().register("t", DeltaTable(str(path))).execute("SELECT * FROM t")
    return pyarrow.table(query)


def read_by_pyarrow(path: Path) -> pyarrow.Table:
    """Ignores column mapping."""
    return DeltaTable(str(path)).to_pyarrow_table()
