# SPDX-License-Identifier: Apache-2.0
"""Provides the Java package `sparkext.parquet`, and a file that it copied."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.parquet.copied_file import copied_file
from tests.parquet.renamer import Renamer
from tests.support.parquet_file import ParquetFile


@pytest.fixture(scope="session")
def renamer(spark: SparkSession) -> Renamer:
    return Renamer(spark)


@pytest.fixture(scope="session")
def copied(
    renamer: Renamer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ParquetFile, ParquetFile]:
    """Returns a file and its copy."""
    return copied_file(renamer, tmp_path_factory.mktemp("copied"))
