# SPDX-License-Identifier: Apache-2.0
"""Makes every table with a defect: `.venv/bin/python -m tests.golden FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import spark_ext
from tests.golden.defects import DEFECTS
from tests.golden.workshop import Workshop
from tests.support.sessions import small_session


def main(folder: Path) -> None:
    builder = small_session(SparkSession.builder, folder / "warehouse")
    spark = spark_ext.configure(builder).getOrCreate()
    workshop = Workshop(folder, spark)
    for name, make in DEFECTS.items():
        print(make(workshop, name))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
