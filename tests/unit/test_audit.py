# SPDX-License-Identifier: Apache-2.0
"""Tests which logs have which findings, and how the result is shown."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spark_ext
from spark_ext import AuditResult, Finding
from spark_ext.auditing import CHECKS, audit
from spark_ext.auditing.check import MISLEADING, RISK
from spark_ext.log.actions import Summary, TableLog
from spark_ext.model.rows import ddl
from spark_ext.process.questions import ask
from spark_ext.tables.inspect import _sql_name
from tests.unit.logs import audited, log_of
from tests.unit.tables import struct

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
CASES = audited()
TWO = "name false {a: 1 a, b: 2 b}"


def found(log: TableLog) -> list[str]:
    """Returns the findings as `audited_logs.txt` has them."""
    return [
        " ".join(filter(None, [each.check, str(each.version), each.column or each.file]))
        for each in audit(log)
    ]


@pytest.mark.parametrize("name", CASES)
def test_audit_finds_what_the_case_has(name: str) -> None:
    log, expected = CASES[name]

    assert found(log_of(log)) == expected


def test_every_check_has_a_case() -> None:
    findings = [finding.split()[0] for _, expected in CASES.values() for finding in expected]

    assert set(findings) == {check.name for check in CHECKS}


@pytest.mark.parametrize(
    ("feature", "statement"), [("x", "REORG TABLE"), ("catalogManaged", "INSERT OVERWRITE")]
)
def test_remedies_name_statements_that_delta_allows(feature: str, statement: str) -> None:
    log, _ = CASES["the name of a dropped column that files hold"]

    (finding,) = audit(log_of(log.replace("-> name", f"-> [feature {feature}] name")))

    assert [each for each in ("REORG TABLE", "INSERT OVERWRITE") if each in finding.remedy] == [
        statement
    ]


def test_files_with_the_same_defect_are_one_finding() -> None:
    (finding,) = audit(log_of(f"{TWO} -> {TWO}\n file a, x\n file x; since 1; number 4"))

    assert finding.message.startswith("5 file(s)")


def test_parts_of_checkpoints_that_differ_are_named() -> None:
    for other, what in {
        "[feature x] false {a}": "the protocol",
        "[partitions a] false {a}": "the partition columns",
        "false {b}": "the schema",
    }.items():
        *_, finding = audit(log_of(f"false {{a}} -> {other}\n checkpoint 0 of 1"))
        assert (finding.check, what in finding.message) == ("checkpoint_differs", True)


def test_checkpoints_without_metadata_are_found() -> None:
    log = log_of(TWO)
    half = Summary("0.checkpoint.parquet", 0, None, log.commits[0].protocol)
    quiet = Summary("1.1.compacted.json", 1, 1)

    assert found(replace(log, summaries=(half,))) == ["checkpoint_differs 0 0.checkpoint.parquet"]
    assert found(replace(log, last_version=1, summaries=(quiet,))) == []


def test_tracking_feature_needs_writer_version_7() -> None:
    log = log_of("false {a}")
    (commit,) = log.commits
    assert commit.protocol is not None
    low = replace(commit, protocol=replace(commit.protocol, min_writer_version=6))

    assert found(replace(log, commits=(low,))) == ["protocol_too_low 0"]


def test_checkpoint_may_have_the_same_values_in_another_form() -> None:
    properties = '{delta.appendOnly: "true", delta.checkpointInterval: "10"}'
    log = log_of(
        f"name false {{s: {{column: 1 s, struct: {{x: 2 x}}}}}} {properties}\n checkpoint 0"
    )
    (file,) = log.summaries
    assert file.metadata is not None
    written = {**file.metadata.configuration, "delta.appendOnly": True}
    written["delta.checkpointInterval"] = 10
    schema = json.loads(json.dumps(file.metadata.schema).replace(', "metadata": {}', ""))

    for own, findings in ((True, 0), (False, 1)):
        changed = replace(
            file.metadata, configuration={**written, "delta.appendOnly": own}, schema=schema
        )
        assert len(found(replace(log, summaries=(replace(file, metadata=changed),)))) == findings


@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_id_of_any_type_is_no_error(mode: str) -> None:
    log = log_of(f"{mode} true {{a: 1 a, b: 2 b}} -> {mode} true {{a: 1 a, b: 2 b}}\n file a")
    assert log.commits[1].metadata is not None
    text = json.dumps(log.commits[1].metadata.schema)
    schema = json.loads(text.replace('apping.id": 2', 'apping.id": [2]'))
    odd = replace(log.commits[1], metadata=replace(log.commits[1].metadata, schema=schema))

    assert found(replace(log, commits=(log.commits[0], odd)))


def test_checks_have_the_order_of_the_page() -> None:
    checks = PAGE.read_text().split("\n## Checks\n")[1].split("\n## ")[0]

    assert [check.name for check in CHECKS] == re.findall(r"^\| `(\w+)` \|", checks, re.MULTILINE)
    assert len({check.order for check in CHECKS}) == len(CHECKS)


def test_checks_of_a_risk_are_last() -> None:
    risks = [check for check in CHECKS if check.severity == RISK]

    assert risks == [check for check in CHECKS if check.order >= MISLEADING]
    assert f"The checks from `{risks[0].name}` on are a `risk`, all others" in PAGE.read_text()


def test_table_function_returns_the_findings() -> None:
    actions = [
        {
            "metaData": {
                "schemaString": json.dumps(struct({"a b": "1 a"})),
                "partitionColumns": [],
                "configuration": {},
            }
        },
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
    ]
    log = {
        "lastVersion": 0,
        "firstCommit": 0,
        "lastCheckpointTarget": None,
        "truncatedCommits": [],
        "commits": [{"version": 0, "time": 0, "actions": actions}],
        "summaries": [],
        "files": None,
    }
    request = {"name": "t", "metadata": None, "log": log, "folder": None}

    answer = json.loads(ask("column_mapping_audit", json.dumps(request)))

    (row,) = answer["rows"]
    assert list(row.values())[:4] == [0, "mapping_keys_remain", "`a b`", None]
    assert list(row) == [column.split()[0].strip("`") for column in ddl(Finding).split(", ")]


class TestApi:
    @pytest.mark.parametrize("sample", [True, "3", 2.0])
    def test_sample_is_refused_when_not_an_integer(self, sample: Any) -> None:
        with pytest.raises(TypeError, match="use a number"):
            spark_ext.audit(None, "db.t", sample=sample)  # type: ignore[arg-type]

    def test_sample_is_refused_when_negative(self) -> None:
        with pytest.raises(ValueError, match="use at least 0"):
            spark_ext.audit(None, "db.t", sample=-1)  # type: ignore[arg-type]

    def test_table_is_refused_when_neither_text_nor_path(self) -> None:
        with pytest.raises(TypeError, match="neither a table's name nor a path"):
            spark_ext.audit(None, 3)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("table", "name"),
        [
            ("db.t", "db.t"),
            ("db.`a/b`.t", "db.`a/b`.t"),
            ("delta.`/t`", "delta.`/t`"),
            ("/a/b", "delta.`/a/b`"),
            ("s3a://bucket/t`x", "delta.`s3a://bucket/t``x`"),
            (Path("t"), "delta.`t`"),
        ],
    )
    def test_text_with_a_slash_outside_backticks_is_a_path(
        self, table: str | Path, name: str
    ) -> None:
        assert _sql_name(table) == name


class TestResult:
    WORST = Finding(3, "uuid_missing", "`a\nb`", None, "It is <so>.", "Do that.")
    OTHER = Finding(None, "file_missing", None, "part-0", "It is missing.", "Restore it.")
    RISK = Finding(1, "misleading_name", "a", None, "It misleads.", "Align.", "risk")

    def test_text_has_a_table_and_then_each_remedy(self) -> None:
        assert repr(AuditResult("db.t", (self.WORST, self.OTHER))).splitlines() == [
            "db.t: 2 findings (2 damage), worst first",
            "",
            "   severity  version  check         column  file",
            "-  --------  -------  ------------  ------  ------",
            "1  damage          3  uuid_missing  `a\\nb`",
            "2  damage             file_missing          part-0",
            "",
            "1. It is <so>.",
            "  What to do: Do that.",
            "",
            "2. It is missing.",
            "  What to do: Restore it.",
        ]

    def test_findings_are_counted_by_severity(self) -> None:
        result = AuditResult("db.t", (self.WORST, self.OTHER, self.RISK))

        assert (result.num_damages, result.num_risks) == (2, 1)
        assert repr(result).startswith("db.t: 3 findings (2 damage, 1 risk), worst first\n")
        assert repr(AuditResult("db.t", (self.RISK,))).startswith("db.t: 1 finding (1 risk)\n")
        assert [found["severity"] for found in result.as_objects()] == ["damage", "damage", "risk"]

    def test_text_of_a_healthy_table_contains_no_findings(self) -> None:
        assert repr(AuditResult("db.t", ())) == "db.t: no findings"

    def test_results_are_true_without_findings(self) -> None:
        assert AuditResult("db.t", ())
