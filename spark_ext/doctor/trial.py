# SPDX-License-Identifier: Apache-2.0
"""A session of its own that tracks a table: `python -m spark_ext.doctor.trial <folder>`.

It is another process, because a Python process has one JVM, and Spark writes where it likes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spark_ext.doctor.diagnoses import OK, PROBLEM, Diagnosis
from spark_ext.model.keys import FEATURE_NAME, FEATURE_PROPERTY, HAS_DROPPED_OR_RENAMED

_SECONDS = 600
_OUTPUT = 3000


def session(environ: Mapping[str, str]) -> Diagnosis:
    """Whether a session starts here and a table is tracked in it."""
    with tempfile.TemporaryDirectory(prefix="spark-ext-doctor-") as folder:
        table = Path(folder) / "table"
        command = [sys.executable, "-m", "spark_ext.doctor.trial", str(table)]
        found = "local[1], a table with an added and a renamed column"
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                cwd=folder,
                env=dict(environ),
            )
        except subprocess.TimeoutExpired as late:
            advice = "See whether Maven Central can be reached, and what else the machine does."
            return Diagnosis("session", PROBLEM, found, f"It did not end: {late}", advice)
        if done.returncode != 0:
            problem = f"It failed: {(done.stderr or done.stdout).strip()[-_OUTPUT:]}"
            advice = "Read what it says, and see the conditions in docs/errors.md."
            return Diagnosis("session", PROBLEM, found, problem, advice)
        wrong = fault(table)
    if wrong is not None:
        advice = "Please report this with the versions that are listed here."
        return Diagnosis("session", PROBLEM, found, wrong, advice)
    return Diagnosis("session", OK, found)


def track_a_table(folder: Path) -> None:
    """Creates a tracked table, adds a column, renames another."""
    from pyspark.sql import SparkSession

    from spark_ext.launch.session import configure

    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(folder.parent / "warehouse"))
    )
    spark = configure(builder).getOrCreate()
    try:
        table = f"delta.`{folder}`"
        spark.sql(
            f"CREATE TABLE {table} (a INT, b INT) USING delta TBLPROPERTIES"
            f" ('delta.columnMapping.mode' = 'name', '{FEATURE_PROPERTY}' = 'supported')"
        )
        spark.sql(f"ALTER TABLE {table} ADD COLUMN c INT")
        spark.sql(f"ALTER TABLE {table} RENAME COLUMN a TO d")
    finally:
        spark.stop()


def fault(table: Path) -> str | None:
    """What the log of such a table has that it should not have; None where it is as it should."""
    flags: list[str | None] = []
    features: list[str] = []
    names: dict[str, str] = {}
    for version in sorted((table / "_delta_log").glob("*.json")):
        for action in map(json.loads, version.read_text().splitlines()):
            if "protocol" in action:
                features = action["protocol"].get("writerFeatures", [])
            if "metaData" in action:
                flags.append(action["metaData"]["configuration"].get(HAS_DROPPED_OR_RENAMED))
                names = _physical_names(action["metaData"])
    expected = {"d": "a", "b": "b", "c": "c"}
    if FEATURE_NAME not in features:
        return f"The protocol lacks {FEATURE_NAME}: {features}."
    if flags != ["false", "false", "true"]:
        return f"The flag was {flags} after CREATE, ADD COLUMN and RENAME COLUMN."
    if names != expected:
        return f"The physical names are {names}, not {expected}."
    return None


def _physical_names(metadata: Mapping[str, Any]) -> dict[str, str]:
    fields = json.loads(metadata["schemaString"])["fields"]
    key = "delta.columnMapping.physicalName"
    return {field["name"]: field["metadata"][key] for field in fields}


if __name__ == "__main__":
    track_a_table(Path(sys.argv[1]))
