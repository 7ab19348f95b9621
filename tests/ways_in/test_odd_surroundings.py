# SPDX-License-Identifier: Apache-2.0
"""Tests applications on machines with unusual settings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.custom_sessions import CATALOG, DELTA, OURS, our_jar
from tests.support.releases import DELTA_COORDINATES
from tests.support.table_log import TableLog
from tests.ways_in import shells
from tests.ways_in.place import Place
from tests.ways_in.tracked import REFUSED, SET_FLAG, statements

APPLICATION = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
for statement in {statements}:
    spark.sql(statement)
spark.sql("ALTER TABLE {table} ADD COLUMN `gr\\u00f6\\u00dfe \\u6f22` INT")
try:
    spark.sql({refused!r})
except Exception as error:
    print("condition:", error.getCondition())
spark.stop()
"""


@pytest.mark.matrix
@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"LC_ALL": "C", "JAVA_TOOL_OPTIONS": "-Dfile.encoding=US-ASCII"},
        {"LC_ALL": "tr_TR.UTF-8", "JAVA_TOOL_OPTIONS": "-Duser.language=tr -Duser.country=TR"},
    ],
    ids=["POSIX", "ASCII", "Turkish"],
)
def test_session_starts_in_a_read_only_folder_without_home_with_a_space_in_the_jar_path(
    place: Place, tmp_path: Path, variables: dict[str, str]
) -> None:
    folder = tmp_path / "my jars"
    folder.mkdir()
    jar = Path(shutil.copy(our_jar(), folder))
    table = f"delta.`{tmp_path / 't'}`"
    application = place.write(
        "app.py",
        APPLICATION.format(
            statements=json.dumps(statements(table=table)),
            refused=SET_FLAG.format(t=table),
            table=table,
        ),
    )
    home = shells.output_of("echo $HOME", tmp_path).strip()
    command = (
        f"unset HOME; cd /proc; exec spark-submit --packages {DELTA_COORDINATES}"
        f" --conf spark.jars.ivy={home}/.ivy2.5.2 --jars '{jar}'"
        f" --conf spark.sql.extensions={DELTA},{OURS}"
        f" --conf spark.sql.catalog.spark_catalog={CATALOG}"
        f" --conf spark.sql.warehouse.dir={tmp_path / 'warehouse'} {application}"
    )

    submitted = place.run(command, **variables)

    assert f"condition: {REFUSED}" in submitted.stdout, submitted.stderr
    log = TableLog(tmp_path / "t")
    assert log.version == 5
    assert "größe 漢" in log.physical_names
    assert log.is_tracked
    assert log.flag == "true"
    assert log.at(1).physical_names == {"a": "a", "b": "b", "c": "c"}
