# SPDX-License-Identifier: Apache-2.0
"""Contains running streams that are held within a batch or between two batches.

A stream starts before the schedule, and is held in its first batch. Afterwards the same query runs
on. If it stops with an error of Delta or the plugin, it starts again from its checkpoint.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable
from enum import Enum
from itertools import product
from typing import Any, ClassVar

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from tests.schedules.act import Act, Moment, NamedRow, Stage
from tests.schedules.reads import OPEN_COST, PARTITION_SIZE
from tests.support.flat_tables import Impossible, names
from tests.support.reference_model import Row, State
from tests.support.session_conf import session_conf
from tests.support.waiting import PATIENCE, wait_until

HOLD = "late.hold"
"""The property of the storage `late:` whose value runs once, after a stream chose a batch."""
OF_DELTA = re.compile(r"\[(DELTA|USAGE_TRACKING)_")
CHANGE_TYPE = "_change_type"
IS_LATER = "_is_later"
"""Marks the rows that a stream delivered after it started again."""


class Point(Enum):
    """Names the points at which a stream can be held, in order."""

    CHOSEN = "with a chosen batch"  # latestOffset was called, and getBatch was not
    PLANNED = "with a planned batch"  # getBatch was called, and no file was read
    BEGUN = "after a file of a batch"
    BETWEEN = "between two batches"


class HeldStream:
    """Runs a stream, and collects the rows of each batch."""

    def __init__(self, stage: Stage, point: Point, is_feed: bool) -> None:
        self._stage = stage
        self._point = point
        self._is_later = False
        self._is_held = threading.Event()
        self._may_run = threading.Event()
        self._batches: dict[int, list[NamedRow]] = {}
        options: dict[str, Any] = {"readChangeFeed": is_feed, "skipChangeCommits": not is_feed}
        first = {"free": 0, "removed": stage.original.mapped_version}
        if stage.kind.mapping in first:  # reads commits instead of the first snapshot
            options["startingVersion"] = first[stage.kind.mapping]
        if point is Point.BETWEEN:
            options["maxFilesPerTrigger"] = 1
        self._options = options
        if point is Point.CHOSEN:
            jvm: Any = stage.spark._jvm
            jvm.java.lang.System.getProperties()[HOLD] = _Runnable(lambda: self._at(point))
        with session_conf(stage.spark, {OPEN_COST: PARTITION_SIZE}):
            self._query = self._start(processingTime="0 seconds")
        wait_until(lambda: self._is_held.is_set() or not self._query.isActive, f"held {point}")
        assert self._is_held.is_set(), f"not held {point}: {self._query.exception()}"

    def go_on(self) -> list[NamedRow]:
        """Lets the stream run to its end, and returns the rows of all batches."""
        self._may_run.set()
        try:
            self._run()
        finally:
            self._stage.delivered = [row for rows in self._batches.values() for row in rows]
        return self._stage.delivered

    def _run(self) -> None:
        try:
            self._query.processAllAvailable()
        except StreamingQueryException as error:
            if not OF_DELTA.search(str(error)):
                raise
            self._is_later = True
            self._start(availableNow=True).awaitTermination()
        finally:
            self._query.stop()

    def _start(self, **trigger: Any) -> Any:
        rows = self._stage.spark.readStream.format("delta").options(**self._options)
        return (
            rows.load(self._stage.url)
            .drop("_commit_version", "_commit_timestamp")
            .writeStream.foreachBatch(self._keep)
            .option("checkpointLocation", f"{self._stage.url}-stream")
            .trigger(**trigger)
            .start()
        )

    def _keep(self, batch: DataFrame, number: int) -> None:
        self._at(Point.PLANNED)
        kept = self._batches[number] = []
        for row in batch.toLocalIterator():  # reads one file after the other
            values = {name: value for name, value in row.asDict().items() if value is not None}
            kept.append({**values, IS_LATER: self._is_later})
            self._at(Point.BEGUN)
        self._at(Point.BETWEEN)

    def _at(self, point: Point) -> None:
        if point is self._point and not self._is_held.is_set():
            self._is_held.set()
            self._may_run.wait(PATIENCE)


class _Runnable:
    """Implements `java.lang.Runnable`; py4j requires the names `run` and `Java`."""

    def __init__(self, run: Callable[[], object]) -> None:
        self.run = run

    class Java:
        implements: ClassVar[list[str]] = ["java.lang.Runnable"]


def _arriving(is_feed: bool) -> Callable[[State, Moment], State]:
    """Requires that each row arrived once. A failed stream may lack rows, but has no wrong row.

    A query has the columns of its start. A stream of rows skips commits that change rows. A stream
    of a table that removed column mapping starts at the last commit before the removal.
    """

    def effect(before: State, moment: Moment) -> State:
        old = moment.held.rows
        rows = [*old, *(row for row in before.rows if row not in old)]
        skipped = () if moment.held.is_mapped else moment.early.rows
        kept = (row for row in (before.rows if is_feed else rows) if row not in skipped)
        wanted = Counter(map(rows.index, kept))
        found: Counter[int] = Counter()
        for seen in moment.seen:
            columns = moment.known if seen[IS_LATER] else moment.held
            is_gone = seen.get(CHANGE_TYPE) in ("delete", "update_preimage")
            found[_place(seen, rows, columns)] += -1 if is_gone else 1
        is_right = set(found.values()) <= {0, 1} if moment.has_failed else +found == wanted
        if not is_right or -found:
            raise Impossible(f"of {rows} it saw {found}")
        return before

    return effect


def _place(seen: NamedRow, rows: list[Row], columns: State) -> int:
    known = names(columns)
    values = {name: value for name, value in seen.items() if name not in (CHANGE_TYPE, IS_LATER)}
    for place, row in enumerate(rows):
        if values == {known[key]: value for key, value in row.items() if key in known}:
            return place
    raise Impossible(f"it saw {seen}, which is not in {rows}")


def _act(point: Point, is_feed: bool) -> Act:
    def prepare(stage: Stage) -> None:
        stage.go_on = HeldStream(stage, point, is_feed).go_on

    name = f"{'feed' if is_feed else 'stream'} held {point.value}"
    effect = _arriving(is_feed)
    return Act(name, lambda stage, _: stage.go_on(), effect, is_held=True, prepare=prepare)


STREAMS = {
    (point, is_feed): _act(point, is_feed) for point, is_feed in product(Point, (False, True))
}
