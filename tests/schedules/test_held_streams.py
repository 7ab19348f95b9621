# SPDX-License-Identifier: Apache-2.0
"""Holds a running stream while other statements change names, modes or versions.

A batch never mixes two schemas. Each row arrives once, or the stream fails with an error of Delta
and delivers no wrong row.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.schedules.act import Act
from tests.schedules.actors import ScheduleRunner
from tests.schedules.held_streams import STREAMS, Point
from tests.schedules.inserts import INSERT
from tests.schedules.oracle import judge
from tests.schedules.schedule import Move, Schedule
from tests.schedules.scripts import SWAP, Script
from tests.schedules.table_acts import (
    ADD,
    ADD_B,
    ALIGN,
    DROP_B,
    MAP,
    REMOVE_BY_DELTA,
    REMOVE_MAPPING,
    RENAME,
    REORG,
    RESTORE,
    RESTORE_MAPPED,
)
from tests.schedules.table_kinds import Kind
from tests.support.variants import in_matrix

REMOVED: Script = (INSERT, REMOVE_MAPPING, INSERT)
REUSED: Script = (INSERT, MAP, DROP_B, REMOVE_MAPPING, ADD_B, INSERT)
OF_MAPPED: tuple[Script, ...] = (
    REMOVED,
    (INSERT, DROP_B, REMOVE_MAPPING, ADD_B, INSERT),
    (INSERT, ALIGN, INSERT),
    (INSERT, REMOVE_BY_DELTA, INSERT),
    (INSERT, REMOVE_MAPPING, ADD, INSERT),
    (INSERT, REMOVE_MAPPING, MAP, INSERT),
    (INSERT, RENAME, ADD_B, INSERT),
    (INSERT, *SWAP, INSERT),
    (INSERT, DROP_B, ADD_B, INSERT),
    (RESTORE, INSERT),
    (REMOVE_MAPPING, RESTORE, INSERT),
    (INSERT, REORG, INSERT),
)
OF_UNMAPPED: tuple[Script, ...] = (
    REUSED,
    (INSERT, ADD, INSERT),
    (INSERT, MAP, INSERT),
    (INSERT, MAP, ALIGN, INSERT),
    (INSERT, MAP, ADD, REMOVE_MAPPING, INSERT),
    (INSERT, MAP, RENAME, ADD_B, INSERT),
    (RESTORE_MAPPED, INSERT),
)
CHANGES = {"used": OF_MAPPED, "free": OF_MAPPED, "removed": OF_UNMAPPED}
Pair = tuple[Act, Script, str]
CHOSEN: tuple[Pair, ...] = (
    (STREAMS[Point.BETWEEN, False], REMOVED, "used"),
    (STREAMS[Point.CHOSEN, True], REUSED, "removed"),
    (STREAMS[Point.BETWEEN, True], (INSERT, MAP, ADD, REMOVE_MAPPING, INSERT), "removed"),
)
OTHERS: list[Pair] = [
    pair
    for mapping, changes in CHANGES.items()
    for pair in product(STREAMS.values(), changes, [mapping])
    if pair not in CHOSEN
]

pytestmark = pytest.mark.without("auto-compact")


def id_of(pair: Pair) -> str:
    stream, script, mapping = pair
    return f"{stream} - {', '.join(map(str, script))} - {mapping}"


@pytest.fixture
def ended(spark: SparkSession) -> Iterator[None]:
    """Ends the streams of a schedule that failed."""
    yield
    for query in spark.streams.active:
        query.stop()


@pytest.mark.every_variant
@pytest.mark.parametrize("pair", [*CHOSEN, *in_matrix(*((pair,) for pair in OTHERS))], ids=id_of)
def test_held_stream_shows_each_row_once_under_its_names_or_fails(
    spark: SparkSession, runner: ScheduleRunner, ended: None, tmp_path: Path, pair: Pair
) -> None:
    stream, script, mapping = pair
    kind = Kind(
        mapping,
        is_tracked=True,
        has_vectors=mapping == "used",
        has_feed=stream.name.startswith("feed"),
    )
    moves = (Move(1, None), Move(0, None))
    judge(spark, runner.play(Schedule(0, kind, ((stream,), script), moves), tmp_path / "t"))
