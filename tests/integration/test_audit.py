# SPDX-License-Identifier: Apache-2.0
"""An audit as users ask for it: in SQL, in Python, on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from audited import findings
from delta_table import Table, refusal
from pages import commands
from pyspark.sql import SparkSession
from table_log import FLAG

import spark_ext
from spark_ext import AuditResult, Finding
from spark_ext.__main__ import main

NO_FLAG = pytest.mark.broken_table("feature_without_flag", "file_missing")
COLUMNS = ["version", "check", "column", "file", "message", "remedy"]


@pytest.fixture
def broken(table: Table) -> Table:
    """Without its flag since version 3, and without one of its two files."""
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    table.insert("(2, 'y')")
    table.log.append_foreign({"metaData": without_flag(table)})
    (table.path / min(table.log.live_files)).unlink()
    return table


def without_flag(table: Table) -> dict[str, Any]:
    metadata = table.log.metadata
    kept = {key: value for key, value in metadata["configuration"].items() if key != FLAG}
    return {**metadata, "configuration": kept}


def found(findings: tuple[Finding, ...]) -> list[tuple[int | None, str]]:
    return [(finding.version, finding.check) for finding in findings]


def test_a_sound_table_has_no_finding(spark: SparkSession, named_table: Table) -> None:
    named_table.create_tracked()
    named_table.insert("(1, 'x')")

    by_name = spark_ext.audit(spark, "named", progress=None)
    by_path = spark_ext.audit(spark, named_table.path, progress=None)

    assert by_name == AuditResult("named", ())
    assert by_path.findings == ()
    assert repr(by_name) == "named: no findings"


@NO_FLAG
def test_sql_and_python_tell_the_same_worst_first(spark: SparkSession, broken: Table) -> None:
    frame = spark.sql(f"SELECT * FROM column_mapping_audit('{broken.name}')")
    with broken.no_commit():
        result = spark_ext.audit(spark, broken.path)

    assert frame.columns == COLUMNS
    assert found(result.findings) == [(3, "file_missing"), (3, "feature_without_flag")]
    assert [Finding(**row.asDict()) for row in frame.collect()] == list(result.findings)
    assert result.findings == findings(broken.path)


def test_what_it_says_to_do_mends_the_table(spark: SparkSession, table: Table) -> None:
    table.create_tracked("a INT")
    table.log.append_foreign({"metaData": without_flag(table)})
    (lacking,) = spark_ext.audit(spark, table.path, progress=None).findings
    assert lacking.remedy.startswith("Any change of the schema in a session with spark-ext")

    table.alter("ADD COLUMN b INT")

    assert spark_ext.audit(spark, table.path, progress=None).findings == ()


@NO_FLAG
def test_a_sample_reads_so_many_footers(spark: SparkSession, broken: Table) -> None:
    none = spark_ext.audit(spark, str(broken.path), sample=0, progress=None)
    all_of_them = spark_ext.audit(spark, broken.name, sample=2, progress=None)

    assert found(none.findings) == [(3, "feature_without_flag")]
    assert found(all_of_them.findings) == [(3, "file_missing"), (3, "feature_without_flag")]


def test_what_is_no_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    for table in ("nothing", tmp_path):
        with refusal("DELTA_MISSING_DELTA_TABLE"):
            spark_ext.audit(spark, table, progress=None)


# The command; of a process that has a session it takes that one.


@NO_FLAG
def test_the_command_tells_people_what_to_do(broken: Table, capsys: Any) -> None:
    assert main(["audit", str(broken.path)]) == 1

    out = capsys.readouterr().out
    assert out.startswith(f"{broken.path}: 2 findings, the worst first\n")
    assert out.count("What to do: ") == 2


@NO_FLAG
def test_the_command_tells_programs_an_object_a_finding(
    broken: Table, named_table: Table, capsys: Any
) -> None:
    named_table.create_tracked()

    code = main(["audit", "named", broken.name, "--sample", "0", "--json"])

    (line,) = capsys.readouterr().out.splitlines()
    assert code == 1
    assert list(json.loads(line)) == ["table", *COLUMNS]
    assert json.loads(line)["table"] == broken.name


def test_the_commands_of_the_page(named_table: Table, capsys: Any) -> None:
    named_table.create_tracked()
    names = {"db.trips": named_table.name, "/data/trips": str(named_table.path)}

    for words in commands("docs/audit.md", "The command"):
        assert main([names.get(word, word) for word in words]) == 0
    assert capsys.readouterr().out == "named: no findings\n\n"


def test_a_sound_table_is_exit_code_0(named_table: Table, capsys: Any) -> None:
    named_table.create_tracked()

    assert main(["audit", "named"]) == 0
    assert capsys.readouterr().out == "named: no findings\n\n"


@NO_FLAG
def test_what_cannot_be_audited_is_exit_code_2_and_the_rest_is_audited(
    broken: Table, capsys: Any
) -> None:
    assert main(["audit", "nothing", str(broken.path), "--json"]) == 2

    told = capsys.readouterr()
    assert "DELTA_MISSING_DELTA_TABLE" in told.err
    assert len(told.out.splitlines()) == 2


@NO_FLAG
def test_the_command_starts_a_session_of_its_own(broken: Table, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "spark_ext", "audit", str(broken.path), "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )

    assert done.returncode == 1, done.stderr
    assert [json.loads(line)["check"] for line in done.stdout.splitlines()] == [
        "file_missing",
        "feature_without_flag",
    ]
