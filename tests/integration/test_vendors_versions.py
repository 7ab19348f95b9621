# SPDX-License-Identifier: Apache-2.0
"""Tests Spark and Delta with changes and versions of vendors."""

from __future__ import annotations

import json
import os
import venv
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import py4j
import pyspark
import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext.doctor import CONFIGURE, NOTE, OK, SKIPPED, Diagnosis, Trial, describe, diagnosis
from spark_ext.launch import JARS, defaults
from tests.integration.changed_jars import changed_jar, with_other_name
from tests.support import custom_sessions
from tests.support.custom_sessions import (
    Failure,
    assert_tracked,
    failure_of,
    our_jar,
    session,
    track_a_table,
)
from tests.support.environments import Environment, run
from tests.support.processes import in_new_process
from tests.support.table_log import TableLog

SPARK, DELTA = pyspark.__version__, version("delta-spark")
SPARKS_VERSION = "spark-version-info.properties"
DELTAS_VERSION = "io/delta/package$.class"
EXECUTOR = "org/apache/spark/sql/delta/commands/OptimizeExecutor.class"
ALTER = "org/apache/spark/sql/delta/commands/AlterTableSetPropertiesDeltaCommand.class"


class Vendor(NamedTuple):
    """The versions of Spark and Delta."""

    spark: str
    delta: str

    @property
    def engine(self) -> str:
        return f"Apache-Spark/{self.spark} Delta-Lake/{self.delta}"


VENDORS = {
    "emr": Vendor(f"{SPARK}-amzn-0", f"{DELTA}-amzn-1"),
    "fabric": Vendor(f"{SPARK}.5.2", f"{DELTA}.5.2"),
    "dataproc": Vendor(SPARK, f"{DELTA}.dataproc-1"),
}


def each_vendor(first: str) -> pytest.MarkDecorator:
    """Returns the variants of a test, of which `make test-all` runs the first."""
    names = sorted(VENDORS, key=lambda name: name != first)
    return pytest.mark.parametrize("vendor", [VENDORS[name] for name in names], ids=names)


Change = Callable[[bytes], bytes]


def spark_of(vendor: Vendor, home: Path, delta_jars: list[str], **changed: Change) -> Path:
    """Writes a Spark home of a vendor, with Delta's jars and some changed classes."""
    own = Path(pyspark.__file__).parent
    (home / "jars").mkdir(parents=True)
    for file in own.iterdir():
        if file.name != "jars":
            (home / file.name).symlink_to(file)
    sparks = {SPARKS_VERSION: with_text(f"version={SPARK}", f"version={vendor.spark}")}
    deltas = {DELTAS_VERSION: with_other_name(DELTA, vendor.delta), **changed}
    for jar in (*(own / "jars").iterdir(), *map(Path, delta_jars)):
        name = jar.name.removeprefix("io.delta_")
        if name.startswith("spark-"):
            name = name.replace(f"-{SPARK}", f"-{vendor.spark}")
        if name.startswith("spark-common-utils_"):
            changed_jar(str(jar), home / "jars" / name, sparks)
        elif name.startswith("delta-spark_"):
            name = name.replace(f"-{DELTA}", f"-{vendor.delta}")
            changed_jar(str(jar), home / "jars" / name, deltas)
        else:
            (home / "jars" / name).symlink_to(jar)
    return home


def with_text(old: str, new: str) -> Change:
    return lambda content: content.replace(old.encode(), new.encode())


def vendors_session(home: Path, folder: Path) -> SparkSession:
    """Starts a session of a vendor's Spark, to which the user adds our jar only."""
    os.environ["SPARK_HOME"] = str(home)
    return session(folder, [our_jar()]).getOrCreate()


def finding_of(spark: SparkSession, of_defaults: Trial | None = None) -> Diagnosis:
    """Returns the doctor's finding of a session that tracked a table."""
    trial = Trial()
    describe(spark.sparkContext, trial)
    return diagnosis(CONFIGURE, trial, of_defaults)


def tracked_with(home: Path, folder: Path) -> tuple[list[str], Diagnosis]:
    """Tracks a table and makes one file of two; returns the history and the doctor's finding."""
    spark = vendors_session(home, folder)
    track_a_table(spark, folder / "t")
    spark.range(4, numPartitions=2).write.format("delta").save(str(folder / "files"))
    spark.sql(f"OPTIMIZE delta.`{folder / 'files'}`")
    history = spark.sql(f"DESCRIBE HISTORY delta.`{folder / 't'}`").collect()
    return [row.engineInfo for row in history], finding_of(spark)


def started_with(home: Path, folder: Path) -> Failure | None:
    return failure_of(lambda: vendors_session(home, folder))


def refusal_of(vendor: Vendor, folder: Path, delta_jars: list[str], **changed: Change) -> Failure:
    home = spark_of(vendor, folder / "spark", delta_jars, **changed)
    failure = in_new_process(started_with, home, folder)
    assert failure is not None
    return failure


def assert_served(vendor: Vendor, folder: Path, delta_jars: list[str]) -> None:
    """Tries the vendor's jars, with another name for a private method that no hook names."""
    change = with_other_name("createMetrics", "createVendorsMetrics")
    home = spark_of(vendor, folder / "spark", delta_jars, **{EXECUTOR: change})

    engines, of_session = in_new_process(tracked_with, home, folder)

    assert_tracked(folder / "t")
    optimized = TableLog(folder / "files").actions("commitInfo")
    assert [info["operation"] for info in optimized] == ["OPTIMIZE"]
    written = [*optimized, *TableLog(folder / "t").actions("commitInfo")]
    assert {info["engineInfo"] for info in written} == {vendor.engine}
    assert set(engines) == {vendor.engine}
    assert of_session.status == OK
    assert f"Spark {vendor.spark} with delta-spark {vendor.delta} at " in of_session.found
    assert of_session.found.endswith(f"-{vendor.delta}.jar")


@each_vendor("emr")
def test_releases_of_vendors_are_accepted_when_they_fit(
    tmp_path: Path, delta_jars: list[str], vendor: Vendor
) -> None:
    assert_served(vendor, tmp_path, delta_jars)


def tracked_by(way: str, home: Path, folder: Path) -> tuple[set[str], Diagnosis]:
    """Tracks a table with defaults that name Delta's jars and ours; returns history and finding."""
    os.environ["SPARK_HOME"] = str(home)
    settings = defaults(home / "conf" / "spark-defaults.conf")
    builder = session(folder, [settings[JARS]] if way == "configure, of its builder" else [])
    if way != "the defaults":
        spark_ext.configure(builder)
    spark = builder.getOrCreate()
    track_a_table(spark, folder / "t")
    history = spark.sql(f"DESCRIBE HISTORY delta.`{folder / 't'}`").collect()
    entry = "io/delta/sql/DeltaSparkSessionExtension.class"
    named = [
        f"jar:file:{jar}!/{entry}" for jar in settings[JARS].split(",") if "delta-spark" in jar
    ]
    of_session = finding_of(spark, Trial(delta_places=named))
    return {row.engineInfo for row in history}, of_session


@pytest.mark.parametrize(
    ("way", "tail"),
    [("the defaults", "-amzn-1"), ("configure", ""), ("configure, of its builder", "-amzn-1")],
)
def test_delta_of_the_defaults_runs_unless_configure_replaces_it(
    tmp_path: Path, delta_jars: list[str], way: str, tail: str
) -> None:
    """EMR Serverless and EMR on EKS have Delta outside of Spark's own folder."""
    vendor = VENDORS["emr"]
    home = spark_of(vendor, tmp_path / "spark", delta_jars)
    (tmp_path / "aws").mkdir()
    there = list((home / "jars").glob("delta-*.jar"))
    moved = [jar.rename(tmp_path / "aws" / jar.name) for jar in there]
    (home / "conf").mkdir()
    jars = ",".join([*map(str, moved), our_jar()])
    (home / "conf" / "spark-defaults.conf").write_text(f"{JARS} {jars}\n")

    engines, of_session = in_new_process(tracked_by, way, home, tmp_path)

    assert_tracked(tmp_path / "t")
    assert engines == {vendor._replace(delta=f"{DELTA}{tail}").engine}
    replaced = f"replace the Delta of the defaults, {tmp_path}/aws/"
    assert (replaced in str(of_session.problem)) is (way == "configure")


@pytest.mark.skipif((SPARK, DELTA) != ("4.1.1", "4.2.0"), reason="of Dataproc 3.0's pair")
def test_pair_is_accepted_when_a_vendor_repaired_it(tmp_path: Path, delta_jars: list[str]) -> None:
    """Spark 4.1.2 lacks a class that Delta 4.2.0 needs, and the vendor's Spark has it."""
    assert_served(Vendor("4.1.2", "4.2.0.dataproc-1"), tmp_path, delta_jars)


@pytest.mark.matrix
@each_vendor("dataproc")
def test_delta_is_refused_when_its_commands_need_a_class_that_spark_lacks(
    tmp_path: Path, delta_jars: list[str], vendor: Vendor
) -> None:
    change = with_other_name("java/io/Serializable", "java/io/Gone")

    failure = refusal_of(vendor, tmp_path, delta_jars, **{ALTER: change})

    assert failure.condition == "USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION"
    assert failure.sql_state == "0A000"
    assert failure.parameters["spark"] == vendor.spark
    assert failure.parameters["delta"].startswith(f"{vendor.delta}, whose ALTER TABLE")
    assert "`java.io.Gone`" in failure.parameters["delta"]


ATTACHED = """
import json
import sys

from pyspark.sql import SparkSession

import spark_ext

builder = SparkSession.builder.config(map=json.loads(sys.argv[2]))
spark = spark_ext.attach(builder.getOrCreate())
table = f"delta.`{sys.argv[1]}`"
spark.sql(f'''CREATE TABLE {table} (a INT, b STRING) USING delta TBLPROPERTIES (
    'delta.columnMapping.mode' = 'name',
    'delta.feature.columnMappingUsageTracking' = 'supported')''')
spark.sql(f"ALTER TABLE {table} ADD COLUMN c INT")
spark.sql(f"ALTER TABLE {table} RENAME COLUMN a TO d")
spark.stop()
"""


@pytest.fixture
def alone(tmp_path: Path, delta_jars: list[str]) -> Callable[..., str]:
    """Runs a Python with our package beside a vendor's Spark.

    `pip install --no-deps` installs neither pyspark nor delta-spark.
    """
    home = spark_of(VENDORS["emr"], tmp_path / "spark", delta_jars)
    modules = tmp_path / "modules"
    modules.mkdir()
    for module in (pyspark, py4j):
        (modules / module.__name__).symlink_to(Path(module.__path__[0]))
    venv.create(tmp_path / "venv", symlinks=True)
    environment = Environment(tmp_path / "venv")
    ours = Path(spark_ext.__file__).parent
    (environment.site_packages / ours.name).symlink_to(ours)
    vendors = {"SPARK_HOME": str(home), "PYTHONPATH": str(modules)}
    return partial(run, environment.python, cwd=tmp_path, **vendors)


@pytest.mark.matrix
def test_package_needs_no_other_package_beside_a_vendors_spark(
    tmp_path: Path, alone: Callable[..., str]
) -> None:
    settings = session(tmp_path, extensions=[custom_sessions.DELTA])._options

    alone("-c", ATTACHED, tmp_path / "t", json.dumps(settings))

    assert_tracked(tmp_path / "t")


@pytest.mark.matrix
def test_doctor_needs_no_other_package_beside_a_vendors_spark(alone: Callable[..., str]) -> None:
    printed = alone("-m", "spark_ext", "doctor", "--json")

    statuses = {finding["check"]: finding["status"] for finding in json.loads(printed)["findings"]}
    assert statuses == {"python": OK, "defaults": NOTE, "configure": SKIPPED}
