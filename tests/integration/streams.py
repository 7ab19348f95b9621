# SPDX-License-Identifier: Apache-2.0
"""Runs streams from a table that removes column mapping, each with a sink and a checkpoint.

A file of the table contains a dropped column `b`, and the table has a later column `b`. If a stream
reads this file with the names of another version, it returns null for `k` and the dropped values
for `b`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.prepared import made_once
from tests.support.removal import OPERATION

OTHER_STREAM = "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"

Row = dict[str, Any]

OLD: list[Row] = [{"k": 1, "b": None}, {"k": 2, "b": 20}]


@made_once
def used(table: Table, *properties: str, partitioned_by: str = "") -> Table:
    table.create("a INT, b INT", TRACKED, NAME_MODE, *properties, partitioned_by=partitioned_by)
    table.insert("(1, 100)")
    table.alter("DROP COLUMN b")
    table.alter("ADD COLUMN b INT")
    table.alter("RENAME COLUMN a TO k")
    table.insert("(2, 20)")
    return table


def checkpoint_of(target: Path) -> Path:
    return target.with_name(f"{target.name}-checkpoint")


def start_sink(
    rows: DataFrame, target: Path, mode: str = "append", **options: str
) -> StreamingQuery:
    """Starts a stream into a table until there is no more input, with a checkpoint beside it."""
    writer = rows.writeStream.format("delta").outputMode(mode).trigger(availableNow=True)
    checkpoint = str(checkpoint_of(target))
    return writer.options(checkpointLocation=checkpoint, **options).start(str(target))


class Stream:
    """Runs a stream from a table. The sink writes each batch to a JSON file."""

    def __init__(self, table: Table, folder: Path, **options: str) -> None:
        self.table = table
        self.checkpoint = folder / "checkpoint"
        self.out = folder / "out"
        self.out.mkdir(parents=True)
        self.options = options

    def frame(self) -> DataFrame:
        rows = self.table.spark.readStream.format("delta").options(**self.options)
        return rows.load(str(self.table.path)).drop("_commit_timestamp")

    def start(
        self, *, during: tuple[int, Callable[[], object]] = (-1, print), **trigger: Any
    ) -> Any:
        """Starts the stream. `during` names a batch, and what happens while the sink has it."""

        def keep(rows: DataFrame, batch: int) -> None:
            if batch == during[0]:
                during[1]()
            values = [row.asDict(recursive=True) for row in rows.collect()]
            (self.out / f"{batch}.json").write_text(json.dumps(values))

        return (
            self.frame()
            .writeStream.foreachBatch(keep)
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(**(trigger or {"availableNow": True}))
            .start()
        )

    def run(self, **options: Any) -> list[Row]:
        """Runs the stream to the end of its input, and returns all rows of the sink."""
        self.start(**options).awaitTermination()
        return self.rows()

    @contextmanager
    def running(self) -> Iterator[StreamingQuery]:
        """Runs the stream on while the body runs."""
        query = self.start(processingTime="0 seconds")
        try:
            yield query
        finally:
            query.stop()

    def fail_in(self, batch: int) -> None:
        """Lets the sink fail, so that the batch is planned and not committed."""

        def fail() -> None:
            raise RuntimeError("the sink fails")

        with pytest.raises(StreamingQueryException, match="the sink fails"):
            self.run(during=(batch, fail))

    def assert_refused(self, condition: str = OTHER_STREAM) -> None:
        """Asserts that the stream reads nothing."""
        before = self.rows()
        with pytest.raises(StreamingQueryException) as stopped:
            self.run()
        assert f"[{condition}" in str(stopped.value)
        assert self.rows() == before

    def rows(self) -> list[Row]:
        batches = [json.loads(file.read_text()) for file in self.out.glob("*.json")]
        return sorted((row for batch in batches for row in batch), key=json.dumps)

    def offsets(self) -> list[tuple[int, int]]:
        """Returns the version and the index at which each batch ends."""
        files = sorted((self.checkpoint / "offsets").glob("[0-9]*"), key=_number)
        ends = [json.loads(file.read_text().splitlines()[-1]) for file in files]
        return [(end["reservoirVersion"], end["index"]) for end in ends]

    def forget_planned(self) -> None:
        """Deletes the plan of an uncommitted batch, as if the run had ended earlier."""
        planned = {file.name for file in (self.checkpoint / "offsets").glob("[0-9]*")}
        done = {file.name for file in (self.checkpoint / "commits").glob("[0-9]*")}
        (uncommitted,) = planned - done
        (self.checkpoint / "offsets" / uncommitted).unlink()
        (self.checkpoint / "offsets" / f".{uncommitted}.crc").unlink(missing_ok=True)


def _number(file: Path) -> int:
    return int(file.name)


def removal_in(table: Table) -> int:
    """Returns the newest version that removed column mapping."""
    log = table.log
    return max(v for v in range(log.version + 1) if log.at(v).operation == OPERATION)


def numbered(*numbers: int) -> list[Row]:
    """Returns rows in which `b` is ten times `k`."""
    return [{"k": number, "b": 10 * number} for number in numbers]


def sorted_rows(*rows: Row) -> list[Row]:
    return sorted(rows, key=json.dumps)
