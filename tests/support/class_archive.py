# SPDX-License-Identifier: Apache-2.0
"""Archives the classes of every session once, so that all JVMs of a run load them faster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.sessions import FEW_ROWS, SHORT_RUN

# Options that Spark's own scripts pass to each JVM that they start.
VARIABLE = "SPARK_SUBMIT_OPTS"
# A JVM with another class path or another Java ignores the archive, and prints no warning.
QUIET = "-Xlog:cds*=off -Xshare:auto"
# For sessions that a command starts with its own settings.
DEFAULTS = " ".join(f"-D{key}={value}" for key, value in FEW_ROWS.items())
SESSION = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from pyspark.sql import SparkSession
from tests.support.custom_sessions import track_a_table
from tests.support.sessions import small_session
import spark_ext
home = Path(sys.argv[2])
spark = spark_ext.configure(small_session(SparkSession.builder, home / "warehouse")).getOrCreate()
track_a_table(spark, home / "t")
spark.stop()
"""


def make(folder: Path) -> str | None:
    """Runs a session that writes the archive for later JVMs. Returns the error, or None."""
    archive = folder / "classes.jsa"
    options = f"{os.environ.get(VARIABLE, '')} {SHORT_RUN} {QUIET} {DEFAULTS}"
    session = subprocess.run(
        [sys.executable, "-c", SESSION, str(Path(__file__).parents[2]), str(folder)],
        env={**os.environ, VARIABLE: f"{options} -XX:ArchiveClassesAtExit={archive}"},
        capture_output=True,
        text=True,
    )
    if archive.exists():
        os.environ[VARIABLE] = f"{options} -XX:SharedArchiveFile={archive}"
    return session.stderr if session.returncode else None


def environment(*hidden: str) -> dict[str, str]:
    """Returns the environment without these prefixes, and with the options for each JVM."""
    return {
        key: value
        for key, value in os.environ.items()
        if key == VARIABLE or not key.startswith(hidden)
    }
