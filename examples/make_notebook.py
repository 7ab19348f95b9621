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
# Each cell by its id, which says which it is when cells are added before it.
CELLS = {
    "text-title": """
# A lakehouse with column mapping

What spark-ext tells of tables, as a notebook shows it.
The [guide](../docs/guide.md) has the words and the reasons.
""",
    "session": """
from pyspark.sql import SparkSession

import spark_ext

builder = SparkSession.builder.master("local[2]").config("spark.sql.repl.eagerEval.enabled", "true")
spark = spark_ext.configure(builder).getOrCreate()
""",
    "text-track": """
## Track a table

Its flag is `false`: column mapping can be switched off for nothing.
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
## Rename a column, and drop one

The status says which commit turned the flag, and what became of the names.
""",
    "rename": """
spark.sql("ALTER TABLE trips RENAME COLUMN city TO town")
spark.sql("ALTER TABLE trips DROP COLUMN fare")
trips.status()
""",
    "history": """
trips.history().drop("timestamp", "userName")
""",
    "text-exits": """
## What removing column mapping costs
""",
    "stages": """
trips.remove_column_mapping(dry_run=True)
""",
    "text-survey": """
## The same of all tables
""",
    "survey": """
spark.sql(f"CREATE TABLE rides (id BIGINT) USING delta {tracked}")
spark.sql("ALTER TABLE rides ADD COLUMN `paid <at>` DATE")
spark.sql("CREATE TABLE places USING delta AS SELECT 1 AS id, 'Rome' AS name")
spark_ext.survey(spark)
""",
    "text-audit": """
## Check what other writers did
""",
    "audit": """
spark_ext.audit(spark, "trips")
""",
    "text-finding": """
Then somebody deletes a file.
""",
    "finding": """
import os
from urllib.parse import urlparse

os.remove(urlparse(spark.table("trips").inputFiles()[0]).path)
spark_ext.audit(spark, "trips")
""",
    "stop": """
spark.stop()
""",
}
# What is another in each run.
VOLATILE = (
    r"\w\w/part-[\w.-]+\.parquet",
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?",
)


Json = dict[str, Any]


def executed() -> Json:
    """The notebook, as a kernel leaves it that begins in an empty folder."""
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
    """A cell, with what comes of it if it is code."""
    cell: Json = {"id": name, "metadata": {}, "source": source.splitlines(keepends=True)}
    if name.startswith(TEXT):
        return {"cell_type": "markdown", **cell}
    outputs: list[Json] = []

    def keep(message: Json) -> None:
        output = {"output_type": message["msg_type"], **message["content"]}
        output.pop("transient", None)
        # Standard error is what Spark logs of this machine, and how long things took.
        if message["msg_type"] in OUTPUTS and output.get("name") != "stderr":
            outputs.append(output)

    reply = client.execute_interactive(source, output_hook=keep, timeout=SECONDS)
    if reply["content"]["status"] != "ok":
        raise RuntimeError(f"Cannot run the cell {name!r}: {reply['content']['evalue']}")
    count = reply["content"]["execution_count"]
    return {"cell_type": "code", **cell, "execution_count": count, "outputs": outputs}


def as_text(notebook: Json) -> str:
    """A notebook as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def comparable(notebook: Json) -> str:
    """A notebook without what is another in each run."""
    text = as_text(notebook)
    for volatile in VOLATILE:
        text = re.sub(volatile, "..", text)
    return text


def main() -> None:
    """Writes the notebook, unless it says the same already."""
    notebook = executed()
    if NOTEBOOK.exists() and comparable(json.loads(NOTEBOOK.read_text())) == comparable(notebook):
        return
    NOTEBOOK.write_text(as_text(notebook))


if __name__ == "__main__":
    main()
