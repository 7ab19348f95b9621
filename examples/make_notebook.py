# SPDX-License-Identifier: Apache-2.0
"""Runs the cells below in a Jupyter kernel and writes lakehouse.ipynb: `make notebook`."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from jupyter_client.manager import start_new_kernel

NOTEBOOK = Path(__file__).with_name("lakehouse.ipynb")
SECONDS = 300
TEXT = "text-"
OUTPUTS = ("stream", "display_data", "execute_result", "error")
# The cells by id. An id does not change when a cell is added before its cell.
CELLS = {
    "text-title": """
# A lakehouse with column mapping

This notebook shows what spark-ext reports about tables.
[Concepts](../docs/tracking.md) explains the terms.
""",
    "session": """
from pyspark.sql import SparkSession

import spark_ext

builder = SparkSession.builder.master("local[2]").config("spark.sql.repl.eagerEval.enabled", "true")
spark = spark_ext.configure(builder).getOrCreate()
""",
    "text-track": """
## Track a table

The flag is `false`: removing column mapping rewrites no file.
""",
    "track": '''
tracked = """TBLPROPERTIES ('delta.columnMapping.mode' = 'name',
    'delta.feature.columnMappingUsageTracking' = 'supported')"""
spark.sql(f"CREATE TABLE trips (id BIGINT, city STRING, fare DOUBLE) USING delta {tracked}")
spark.sql("INSERT INTO trips VALUES (1, 'Rome', 9.5), (2, 'Oslo', 21.0)")
trips = spark_ext.UsageTracking.forName(spark, "trips")
trips
''',
    "text-rename": """
## Rename a column and drop another

The status shows the commit that set the flag to `true`, and the names.
""",
    "rename": """
spark.sql("ALTER TABLE trips RENAME COLUMN city TO town")
spark.sql("ALTER TABLE trips DROP COLUMN fare")
trips.status()
""",
    "history": """
trips.history().drop("timestamp", "userName")
""",
    "text-stages": """
## The cost of removing column mapping
""",
    "stages": """
trips.remove_column_mapping(dry_run=True)
""",
    "text-survey": """
## The cost for all tables
""",
    "survey": """
spark.sql(f"CREATE TABLE rides (id BIGINT) USING delta {tracked}")
spark.sql("ALTER TABLE rides ADD COLUMN `paid <at>` DATE")
spark.sql("CREATE TABLE places USING delta AS SELECT 1 AS id, 'Rome' AS name")
spark_ext.survey(spark)
""",
    "text-plan": """
## The plan of one call for all tables
""",
    "plan": """
spark_ext.remove_column_mapping(spark, "default", dry_run=True, progress=None)
""",
    "text-audit": """
## Check the log and the files
""",
    "audit": """
spark_ext.audit(spark, "trips")
""",
    "text-finding": """
Next, another program deletes a file.
""",
    "finding": """
import os
from urllib.parse import unquote, urlparse

os.remove(unquote(urlparse(spark.table("trips").inputFiles()[0]).path))
spark_ext.audit(spark, "trips")
""",
    "stop": """
spark.stop()
""",
}
# Patterns of text that differs in each run.
VOLATILE = (
    r"\w\w/part-[\w.-]+\.parquet",
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?",
    r"seconds\D{1,50}\d+\.\d",
)


Json = dict[str, Any]


def executed() -> Json:
    """Returns the notebook after a kernel has run its cells in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        manager, client = start_new_kernel(cwd=folder)
        try:
            cells = [run(client, name, source.strip()) for name, source in CELLS.items()]
        finally:
            client.stop_channels()
            manager.shutdown_kernel()
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def run(client: Any, name: str, source: str) -> Json:
    """Returns a cell. A code cell is run and has its outputs."""
    cell: Json = {"id": name, "metadata": {}, "source": source.splitlines(keepends=True)}
    if name.startswith(TEXT):
        return {"cell_type": "markdown", **cell}
    outputs: list[Json] = []

    def keep(message: Json) -> None:
        output = {"output_type": message["msg_type"], **message["content"]}
        output.pop("transient", None)
        # Standard error contains logs of Spark with names of this machine and times.
        if message["msg_type"] in OUTPUTS and output.get("name") != "stderr":
            outputs.append(output)

    reply = client.execute_interactive(source, output_hook=keep, timeout=SECONDS)
    if reply["content"]["status"] != "ok":
        raise RuntimeError(f"Cannot run the cell {name!r}: {reply['content']['evalue']}")
    count = reply["content"]["execution_count"]
    return {"cell_type": "code", **cell, "execution_count": count, "outputs": outputs}


def as_text(notebook: Json) -> str:
    """Returns a notebook as text, in the format of Jupyter."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def comparable(notebook: Json) -> str:
    """Returns the text of a notebook without parts that differ in each run."""
    text = as_text(notebook)
    for volatile in VOLATILE:
        text = re.sub(volatile, "..", text)
    return text


def main() -> None:
    """Writes the notebook, unless only volatile text differs."""
    notebook = executed()
    if NOTEBOOK.exists() and comparable(json.loads(NOTEBOOK.read_text())) == comparable(notebook):
        return
    NOTEBOOK.write_text(as_text(notebook))


if __name__ == "__main__":
    main()
