# SPDX-License-Identifier: Apache-2.0
"""Tests erasures of many places, and certificates that continue earlier ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import Certificate
from spark_ext.__main__ import main
from spark_ext.errors import NotACertificateError
from tests.integration.erasures import (
    MARKER,
    SHORT,
    clean_up_log,
    footers_and_log,
    only,
    renamed_by_uuid,
    report,
    top_level,
    verdict,
)
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.releases import PURGES

pytestmark = pytest.mark.without("parquet")


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    spark.sql("CREATE SCHEMA erased")
    try:
        yield "erased"
    finally:
        spark.sql("DROP SCHEMA erased CASCADE")


def test_places_are_schemas_tables_and_paths(
    spark: SparkSession, schema: str, table: Table, capsys: Any, tmp_path: Path
) -> None:
    for name in ("had", "never"):
        spark.sql(f"CREATE TABLE erased.{name} (id INT) USING delta")
    spark.sql("CREATE TABLE erased.other (ssn INT) USING parquet")
    spark.sql("CREATE VIEW erased.view AS SELECT 1 ssn")
    spark.sql(f"ALTER TABLE erased.had SET TBLPROPERTIES ({NAME_MODE})")
    spark.sql("ALTER TABLE erased.had ADD COLUMN ssn STRING")
    spark.sql("ALTER TABLE erased.had DROP COLUMN ssn")
    top_level(table)
    spark.sql(f"CREATE TABLE erased.present USING delta LOCATION '{table.path}'")

    places: list[str | Path] = [schema, "erased.had", table.path]
    found = spark_ext.dropped_columns(spark, *places, column="s?n", progress=None)

    # Each table appears once, under its first name.
    assert [(each.table.split(".")[-1], each.verdict) for each in found.tables] == [
        ("had", "ERASED"),
        ("never", "NEVER_HAD"),
        ("other", "NOT_READ"),
        ("present", "STILL_PRESENT"),
    ]
    assert (found.num_views, found.complete) == (1, False)
    assert found.where == ("erased", "erased.had", str(table.path))
    with refusal("SCHEMA_NOT_FOUND"):
        spark_ext.dropped_columns(spark, "erased.nothing", progress=None)
    assert main(["dropped", "erased.had", "--column", "ssn"]) == 0
    assert "had" in capsys.readouterr().out
    for name in ("had", "never", "present"):
        spark.sql(f"DROP TABLE erased.{name}")
    assert main(["dropped", schema, "--column", "ssn"]) == 1
    assert "other" in capsys.readouterr().out
    spark.sql("DROP TABLE erased.other")
    certificate = tmp_path / "none.json"
    call = ["dropped", schema, "--column", "ssn", "--certificate", str(certificate)]
    assert main(call) == 1
    written = json.loads(certificate.read_text())
    assert (written["verdict"], written["where"], written["tables"]) == ("UNKNOWN", ["erased"], [])


def test_patterns_and_the_predicate_choose_tables(
    spark: SparkSession, schema: str, capsys: Any
) -> None:
    for name in ("a1", "a2", "b1"):
        spark.sql(f"CREATE TABLE erased.{name} (id INT) USING delta")
    spark.sql(f"ALTER TABLE erased.a2 SET TBLPROPERTIES ({TRACKED})")
    spark.sql("CREATE TABLE erased.a3 (ssn INT) USING parquet")

    def names(**options: Any) -> list[str]:
        found = spark_ext.dropped_columns(spark, schema, column="ssn", progress=None, **options)
        return [each.table.split(".")[-1] for each in found.tables]

    assert names(include="A*") == ["a1", "a2", "a3"]
    assert names(include=["a*", "erased.b1"], exclude="*3") == ["a1", "a2", "b1"]
    assert names(only=lambda row: row.tracked is True) == ["a2"]
    with pytest.raises(TypeError, match="only"):
        names(only="a*")
    command = ["dropped", schema, "--column", "ssn", "--include", "a*", "--exclude", "a3", "--json"]
    assert main(command) == 0
    sums, *tables = map(json.loads, capsys.readouterr().out.splitlines())
    assert [each["table"].split(".")[-1] for each in tables] == ["a1", "a2"]
    assert sums["complete"]


def test_command_writes_a_certificate_and_continues_it(
    table: Table, tmp_path: Path, capsys: Any
) -> None:
    top_level(table)
    call = ["dropped", str(table.path), "--column", "ssn", "--json", "--certificate"]

    for name in ("ssn.json", "ssn.html"):
        file = tmp_path / name
        assert main([*call, str(file)]) == 1
        sums, of_table = map(json.loads, capsys.readouterr().out.splitlines())
        assert sums["verdicts"] == {"STILL_PRESENT": 1}
        assert of_table["erasure"]["columns"][0]["path"] == "ssn"
        assert MARKER not in file.read_text()
        # A second certificate continues the first one, and replaces its file.
        assert main([*call, str(file)]) == 1
        capsys.readouterr()
        again = only(report(table, previous=file))
        assert again.earlier is not None
        assert [column.path for column in again.earlier.columns] == ["ssn"]
    assert main(["dropped", str(table.path), "--certificate", str(tmp_path / "x.json")]) == 2
    assert "--column" in capsys.readouterr().err
    with pytest.raises(NotACertificateError):
        report(table, column="other", previous=tmp_path / "ssn.json")
    file.write_text("{}")
    assert main([*call, str(file)]) == 2
    assert "USAGE_TRACKING_NOT_A_CERTIFICATE" in capsys.readouterr().err
    assert file.read_text() == "{}"


def test_certificate_keeps_a_proof_after_runs_that_read_other_tables_or_failed(
    table: Table, tmp_path: Path
) -> None:
    other = Table(table.spark, tmp_path / "other").create_tracked("id INT")
    top_level(table)
    file = tmp_path / "ssn.json"
    call = ["dropped", "--column", "ssn", "--certificate", str(file)]
    assert main([*call, str(table.path)]) == 1

    assert main([*call, str(other.path)]) == 0
    log, away = table.path / "_delta_log", tmp_path / "away"
    log.rename(away)
    assert main([*call, str(table.path), str(other.path)]) == 2
    away.rename(log)

    (kept,) = json.loads(file.read_text())["earlier"]
    assert (kept["verdict"], kept["erasure"]["location"]) == ("STILL_PRESENT", f"file:{table.path}")
    again = only(report(table, previous=file))
    assert again.earlier is not None
    assert [column.path for column in again.earlier.columns] == ["ssn"]


def test_certificate_of_a_live_column_does_not_prove_its_drop(table: Table, tmp_path: Path) -> None:
    table.create("id INT, ssn STRING", NAME_MODE, *SHORT)
    table.insert(f"(1, '{MARKER}')")
    file = tmp_path / "ssn.json"
    first = report(table)
    Certificate.of(first).write(file)
    assert only(first).verdict == "LIVE"

    table.alter("RENAME COLUMN ssn TO token")
    table.usage.remove_column_mapping(progress=None)
    table.spark.sql(f"VACUUM {table.name}")
    clean_up_log(table)

    # No file and no version has the name, and the table has the data.
    assert "ssn" not in footers_and_log(table)
    assert table.selected() == [(1, MARKER)]
    assert verdict(table) == "NEVER_HAD"
    found = only(report(table, previous=file))
    assert found.verdict == "UNKNOWN"
    assert found.erasure is not None
    assert found.erasure.unnamed_columns == ()


def test_drop_of_a_later_column_does_not_prove_the_drop_of_a_renamed_column(
    table: Table, tmp_path: Path
) -> None:
    table.create("id INT, ssn STRING", NAME_MODE, *SHORT)
    table.insert(f"(1, '{MARKER}')")
    file = tmp_path / "ssn.json"
    Certificate.of(report(table)).write(file)
    table.alter("RENAME COLUMN ssn TO token")
    clean_up_log(table)
    table.alter("SET TBLPROPERTIES ('delta.checkpointInterval' = '100')")
    table.alter("ADD COLUMN ssn STRING")
    table.alter("DROP COLUMN ssn")

    assert verdict(table) == "ERASED"
    assert verdict(table, previous=file) == "UNKNOWN"
    assert table.selected() == [(1, MARKER)]


def test_drop_of_a_column_that_a_certificate_found_as_live_is_proved(
    table: Table, tmp_path: Path
) -> None:
    table.create("id INT, ssn STRING", NAME_MODE)
    file = tmp_path / "ssn.json"
    Certificate.of(report(table)).write(file)
    table.alter("DROP COLUMN ssn")

    assert verdict(table, previous=file) == verdict(table) == "ERASED"


def test_earlier_certificate_of_another_table_proves_nothing(table: Table, tmp_path: Path) -> None:
    other = Table(table.spark, tmp_path / "other").create_tracked("id INT")
    top_level(table)

    certificate = Certificate.of(report(table))

    assert verdict(other, previous=certificate) == "NEVER_HAD"


@PURGES
@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("make", "first", "column"),
    [(top_level, "STILL_PRESENT", "ssn"), (renamed_by_uuid, "UNKNOWN", None)],
)
def test_last_verdict_is_never_had_when_the_log_lacked_the_name_before_the_first_step(
    table: Table, tmp_path: Path, make: Callable[[Table], None], first: str, column: str | None
) -> None:
    make(table)
    clean_up_log(table)
    found = only(certified := report(table))
    Certificate.of(certified).write(tmp_path / "ssn.json")
    physical = (found.columns[0].physical_path or "").strip("`")
    assert (found.verdict, physical in footers_and_log(table)) == (first, True)

    # Without a column, the call also erases columns whose name is not known.
    report(table, column=column, apply=True)
    clean_up_log(table)

    assert physical not in footers_and_log(table)
    assert verdict(table, previous=tmp_path / "ssn.json") == "NEVER_HAD"
