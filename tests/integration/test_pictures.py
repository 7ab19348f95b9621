# SPDX-License-Identifier: Apache-2.0
"""The pictures of the pages, drawn again from new tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from docs.pictures import parquet_schema


@pytest.mark.every_variant
def test_picture_of_the_parquet_schema_shows_a_real_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    drawn = parquet_schema.picture(parquet_schema.panels(spark, tmp_path))

    stored = parquet_schema.PICTURE.read_text()
    assert without_uuids(drawn) == without_uuids(stored)
    assert stored.count("col-") == 6  # three in the text, three in the description


def without_uuids(picture: str) -> str:
    return re.sub(r"col-[0-9a-f]{8}[0-9a-f-]*", "col-<uuid>", picture)
