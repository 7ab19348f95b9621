# SPDX-License-Identifier: Apache-2.0
"""Tests that the golden tables equal their JSON, and that spark-ext writes them so."""

from __future__ import annotations

import shutil
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr, lit

from tests.golden.plain import plain_session
from tests.golden.states import comparable, make, statement
from tests.support.audited import HARMLESS, findings
from tests.support.delta_table import refusal
from tests.support.golden_tables import GOLDEN, STATES, placed, seen, without_nulls
from tests.support.table_log import TableLog

Json = dict[str, Any]

# The tables with most steps come first.
STEPS = [
    (name, step)
    for name in sorted(STATES, key=lambda name: -len(STATES[name]["writes"]))
    for step in STATES[name]["writes"]
]
# Every run includes the first of the steps with the same checks.
CORE = dict(reversed([(frozenset(step["checks"]), (name, step["what"])) for name, step in STEPS]))
WRITES = [
    pytest.param(
        name,
        step,
        id=f"{name}: {step['what']}",
        marks=pytest.mark.every_variant
        if (name, step["what"]) in CORE.values()
        else pytest.mark.matrix,
    )
    for name, step in STEPS
]


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the tables of the repository, at a place where clones find their source."""
    return placed(tmp_path_factory.mktemp("placed") / "golden")


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the tables, made again."""
    folder = tmp_path_factory.mktemp("made")
    with plain_session(spark, folder) as plain:
        make(folder / "golden", spark, plain)
    return folder / "golden"


@pytest.mark.parametrize("name", STATES)
@pytest.mark.every_variant
def test_golden_tables_equal_their_json(golden: Path, name: str) -> None:
    expected = dict(STATES[name]["reads"])
    del expected["checks"]
    expected.pop("filters", None)

    assert seen(golden / name) == expected
    newest = TableLog(golden / name).version
    flags = [TableLog(golden / name, version).flag for version in range(newest + 1)]
    assert flags == [step["flag"] for step in STATES[name]["made"]]
    found = {finding.check for finding in findings(golden / name)}
    assert found - HARMLESS == set(STATES[name].get("findings", []))


def test_files_of_mode_id_have_the_ids_of_the_columns(golden: Path) -> None:
    log = TableLog(golden / "flag_true_by_id")

    assert TableLog(golden / "flag_false_by_id").parquet_field_ids() == {"id": 1, "by": 2}
    ids = {field.physical_name: field.id for field in log.fields.values()}
    assert log.parquet_field_ids() == ids


@pytest.mark.matrix  # takes half of the time of this file
def test_golden_tables_are_reproducible(made: Path) -> None:
    assert {name: comparable(made / name) for name in STATES} == {
        name: comparable(GOLDEN / name) for name in STATES
    }


def test_spark_reads_the_rows_of_the_json(spark: SparkSession, golden: Path) -> None:
    for name, state in STATES.items():
        frame = spark.read.format("delta").load(str(golden / name))
        rows = [without_nulls(row.asDict(recursive=True)) for row in frame.collect()]
        assert sorted(rows, key=lambda row: row["id"]) == state["reads"]["rows"]
        filters = state["reads"].get("filters", [])
        wheres = [expr(each["column"]).eqNullSafe(each["value"]) for each in filters]
        # Each filter has a scan of its own in one query.
        scans = [frame.where(where).select(lit(n), "id") for n, where in enumerate(wheres)]
        found = sorted(reduce(DataFrame.union, scans).collect()) if scans else []
        assert found == [(n, id) for n, each in enumerate(filters) for id in each["ids"]]


@pytest.mark.parametrize(("name", "step"), WRITES)
def test_spark_writes_equal_the_json(
    spark: SparkSession, golden: Path, tmp_path: Path, name: str, step: Json
) -> None:
    for other in STATES:
        if other == name or any(f"{{{other}}}" in sql for sql in step["sql"]):
            shutil.copytree(golden / other, tmp_path / other)
    before = TableLog(tmp_path / name)
    state = seen(before.path)
    statements = [statement(sql, name, tmp_path) for sql in step["sql"]]

    if "refused" in step:
        (sql,) = statements
        with refusal(step["refused"]):
            spark.sql(sql)
        assert seen(before.path) == state
        assert TableLog(before.path).version == before.version
        return
    for sql in statements:
        spark.sql(sql)

    after = TableLog(before.path)
    then = dict(step["then"])
    files, columns = then.pop("files", []), then.pop("fileColumns", None)
    then.pop("free", None)
    assert seen(after.path) == {**state, **then}
    assert after.version == before.version + len(statements)
    assert file_actions(after, since=before.version) == files
    assert columns is None or after.written_columns() == columns


def file_actions(log: TableLog, *, since: int) -> list[str]:
    """Returns whether files were added and removed after a version."""
    kinds = {"add": "added", "remove": "removed"}
    commits = log.commits[since + 1 :]
    return sorted(
        {kinds[kind] for each in commits for action in each for kind in kinds.keys() & action}
    )
