# SPDX-License-Identifier: Apache-2.0
"""Several processes write to one table at once."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from custom_sessions import our_jar, resolved_jars
from delta_table import Table
from driver_processes import write_along
from sound_log import assert_sound, in_order, rows_in_files, rows_in_table

WRITERS = 3


def test_nothing_is_lost_when_several_drivers_append_add_and_rename(
    table: Table, tmp_path: Path
) -> None:
    table.create_tracked("id INT")
    jars = [*resolved_jars(table.spark), our_jar()]

    with ProcessPoolExecutor(WRITERS, mp_context=get_context("spawn")) as processes:
        running = [
            processes.submit(write_along, tmp_path, jars, table.path, writer, WRITERS)
            for writer in range(WRITERS)
        ]
        written = [process.result() for process in running]

    log = table.log
    rows = in_order(row for one in written for row in one.rows)
    assert_sound(table.path)
    assert log.version == sum(one.commits for one in written)
    assert log.flag == "true"
    assert set(log.ids) == {"id"}.union(*(one.columns for one in written))
    assert rows_in_files(log) == rows
    assert rows_in_table(table.spark.sql(f"SELECT * FROM {table.name}").collect()) == rows
