# SPDX-License-Identifier: Apache-2.0
"""Tests several processes that write to one table."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.concurrency.driver_processes import Written, write_beside_others
from tests.support.custom_sessions import our_jar, resolved_jars
from tests.support.delta_table import Table
from tests.support.table_files import in_order, rows_in_files, rows_in_table
from tests.support.table_log import TableLog

WRITERS = 3


@pytest.mark.matrix
def test_nothing_is_lost_when_several_drivers_append_add_rename_and_drop(
    table: Table, tmp_path: Path
) -> None:
    table.create_tracked("id INT")
    jars = [*resolved_jars(table.spark), our_jar()]

    with ProcessPoolExecutor(WRITERS, mp_context=get_context("spawn")) as processes:
        running = [
            processes.submit(write_beside_others, tmp_path, jars, table.path, writer, WRITERS)
            for writer in range(WRITERS)
        ]
        written = [process.result() for process in running]

    log = table.log
    rows = in_order(row for one in written for row in one.rows)
    assert log.version == sum(one.commits for one in written)
    assert_wrote_at_once(log, written)
    assert (log.is_tracked, log.flag) == (True, "true")
    assert set(log.ids) == {"id"}.union(*(one.columns for one in written))
    assert rows_in_files(log) == rows
    assert rows_in_table(table.spark.sql(f"SELECT * FROM {table.name}").collect()) == rows


def assert_wrote_at_once(log: TableLog, written: list[Written]) -> None:
    """Asserts that commits of the writers alternate, and that conflicts occurred."""
    assert sum(one.lost for one in written) > 0
    writers = [log.at(version).actions("commitInfo")[0] for version in range(1, log.version + 1)]
    signatures = [info["userMetadata"] for info in writers]
    assert len(set(signatures)) == WRITERS
    turns_between_writers = sum(one != other for one, other in pairwise(signatures))
    assert turns_between_writers > WRITERS - 1
