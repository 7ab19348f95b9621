# SPDX-License-Identifier: Apache-2.0
"""Sparks and Deltas that a vendor changed and calls by versions of his own."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pyspark
import pytest
from pyspark.sql import SparkSession

from spark_ext.doctor import installation
from spark_ext.doctor.diagnoses import NOTE, OK, Diagnosis
from tests.integration.changed_jars import changed_jar, with_other_name
from tests.support.custom_sessions import (
    Failure,
    assert_tracked,
    failure_of,
    our_jar,
    resolved_jars,
    session,
    track_a_table,
)
from tests.support.processes import in_new_process
from tests.support.table_log import TableLog

SPARK, DELTA = pyspark.__version__, version("delta-spark")
SPARKS_VERSION = "spark-version-info.properties"
DELTAS_VERSION = "io/delta/package$.class"
EXECUTOR = "org/apache/spark/sql/delta/commands/OptimizeExecutor.class"
ALTER = "org/apache/spark/sql/delta/commands/AlterTableSetPropertiesDeltaCommand.class"


class Vendor(NamedTuple):
    """What follows the versions of Spark and Delta."""

    spark: str
    delta: str


EMR, FABRIC, DATAPROC = (
    Vendor("-amzn-0", "-amzn-1"),
    Vendor(".5.2", ".5.2"),
    Vendor("", ".dataproc-1"),
)
VENDORS = pytest.mark.parametrize(
    "vendor", [EMR, FABRIC, DATAPROC], ids=["emr", "fabric", "dataproc"]
)
Change = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def delta_jars(spark: SparkSession) -> list[str]:
    return resolved_jars(spark)


def spark_of(vendor: Vendor, home: Path, delta_jars: list[str], **changed: Change) -> Path:
    """A Spark home as a vendor's image has it, with Delta's jars, of changed classes, in it."""
    own = Path(pyspark.__file__).parent
    (home / "jars").mkdir(parents=True)
    for file in own.iterdir():
        if file.name != "jars":
            (home / file.name).symlink_to(file)
    sparks = {SPARKS_VERSION: with_text(f"version={SPARK}", f"version={SPARK}{vendor.spark}")}
    deltas = {DELTAS_VERSION: with_other_name(DELTA, f"{DELTA}{vendor.delta}"), **changed}
    for jar in (*(own / "jars").iterdir(), *map(Path, delta_jars)):
        name = jar.name.removeprefix("io.delta_")
        if name.startswith("spark-"):
            name = name.removesuffix(".jar") + f"{vendor.spark}.jar"
        if name.startswith("spark-common-utils_"):
            changed_jar(str(jar), home / "jars" / name, sparks)
        elif name.startswith("delta-spark_"):
            name = name.removesuffix(".jar") + f"{vendor.delta}.jar"
            changed_jar(str(jar), home / "jars" / name, deltas)
        else:
            (home / "jars" / name).symlink_to(jar)
    return home


def with_text(old: str, new: str) -> Change:
    return lambda content: content.replace(old.encode(), new.encode())


def vendors_session(home: Path, folder: Path) -> SparkSession:
    """As on a machine with that Spark, where our jar is all that one adds."""
    os.environ["SPARK_HOME"] = str(home)
    return session(folder, [our_jar()]).getOrCreate()


def tracked_with(home: Path, folder: Path) -> tuple[list[str], list[Diagnosis]]:
    """What DESCRIBE HISTORY and the doctor tell there."""
    spark = vendors_session(home, folder)
    track_a_table(spark, folder / "t")
    history = spark.sql(f"DESCRIBE HISTORY delta.`{folder / 't'}`").collect()
    found = [installation.spark(os.environ), installation.delta(os.environ, {})]
    return [row.engineInfo for row in history], found


def started_with(home: Path, folder: Path) -> Failure | None:
    return failure_of(lambda: vendors_session(home, folder))


def refusal_of(vendor: Vendor, folder: Path, delta_jars: list[str], **changed: Change) -> Failure:
    home = spark_of(vendor, folder / "spark", delta_jars, **changed)
    failure = in_new_process(started_with, home, folder)
    assert failure is not None
    return failure


@pytest.mark.every_variant
@VENDORS
def test_a_vendors_releases_that_fit_are_served(
    tmp_path: Path, delta_jars: list[str], vendor: Vendor
) -> None:
    home = spark_of(vendor, tmp_path / "spark", delta_jars)
    spark, delta = f"{SPARK}{vendor.spark}", f"{DELTA}{vendor.delta}"

    engines, (of_spark, of_delta) = in_new_process(tracked_with, home, tmp_path)

    assert_tracked(tmp_path / "t")
    assert set(engines) == {f"Apache-Spark/{spark} Delta-Lake/{delta}"}
    assert [info["engineInfo"] for info in TableLog(tmp_path / "t").actions("commitInfo")] == [
        f"Apache-Spark/{spark} Delta-Lake/{delta}"
    ]
    assert (of_spark.status, of_delta.status) == (OK, NOTE)
    assert of_spark.found.startswith(f"{spark} of Scala")
    assert of_delta.found.endswith(f"-{delta}.jar")


@VENDORS
def test_a_delta_without_a_private_method_is_refused(
    tmp_path: Path, delta_jars: list[str], vendor: Vendor
) -> None:
    """All that does not fit is told by its name, and nothing of ours is woven."""
    change = with_other_name("runOptimizeBinJob", "runVendorsBinJob")

    failure = refusal_of(vendor, tmp_path, delta_jars, **{EXECUTOR: change})

    assert failure.condition == "USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION"
    assert failure.parameters["version"] == f"{DELTA}{vendor.delta}"
    assert "runOptimizeBinJob" in failure.parameters["mismatches"]


@VENDORS
def test_a_delta_that_needs_what_this_spark_lacks_is_refused(
    tmp_path: Path, delta_jars: list[str], vendor: Vendor
) -> None:
    change = with_other_name("java/io/Serializable", "java/io/Gone")

    failure = refusal_of(vendor, tmp_path, delta_jars, **{ALTER: change})

    assert failure.condition == "USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION"
    assert failure.parameters["spark"] == f"{SPARK}{vendor.spark}"
    assert failure.parameters["delta"].startswith(f"{DELTA}{vendor.delta}, whose ALTER TABLE")
    assert "`java.io.Gone`" in failure.parameters["delta"]
