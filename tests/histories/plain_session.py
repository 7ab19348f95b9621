# SPDX-License-Identifier: Apache-2.0
"""Runs a Spark session without spark-ext in a separate process, which runs SQL on request.

The process reads one JSON command per line from standard input and answers with one JSON line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

from tests.support.sessions import JAVA_OPTIONS, small_session, with_one_driver


def short_session(folder: Path) -> SparkSession.Builder:
    """Returns the builder of a session for a few histories."""
    return with_one_driver(small_session(SparkSession.builder, folder))


def lasting_session(folder: Path) -> SparkSession.Builder:
    """Returns the builder of a session with memory for thousands of statements."""
    builder = short_session(folder)
    builder.config(JAVA_OPTIONS, "-XX:+UseSerialGC")
    return builder.config("spark.driver.memory", "3g")


def answer(spark: SparkSession, command: dict[str, str]) -> Any:
    try:
        frame = spark.sql(command["sql"])
        rows = [row.asDict(recursive=True) for row in frame.collect()]
        return {"columns": frame.columns, "rows": rows}
    except Exception as error:
        return {"error": str(error)[:2000]}


if __name__ == "__main__":
    # Python code prints to standard error, so standard output is for the answers.
    answers = sys.stdout
    sys.stdout = sys.stderr
    kind = {"short": short_session, "lasting": lasting_session}[sys.argv[2]]
    builder = kind(Path(sys.argv[1]))
    session = configure_spark_with_delta_pip(
        builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension").config(
            "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
    ).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    print(json.dumps("ready"), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(session, json.loads(line))), file=answers, flush=True)
    session.stop()
