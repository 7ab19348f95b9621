# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the pages again from new tables, and compares them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from docs.pictures import parquet_schema, terminal


@pytest.mark.every_variant
def test_picture_of_the_parquet_schema_shows_a_real_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    drawn = parquet_schema.picture(parquet_schema.panels(spark, tmp_path))

    stored = parquet_schema.PICTURE.read_text()
    assert without_uuids(drawn) == without_uuids(stored)
    assert stored.count("col-") == 6  # three in the picture, three in its description


@pytest.mark.every_variant
def test_pictures_of_terminals_equal_the_output_of_the_commands(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo = terminal.loaded_demo()
    vars(demo).update(ROWS=300)
    monkeypatch.setattr(terminal, "loaded_demo", lambda: demo)
    try:
        screens = terminal.screens(spark, tmp_path)
    finally:
        spark.sql("DROP SCHEMA IF EXISTS sales CASCADE")

    assert len(screens) == 3
    for screen in screens:
        assert without_numbers(screen.drawn()) == without_numbers(screen.file.read_text())


def without_numbers(picture: str) -> list[str]:
    """Returns the words of each line; `make pictures` loads more rows than the test.

    A slow run prints more lines of progress, so one line of each kind is kept.
    """
    lines = re.findall("<text [^>]*>(.*)</text>", picture)
    texts = [re.sub("<.*?>", "", line) for line in lines]
    texts = [re.sub("^(run|survey): .*", r"\1", text) for text in texts]
    texts = [text for text, before in zip(texts, ["", *texts], strict=False) if text != before]
    return [re.sub(r"(?:col-[0-9a-f-]+|[ ─-]|\d[\d,.]*)+", " ", text).strip() for text in texts]


def without_uuids(picture: str) -> str:
    return re.sub(r"col-[0-9a-f]{8}[0-9a-f-]*", "col-<uuid>", picture)
