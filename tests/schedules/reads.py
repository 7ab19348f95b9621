# SPDX-License-Identifier: Apache-2.0
"""Contains reads of rows by plans and streams that are older than a change of the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from pyspark.sql import Row as SparkRow

from tests.schedules.act import Act, Moment, NamedRow, Stage
from tests.support.flat_tables import Impossible, names, require
from tests.support.reference_model import Row, State
from tests.support.session_conf import session_conf

OPEN_COST = "spark.sql.files.openCostInBytes"
PARTITION_SIZE = str(128 << 20)
"""Spark's size of a partition, in bytes: a file with this cost of opening fills a partition."""


def _with_values(rows: Iterable[SparkRow]) -> list[NamedRow]:
    return [{k: v for k, v in row.asDict().items() if v is not None} for row in rows]


def _read_held(stage: Stage, number: int) -> list[NamedRow]:
    """Reads a held frame joined with a new frame. Delta resolves the new frame first."""
    keys = stage.spark.read.format("delta").load(stage.url).select("k").distinct()
    return _with_values(keys.join(stage.frame, "k").collect())


def _begin(stage: Stage) -> None:
    """Begins a query that reads one file after the other, and reads the first file."""
    with session_conf(stage.spark, {OPEN_COST: PARTITION_SIZE}):
        rows = stage.spark.read.format("delta").load(stage.url).toLocalIterator()
        stage.begun = chain([next(rows)], rows)


def _stream(stage: Stage) -> list[NamedRow]:
    """Reads the rows that a stream has not read before. A checkpoint keeps its progress."""
    rows: list[NamedRow] = []
    query = (
        stage.spark.readStream.format("delta")
        .load(stage.url)
        .writeStream.foreachBatch(lambda batch, _: rows.extend(_with_values(batch.collect())))
        .option("checkpointLocation", f"{stage.path}-stream")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return rows


def _see(rows: Iterable[Row], columns: State, moment: Moment) -> None:
    """Raises `Impossible` if the statement did not see exactly these rows."""
    known = names(columns)
    expected = Counter(
        frozenset((known[key], value) for key, value in row.items() if key in known) for row in rows
    )
    seen = Counter(frozenset(row.items()) for row in moment.seen)
    if expected != seen:
        raise Impossible(f"it saw {seen}, not {expected}")


def _reading_held(before: State, moment: Moment) -> State:
    require(before, *names(moment.held))
    _see(before.rows, moment.held, moment)
    return before


def _reading_begun(before: State, moment: Moment) -> State:
    _see(moment.held.rows, moment.held, moment)
    return before


def _streaming(before: State, moment: Moment) -> State:
    """Returns the effect of a stream, which skips old rows and fails if an old row changed."""
    new = list(before.rows)
    for row in moment.held.rows:
        if row not in new:
            raise Impossible(f"the stream has read {row}, and did not fail when the row changed")
        new.remove(row)
    _see(new, moment.known, moment)
    return before


READ_HELD = Act("read of a held frame", _read_held, _reading_held, is_held=True)
READ_VIEW = Act(
    "read of a held view",
    lambda stage, number: _with_values(stage.spark.sql("SELECT * FROM held").collect()),
    _reading_held,
    is_held=True,
)
READ_BEGUN = Act(
    "rest of a query that has begun",
    lambda stage, number: _with_values(stage.begun),
    _reading_begun,
    is_held=True,
    prepare=_begin,
)
STREAM = Act(
    "stream that continues", lambda stage, number: _stream(stage), _streaming, prepare=_stream
)
