# SPDX-License-Identifier: Apache-2.0
"""Starts a session as a user would, and tracks a table: `python -m spark_ext.doctor.trial`.

The trial is a separate process, because a Python process has one JVM and Spark writes into the
working directory.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from traceback import format_exception_only
from typing import TYPE_CHECKING, Any

from spark_ext.errors import SparkExtError
from spark_ext.launch.releases import (
    DELTA_EXTENSION,
    USAGE_TRACKING_EXTENSION,
    places_of,
    require_version,
)
from spark_ext.launch.session import EXTENSIONS, configure, entries
from spark_ext.model.keys import (
    COLUMN_MAPPING_MODE,
    FEATURE_NAME,
    FEATURE_PROPERTY,
    HAS_DROPPED_OR_RENAMED,
    PHYSICAL_NAME,
)

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

# The ways to start a session: with the settings of `spark-defaults.conf` alone, or `configure`.
WAYS = DEFAULTS, CONFIGURE = "defaults", "configure"
REPORT = "trial.json"


@dataclass
class Trial:
    """The result of a trial.

    Attributes:
        spark: The version of Spark; None if the JVM did not start.
        delta: The version of Delta that the JVM loads, if our jar is there to read it.
        delta_places: The URLs of Delta's classes on the driver's class path, the loaded ones first.
        our_places: The URLs of our classes.
        extensions: The extensions that the session's configuration names.
        failure: Why the session or a statement failed.
    """

    spark: str | None = None
    delta: str | None = None
    delta_places: list[str] = field(default_factory=list)
    our_places: list[str] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    failure: str | None = None

    @property
    def is_tracking(self) -> bool:
        """Returns whether the session's configuration names our extension."""
        return USAGE_TRACKING_EXTENSION in self.extensions

    def missing(self) -> list[str]:
        """Returns the named extensions that the driver's class path lacks."""
        places = {
            DELTA_EXTENSION: self.delta_places,
            USAGE_TRACKING_EXTENSION: self.our_places,
        }
        return [name for name, found in places.items() if name in self.extensions and not found]


def run(way: str, folder: Path) -> None:
    """Starts a session, tracks a table in it, and writes the trial to a file of the folder."""
    trial = Trial()
    try:
        spark = _started(way, folder, trial)
        if trial.is_tracking and not trial.missing():
            jvm: Any = spark._jvm
            require_version(jvm.sparkext.release.Versions.ours())
            table = folder / "table"
            track_a_table(spark, table)
            trial.failure = fault(table)
        spark.stop()
    except SparkExtError as error:
        trial.failure = f"[{error.condition}] {error}"
    except Exception as error:
        # Errors of py4j end with the stack of the JVM.
        trial.failure = "".join(format_exception_only(error)).split("\n\tat ")[0]
    finally:
        (folder / REPORT).write_text(json.dumps(asdict(trial)))


def _started(way: str, folder: Path, trial: Trial) -> SparkSession:
    from pyspark import SparkContext
    from pyspark.errors.exceptions.captured import install_exception_handler
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    )
    if way == CONFIGURE:
        configure(builder)
    # PySpark installs the handler after the first session has started, and our jar may fail
    # earlier.
    install_exception_handler()
    try:
        return builder.getOrCreate()
    finally:
        # If our jar refuses the session, the context still runs.
        if SparkContext._active_spark_context is not None:
            describe(SparkContext._active_spark_context, trial)


def describe(context: SparkContext, trial: Trial) -> None:
    """Sets the versions and places of a running context in a trial."""
    jvm: Any = context._jvm
    trial.spark = context.version
    trial.extensions = entries(context.getConf().get(EXTENSIONS, "") or "")
    trial.delta_places = places_of(jvm, DELTA_EXTENSION)
    trial.our_places = places_of(jvm, USAGE_TRACKING_EXTENSION)
    if trial.our_places:
        trial.delta = jvm.sparkext.release.Versions.delta()


def track_a_table(spark: SparkSession, path: Path) -> None:
    """Creates a tracked table, adds a column, renames another."""
    table = f"delta.`{path}`"
    spark.sql(
        f"CREATE TABLE {table} (a INT, b INT) USING delta TBLPROPERTIES"
        f" ('{COLUMN_MAPPING_MODE}' = 'name', '{FEATURE_PROPERTY}' = 'supported')"
    )
    spark.sql(f"ALTER TABLE {table} ADD COLUMN c INT")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN a TO d")


def fault(table: Path) -> str | None:
    """Returns the problem in the log of the table; None if the log is right."""
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
    return {field["name"]: field["metadata"][PHYSICAL_NAME] for field in fields}


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]))
