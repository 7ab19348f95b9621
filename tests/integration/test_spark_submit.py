# SPDX-License-Identifier: Apache-2.0
"""Applications that know nothing of spark_ext, started from a command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from releases import DELTA_COORDINATES
from table_log import TableLog, is_uuid_name

import spark_ext

CHECKOUT = Path(__file__).parents[2]
DEFAULTS = CHECKOUT / "conf" / "spark-defaults.conf"

NEWEST_DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"

APPLICATION = """
import sys
from importlib.util import find_spec
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
table = f"delta.`{sys.argv[1]}`"
spark.sql(f'''CREATE TABLE {table} (a INT, b STRING) USING delta TBLPROPERTIES (
    'delta.columnMapping.mode' = 'name',
    'delta.feature.columnMappingUsageTracking' = 'supported')''')
spark.sql(f"ALTER TABLE {table} ADD COLUMN c INT")
spark.sql(f"INSERT INTO {table} VALUES (1, 'x', 2)")
spark.sql(f"ALTER TABLE {table} RENAME COLUMN a TO d")
spark.sql(f"ALTER TABLE {table} ADD COLUMN a INT")
print("rows:", [tuple(row) for row in spark.table(table).collect()])
print("imported spark_ext:", "spark_ext" in sys.modules)
print("Python has spark_ext:", find_spec("spark_ext") is not None)
spark.stop()
"""

SMALL = (
    "--master local[2] --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2"
    " --conf spark.databricks.delta.snapshotPartitions=2"
)


def environment(**variables: str) -> dict[str, str]:
    """The shell of a user who has the virtual environment on the path, and nothing else set."""
    hidden = ("PYTHONPATH", "SPARK_", "PYSPARK_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, **variables}


def shell(command: str, directory: Path, **variables: str) -> str:
    finished = subprocess.run(
        ["bash", "-c", f"set -euo pipefail; {command}"],
        cwd=directory,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def assert_tracked(path: Path) -> None:
    log = TableLog(path)
    assert log.version == 4
    assert log.at(1).physical_names == {"a": "a", "b": "b", "c": "c"}
    assert log.at(2).flag == "false"
    assert log.at(3).operation == "RENAME COLUMN"
    assert log.at(3).flag == "true"
    assert log.at(3).physical_names == {"d": "a", "b": "b", "c": "c"}
    assert is_uuid_name(log.physical_names["a"])


@pytest.fixture
def application(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(APPLICATION)
    return path


def test_spark_submit_with_the_printed_arguments(tmp_path: Path, application: Path) -> None:
    output = shell(
        f"spark-submit {SMALL} $(python -m spark_ext submit-args) {application} {tmp_path / 't'}",
        tmp_path,
    )

    assert "rows: [(1, 'x', 2, None)]" in output
    assert "imported spark_ext: False" in output
    assert_tracked(tmp_path / "t")


def test_spark_submit_with_the_defaults_file_and_a_python_that_has_only_the_standard_library(
    tmp_path: Path, application: Path
) -> None:
    """The rules and py4j come from our jar and from Spark."""
    # The file names the newest pair; an option of the command line stands above it.
    delta = f"--packages {DELTA_COORDINATES}"
    output = shell(
        f"spark-submit {SMALL} --properties-file conf/spark-defaults.conf {delta}"
        f" {application} {tmp_path / 't'}",
        CHECKOUT,
        SPARK_HOME=str(Path(pyspark.__file__).parent),
        PYSPARK_PYTHON=sys._base_executable,
    )

    assert "rows: [(1, 'x', 2, None)]" in output
    assert "Python has spark_ext: False" in output
    assert_tracked(tmp_path / "t")


def test_the_jars_command_prints_the_jar(tmp_path: Path) -> None:
    jar = Path(shell("python -m spark_ext jars", tmp_path).strip())

    assert jar.is_file()
    assert jar.name == "spark-ext.jar"


def test_the_defaults_file_says_what_configure_says() -> None:
    lines = (line.split(None, 1) for line in DEFAULTS.read_text().splitlines())
    defaults = {line[0]: line[1].strip() for line in lines if line and line[0] != "#"}
    configured = dict(spark_ext.configure(SparkSession.Builder())._options)

    jar = Path(defaults.pop("spark.jars"))
    configured_jar = Path(configured.pop("spark.jars"))
    python = configured.pop("spark.pyspark.driver.python")
    # Of the newest pair in the file, of this one here.
    assert configured.pop("spark.jars.packages") == DELTA_COORDINATES
    assert defaults.pop("spark.jars.packages") == NEWEST_DELTA

    assert defaults == configured
    assert CHECKOUT / jar == configured_jar
    assert python == sys.executable
