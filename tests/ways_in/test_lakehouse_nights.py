# SPDX-License-Identifier: Apache-2.0
"""Runs the scripts of "Every night" (docs/lakehouse.md) over tables of a Hive metastore."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.delta_table import NAME_MODE, TRACKED
from tests.support.pages import blocks
from tests.ways_in.place import Place

SECTION = "Every night"
STATEMENTS = [
    f"CREATE TABLE tracked (a INT, b STRING) USING delta TBLPROPERTIES ({NAME_MODE}, {TRACKED})",
    f"CREATE TABLE untracked (a INT, b STRING) USING delta TBLPROPERTIES ({NAME_MODE})",
    f"CREATE TABLE blocked (`a b` INT) USING delta TBLPROPERTIES ({NAME_MODE})",
    "INSERT INTO untracked VALUES (1, 'x')",
]
CREATE = f"""
from pyspark.sql import SparkSession
spark = SparkSession.builder.enableHiveSupport().getOrCreate()
for statement in {STATEMENTS!r}:
    spark.sql(statement)
"""
METASTORE = """<configuration><property><name>javax.jdo.option.ConnectionURL</name>
<value>jdbc:derby:;databaseName={};create=true</value></property></configuration>
"""


@pytest.fixture
def hive(place: Place) -> Place:
    """Returns a folder whose sessions have the tables of a Hive metastore."""
    conf = Path(place.variables["SPARK_CONF_DIR"])
    with (conf / "spark-defaults.conf").open("a") as file:
        file.write("spark.sql.catalogImplementation hive\n")
    (conf / "hive-site.xml").write_text(METASTORE.format(place.directory / "metastore"))
    place.write("create.py", CREATE)
    created = place.run("spark-submit $(python -m spark_ext submit-args) create.py")
    assert created.returncode == 0, created.stderr
    return place


def script(place: Place, language: str, start: str) -> str:
    """Returns a block of the section, with folders of this machine."""
    (text,) = (
        block.text
        for block in blocks("docs/lakehouse.md")
        if (block.section, block.language) == (SECTION, language) and block.text.startswith(start)
    )
    java = Path(shutil.which("java") or "").resolve().parents[1]
    folders = {
        "/usr/lib/jvm/java-17": java,
        "/etc/spark-ext": place.variables["SPARK_CONF_DIR"],
        "/opt/spark-ext/bin": Path(sys.executable).parent,
        "/var/log": place.directory,
    }
    for documented, folder in folders.items():
        text = text.replace(documented, str(folder))
    return text


def outcomes(place: Place) -> dict[str, str]:
    """Returns the outcomes of the tables in the only report, and deletes the report."""
    (report,) = place.directory.glob("removal-*.json")
    tables = json.loads(report.read_text())["tables"]
    report.unlink()
    return {each["table"].split(".")[-1]: each["outcome"] for each in tables}


@pytest.mark.matrix
def test_scripts_of_the_page_remove_column_mapping_from_the_tables_of_hive(hive: Place) -> None:
    night = hive.run(script(hive, "sh", "export"), PATH=os.defpath, SPARK_CONF_DIR="")

    assert night.returncode == 1, night.stderr
    assert outcomes(hive) == {"blocked": "BLOCKED", "tracked": "DONE", "untracked": "DONE"}
    logs = {name: hive.log(name) for name in ("tracked", "untracked", "blocked")}
    assert [log.is_mapped for log in logs.values()] == [False, False, True]
    assert logs["untracked"].parquet_columns() == ["a", "b"]
    assert not logs["untracked"].is_tracked

    hive.write("nightly.py", script(hive, "python", "import sys"))
    application = hive.run(script(hive, "sh", "spark-submit"))

    assert application.returncode == 1, application.stderr
    assert outcomes(hive) == {
        "blocked": "BLOCKED",
        "tracked": "ALREADY_DONE",
        "untracked": "ALREADY_DONE",
    }
    assert {name: hive.log(name).version for name in logs} == {
        name: log.version for name, log in logs.items()
    }
