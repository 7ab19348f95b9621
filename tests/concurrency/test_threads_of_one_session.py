# SPDX-License-Identifier: Apache-2.0
"""Statements of several threads of one session, at once and on one table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from delta.exceptions import MetadataChangedException

from tests.support.delta_table import Table
from tests.support.sound_log import assert_sound

THREADS = 5


def test_an_alter_that_was_overtaken_by_a_thread_fails_as_delta_has_it(table: Table) -> None:
    """PySpark knows no condition of it: delta-spark makes the error from the text alone."""
    table.create_tracked(", ".join(f"r{thread} INT" for thread in range(THREADS)))
    together = Barrier(THREADS)

    def run(thread: int) -> list[MetadataChangedException]:
        overtaken = []
        together.wait()
        for change in (
            f"ADD COLUMN a{thread} INT",
            f"RENAME COLUMN r{thread} TO s{thread}",
            f"SET TBLPROPERTIES ('k{thread}' = 'v')",
            f"ADD COLUMN b{thread} INT",
        ):
            try:
                table.alter(change)
            except MetadataChangedException as error:
                overtaken.append(error)
        return overtaken

    with ThreadPoolExecutor(THREADS) as threads:
        overtaken = [error for errors in threads.map(run, range(THREADS)) for error in errors]

    assert overtaken
    assert table.log.version + len(overtaken) == 4 * THREADS
    assert all("[DELTA_METADATA_CHANGED]" in str(error) for error in overtaken)
    assert {error.getCondition() for error in overtaken} == {None}
    assert_sound(table.path)
