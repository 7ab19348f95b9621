# SPDX-License-Identifier: Apache-2.0
"""Reads tables by Spark with spark-ext, by Spark without it, and by pyarrow."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from tests.support.deltalake_readers import read_by_pyarrow

CHECKOUT = Path(__file__).parents[2]


class Content(NamedTuple):
    """Contains the answer of a reader: column names in order, and sorted rows without nulls."""

    columns: list[str]
    rows: list[Any]


class PlainSpark:
    """Controls a session without spark-ext in a separate process."""

    def __init__(self, folder: Path, *, lasting: bool = False) -> None:
        self._asked = False
        self._log = folder / "plain_session.log"
        module = "tests.histories.plain_session"
        kind = "lasting" if lasting else "short"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(folder / "plain_warehouse"), kind],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=CHECKOUT,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._questions, self._answers = self._process.stdin, self._process.stdout

    def ask(self, sql: str) -> None:
        if self._asked:  # a step failed before it read the answer
            self._reply()
        self._asked = True
        self._questions.write(json.dumps({"sql": sql}) + "\n")
        self._questions.flush()

    def answer(self) -> Content:
        reply = self._reply()
        self._asked = False
        if "error" in reply:
            raise AssertionError(f"Spark without us refuses: {reply['error']}")
        return content(reply["columns"], reply["rows"])

    def wait_until_ready(self) -> None:
        assert self._reply() == "ready"

    def _reply(self) -> Any:
        line = self._answers.readline()
        assert line, f"the session without us ended: {self._log.read_text()[-2000:]}"
        return json.loads(line)

    def stop(self) -> None:
        self._questions.close()
        self._process.wait(timeout=60)
        self._answers.close()


def content(columns: list[str], rows: list[dict[str, Any]]) -> Content:
    plain = [without_nulls(row) or {} for row in rows]
    return Content(list(columns), sorted(plain, key=repr_of))


def without_nulls(value: Any) -> Any:
    """Returns the value without nulls at every level, or None if nothing remains.

    If a file contains no field of a struct, readers return null or a struct of nulls.
    """
    if isinstance(value, dict):
        found = {name: without_nulls(child) for name, child in value.items()}
        return {name: child for name, child in found.items() if child is not None} or None
    if isinstance(value, list):
        return [child for child in map(without_nulls, value) if child is not None] or None
    return value


def repr_of(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


def read_with_us(spark: SparkSession, path: Path, version: int | None = None) -> Content:
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    frame = reader.load(str(path))
    return content(frame.columns, [row.asDict(recursive=True) for row in frame.collect()])


def read_by_logical_names(path: Path) -> Content:
    table = read_by_pyarrow(path)
    return content(table.column_names, table.to_pylist(maps_as_pydicts="strict"))
