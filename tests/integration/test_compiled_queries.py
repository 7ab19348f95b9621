# SPDX-License-Identifier: Apache-2.0
"""Tests tracked tables with queries that Spark compiles, as in sessions of users.

All other tests interpret their queries, because a compilation takes longer than a few rows.
"""

from __future__ import annotations

from tests.support.delta_table import Table
from tests.support.removal import unmap
from tests.support.session_conf import session_conf

COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}


def test_tracked_table_is_changed_read_and_unmapped_by_compiled_queries(table: Table) -> None:
    with session_conf(table.spark, COMPILED):
        table.create_tracked("a INT, b STRING")
        table.insert("(1, 'x'), (2, 'y')")
        table.alter("RENAME COLUMN a TO d")
        table.alter("ADD COLUMN a INT")
        frame = table.frame().where("d = 1")
        assert "*(1)" in frame._jdf.queryExecution().executedPlan().toString()
        assert frame.collect() == [(1, "x", None)]
        assert table.log.flag == "true"

        unmap(table)

        assert table.selected("d, b") == [(1, "x"), (2, "y")]
        assert table.log.written_columns() == ["b", "d"]
