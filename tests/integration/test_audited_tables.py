# SPDX-License-Identifier: Apache-2.0
"""Audits tables in SQL, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import AuditResult, Finding
from spark_ext.__main__ import main
from tests.support.audited import findings
from tests.support.delta_table import NAME_MODE, TRACKED, Table, forget_logs, refusal
from tests.support.pages import commands
from tests.support.prepared import made_once
from tests.support.table_log import FLAG

pytestmark = pytest.mark.without("auto-compact")

NO_FLAG = pytest.mark.broken_table("feature_without_flag", "file_missing")
BOTH = [(3, "file_missing"), (3, "feature_without_flag")]
COLUMNS = ["version", "check", "column", "file", "message", "remedy", "severity"]


@pytest.fixture
def broken(table: Table) -> Table:
    """Returns a table without its flag since version 3, and without one of its two files."""
    of_two_files(table)
    table.log.append_properties({FLAG: None})
    (table.path / min(table.log.live_files)).unlink()
    return table


@made_once
def of_two_files(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    table.insert("(2, 'y')")


def found(findings: tuple[Finding, ...]) -> list[tuple[int | None, str]]:
    return [(finding.version, finding.check) for finding in findings]


def test_sound_table_has_no_finding(spark: SparkSession, named_table: Table) -> None:
    named_table.create_tracked()
    named_table.insert("(1, 'x')")

    by_name = spark_ext.audit(spark, "named", progress=None)
    by_path = spark_ext.audit(spark, named_table.path, progress=None)

    assert by_name == AuditResult("named", ())
    assert by_path.findings == ()
    assert repr(by_name) == "named: no findings"


@NO_FLAG
def test_sql_and_python_return_the_same_findings_worst_first(
    spark: SparkSession, broken: Table
) -> None:
    frame = spark.sql(f"SELECT * FROM column_mapping_audit('{broken.name}')")
    with broken.no_commit():
        result = spark_ext.audit(spark, broken.path)

    assert frame.columns == COLUMNS
    assert found(result.findings) == BOTH
    assert [Finding(**row.asDict()) for row in frame.collect()] == list(result.findings)
    assert result.findings == findings(broken.path)


@pytest.mark.broken_table("feature_without_flag")
def test_remedy_repairs_the_table(spark: SparkSession, table: Table) -> None:
    table.create_tracked("a INT")
    table.log.append_properties({FLAG: None})
    (lacking,) = spark_ext.audit(spark, table.path, progress=None).findings
    assert lacking.remedy.startswith("Any change of the schema in a session with spark-ext")

    table.alter("ADD COLUMN b INT")

    assert spark_ext.audit(spark, table.path, progress=None).findings == ()


@NO_FLAG
def test_sample_limits_the_footers_read(spark: SparkSession, broken: Table) -> None:
    none = spark_ext.audit(spark, str(broken.path), sample=0, progress=None)
    all_of_them = spark_ext.audit(spark, broken.name, sample=2, progress=None)

    assert found(none.findings) == [(3, "feature_without_flag")]
    assert found(all_of_them.findings) == BOTH


def test_negative_sample_is_refused(spark: SparkSession, table: Table) -> None:
    table.create_tracked()

    with refusal("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE") as refused:
        spark.sql(f"SELECT * FROM column_mapping_audit('{table.name}', -1)")

    assert refused.value.getMessageParameters()["exprName"] == "sample"


def bytes_read(spark: SparkSession) -> int:
    jvm: Any = spark._jvm
    statistics = jvm.org.apache.hadoop.fs.FileSystem.getGlobalStorageStatistics()
    return int(statistics.get("file").getLong("bytesRead"))


def test_sampled_audit_reads_the_log_as_often_as_a_whole_audit(
    spark: SparkSession, table: Table
) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    size = 1_000_000
    table.log.append_foreign({"txn": {"appId": "x" * size, "version": 1}})

    read = [0]
    for sample in (None, None, 1):
        spark_ext.audit(spark, table.path, sample=sample, progress=None)
        read.append(bytes_read(spark))

    # In the first audit, Delta also loads the table.
    whole, sampled = read[2] - read[1], read[3] - read[2]
    assert whole > size
    assert abs(sampled - whole) < size / 2


def test_audit_is_refused_when_there_is_no_table(spark: SparkSession, tmp_path: Path) -> None:
    for table in ("nothing", tmp_path):
        with refusal("DELTA_MISSING_DELTA_TABLE"):
            spark_ext.audit(spark, table, progress=None)


# Logs and files of another writer, or of a failing disk.


@pytest.mark.broken_table("log_without_start")
def test_missing_commit_in_the_middle_is_found(spark: SparkSession, table: Table) -> None:
    of_two_files(table)
    log_file(table, 1).unlink()

    result = spark_ext.audit(spark, table.path, progress=None)

    assert found(result.findings) == [(2, "log_without_start")]


def test_checkpoint_without_commits_is_audited_and_delta_needs_its_commit(
    spark: SparkSession, table: Table
) -> None:
    table.create("a INT", TRACKED, NAME_MODE, "'delta.checkpointInterval' = '2'")
    table.insert("(1)")
    table.insert("(2)")
    commits = {log_file(table, each): log_file(table, each).read_text() for each in range(3)}
    for file in commits:
        file.unlink()
    forget_logs(spark)

    result = spark_ext.audit(spark, table.path, progress=None)

    assert found(result.findings) == [(2, "log_without_commits")]
    assert f"{2:020}.json" in result.findings[0].message
    with pytest.raises(Py4JJavaError, match="Could not find any delta files"):
        table.selected()
    log_file(table, 2).write_text(commits[log_file(table, 2)])  # as the audit says
    assert_sound(table, [(1,), (2,)])


def test_truncated_commit_is_found_and_the_rest_is_audited(
    spark: SparkSession, table: Table
) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    newest = log_file(table, 1)
    newest.write_text(newest.read_text().rstrip("\n")[:-9])
    (table.path / "_delta_log" / f"{1:020}.crc").unlink()
    forget_logs(spark)

    result = spark_ext.audit(spark, table.path, progress=None)

    assert found(result.findings) == [(1, "commit_truncated")]
    assert result.findings[0].file == newest.name
    with pytest.raises(Py4JJavaError, match=newest.name):
        table.selected()
    newest.unlink()  # as the audit says
    assert_sound(table, [])


def assert_sound(table: Table, rows: list[tuple[int]]) -> None:
    forget_logs(table.spark)
    assert table.selected() == rows
    assert spark_ext.audit(table.spark, table.path, progress=None).findings == ()


@NO_FLAG
@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.ansi.enforceReservedKeywords", "true"),
        ("spark.sql.sources.useV1SourceList", ""),
        ("spark.sql.columnNameOfCorruptRecord", "add"),
    ],
)
def test_audit_and_survey_ignore_settings_of_the_session(
    spark: SparkSession, broken: Table, conf: Any, key: str, value: str
) -> None:
    conf(key, value)

    result = spark_ext.audit(spark, broken.path, progress=None)

    assert found(result.findings) == BOTH
    assert spark_ext.survey(spark, str(broken.path), progress=None).tables[0].error is None


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("text", "has_checksum"), [('{"vers', False), ('{"version":0}', True), ("", False)]
)
def test_audit_continues_when_last_checkpoint_file_is_broken(
    spark: SparkSession, table: Table, text: str, has_checksum: bool
) -> None:
    table.create_tracked("a INT")
    last_checkpoint = table.path / "_delta_log" / "_last_checkpoint"
    last_checkpoint.write_text(text)
    if has_checksum:  # of Hadoop, for the file that another writer replaced
        checksum = last_checkpoint.with_name(f".{last_checkpoint.name}.crc")
        checksum.write_bytes(b"crc\0\0\0\2\0" + bytes(4))

    (finding,) = spark_ext.audit(spark, table.path, progress=None).findings

    assert (finding.version, finding.check) == (None, "last_checkpoint_missing")
    assert len(spark.sql(f"SELECT * FROM column_mapping('{table.name}')").collect()) == 1
    last_checkpoint.unlink()


def test_broken_log_file_raises_unreadable_log(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path / "a b%20c")
    table.create("a INT", TRACKED, NAME_MODE, "'delta.checkpointInterval' = '2'")
    for value in range(4):
        table.insert(f"({value})")
    checkpoint = log_file(table, 2).with_suffix(".checkpoint.parquet")
    checkpoint.with_name(f".{checkpoint.name}.crc").unlink()
    commit, whole = log_file(table, 4), log_file(table, 4).read_text()

    checkpoint.write_bytes(b"no Parquet")
    with refusal("USAGE_TRACKING_UNREADABLE_LOG") as refused:
        spark_ext.audit(spark, table.path, progress=None)
    assert refused.value.getMessageParameters()["path"] == f"file:{checkpoint}"
    # If no commit is missing, the history needs no checkpoint.
    for function in ("column_mapping", "column_mapping_history"):
        assert len(spark.sql(f"SELECT * FROM {function}('{table.name}')").collect()) == 1

    checkpoint.write_bytes(b"")  # Delta ignores an empty checkpoint
    assert spark_ext.audit(spark, table.path, progress=None).findings == ()
    commit.write_text(f"no JSON\n{whole}")
    with refusal("USAGE_TRACKING_UNREADABLE_LOG"):
        spark_ext.audit(spark, table.path, progress=None)
    commit.write_text(whole)
    checkpoint.unlink()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"path": "a b.parquet"}, "its path is not the URI of a file"),
        ({"path": "a:b.parquet"}, "its path is not the URI of a file"),
        ({"size": None}, "the log lacks its size"),
        ({"stats": '{"numRe'}, None),
        ({"partitionValues": None}, None),
    ],
)
def test_audit_continues_when_an_add_action_is_invalid(
    spark: SparkSession, table: Table, change: dict[str, Any], problem: str | None
) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    (add,) = table.log.actions("add")
    file, whole = log_file(table, 1), log_file(table, 1).read_text()
    actions = [json.loads(line) for line in whole.splitlines()]
    odd = [{"add": {**add, **change}} if "add" in action else action for action in actions]
    file.write_text("".join(json.dumps(action) + "\n" for action in odd))

    result = spark_ext.audit(spark, table.path, progress=None)

    file.write_text(whole)
    assert [each.check for each in result.findings] == (["file_unreadable"] if problem else [])
    assert problem is None or problem in result.findings[0].message


def log_file(table: Table, version: int) -> Path:
    """Returns a commit's file, and deletes its checksum."""
    file: Path = table.path / "_delta_log" / f"{version:020}.json"
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    return file


# The command uses the session of the process if there is one.


@NO_FLAG
def test_command_prints_findings_and_remedies(
    broken: Table, named_table: Table, capsys: Any
) -> None:
    named_table.create_tracked()

    assert main(["audit", str(broken.path)]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"{broken.path}: 2 findings (2 damage), worst first\n")
    assert out.count("What to do: ") == 2

    # The tables after a missing one are audited too.
    assert main(["audit", "nothing", "named", broken.name, "--sample", "0", "--json"]) == 2
    printed = capsys.readouterr()
    assert "DELTA_MISSING_DELTA_TABLE" in printed.err
    (line,) = printed.out.splitlines()
    assert list(json.loads(line)) == ["table", *COLUMNS]
    assert json.loads(line)["table"] == broken.name


def test_commands_of_the_page_run(named_table: Table, capsys: Any) -> None:
    named_table.create_tracked()
    names = {"db.trips": named_table.name, "/data/trips": str(named_table.path)}

    for words in commands("docs/audit.md", "The command"):
        assert main([names.get(word, word) for word in words]) == 0
    assert set(capsys.readouterr().out.splitlines()) == {"named: no findings", ""}


def test_exit_code_is_1_for_a_risk_when_strict(table: Table, capsys: Any) -> None:
    """The table obeys the protocol: a new column has the former name of a renamed column."""
    table.create_tracked("a INT, b INT")
    table.insert("(1, 2)")
    table.alter("RENAME COLUMN a TO c")
    table.alter("ADD COLUMN a INT")
    path = str(table.path)

    assert main(["audit", path]) == 0
    assert f"{path}: 1 finding (1 risk)" in capsys.readouterr().out.splitlines()
    assert main(["audit", path, "--json"]) == 0
    assert main(["audit", path, "--strict"]) == 1
