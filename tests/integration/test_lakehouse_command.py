# SPDX-License-Identifier: Apache-2.0
"""Tests commands over many tables after the reader of their output has ended."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest
from pyspark.sql import SparkSession

from spark_ext.__main__ import main
from tests.support.delta_table import NAME_MODE, TRACKED, Table


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    return Table(spark, tmp_path / "t").create("a INT", TRACKED, NAME_MODE)


@pytest.fixture
def unread() -> Iterator[TextIO]:
    """Yields a pipe whose reader has ended."""
    reader, writer = os.pipe()
    os.close(reader)
    file = os.fdopen(writer, "w", buffering=1)
    yield file
    with suppress(BrokenPipeError):
        file.close()


@pytest.mark.every_variant
@pytest.mark.parametrize(("stream", "expected"), [("stdout", 1), ("stderr", 0)])
def test_report_file_is_written_when_output_has_no_reader(
    table: Table,
    unread: TextIO,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stream: str,
    expected: int,
) -> None:
    report = tmp_path / "out.json"
    monkeypatch.setattr(f"sys.{stream}", unread)

    code = main(["remove", str(table.path), "--report", str(report)])

    assert code == expected
    rows = json.loads(report.read_text())["tables"]
    assert [row["outcome"] for row in rows] == ["DONE"]
    assert table.log.configuration.get("delta.columnMapping.mode", "none") == "none"
