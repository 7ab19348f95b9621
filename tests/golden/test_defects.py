# SPDX-License-Identifier: Apache-2.0
"""Tests that each check finds its defect and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_ext.auditing import CHECKS
from tests.golden.defects import DEFECTS
from tests.golden.workshop import TABLES, Workshop
from tests.support import log_request, proof
from tests.support.audited import findings


@pytest.fixture(scope="module")
def workshop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Returns a workshop with every defect."""
    workshop = Workshop(tmp_path_factory.mktemp("golden"), spark)
    for name, make in DEFECTS.items():
        make(workshop, name)
    return workshop


def check_of(defect: str) -> str:
    return defect.split("__")[0]


def test_checks_find_their_defect_and_nothing_else(workshop: Workshop) -> None:
    found = {
        name: {finding.check for finding in findings(workshop.place(name))} for name in DEFECTS
    }

    assert found == {name: {check_of(name)} for name in DEFECTS}


def test_sound_tables_have_no_finding(workshop: Workshop) -> None:
    found = {
        kind: [*findings(workshop.sound(kind)), *proof.findings(workshop.sound(kind))]
        for kind in TABLES
    }

    assert not any(found.values()), found


# The proof reads commits, and a checkpoint only if commit 0 is missing. It reads no protocol
# version and no name of a folder.
NOT_OF_PROOF = {
    *("misleading_name", "partition_folders", "protocol_too_low", "unknown_mode"),
    *("checkpoint_differs", "last_checkpoint_missing", "log_without_commits"),
}
OF_PROOF = {
    "commit_truncated__first_commit": {"commit_truncated", "flag_without_feature"},
    "dropped_column_shown": {"file_columns"},
    "file_unreadable__no_field_ids": {"file_columns"},
    "flag_started_false": {"feature_lost", "flag_started_false", "flag_without_feature"},
    "max_column_id_too_small": {"max_column_id_decreased", "max_column_id_too_small"},
    "statistics_names__as_structs": set(),
}


def test_proof_finds_defects_without_our_code(workshop: Workshop) -> None:
    found = {
        name: {finding.check for finding in proof.findings(workshop.place(name))}
        for name in DEFECTS
    }

    assert found == {name: OF_PROOF.get(name, {check_of(name)} - NOT_OF_PROOF) for name in DEFECTS}


# The defects of files and of their actions.
ODD_FILES = (
    "file_",
    "partition_",
    "statistics_",
    "flag_without_feature",
    "log_without_",
    "commit_truncated",
)


def test_jvm_reads_the_same_log_as_python(workshop: Workshop) -> None:
    paths = [
        *(workshop.sound(kind) for kind in TABLES),
        *(workshop.place(name) for name in DEFECTS if name.startswith(ODD_FILES)),
        *workshop.odd(),
    ]

    for path in paths:
        assert comparable(workshop.logged(path)) == comparable(log_request.log(path)), path


def comparable(log: dict[str, Any]) -> dict[str, Any]:
    """Returns a log without the differences that the two readers may have."""
    for group in log["files"]:
        for problem in ("problem", "vectorProblem"):
            if group[problem] not in (None, "missing"):
                group[problem] = "unreadable"
    for part in (*log["commits"], *log["summaries"]):
        part["actions"] = sorted(
            (_comparable_action(action) for action in part["actions"]), key=repr
        )
    log["files"].sort(key=lambda group: group["example"])
    log["summaries"].sort(key=lambda summary: summary["file"])
    return log


def _comparable_action(action: dict[str, Any]) -> dict[str, Any]:
    """Returns the parts of an action that the checks and the history read."""
    read = {
        "metaData": ("schemaString", "configuration", "partitionColumns"),
        "protocol": ("minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures"),
        "commitInfo": ("operation", "inCommitTimestamp", "userName", "userId", "engineInfo"),
    }
    return {
        kind: {key: _without_order(body[key]) for key in read[kind] if body.get(key) is not None}
        for kind, body in action.items()
    }


def _without_order(value: Any) -> Any:
    return sorted(value.items()) if isinstance(value, dict) else value


def test_checks_have_a_defect_each() -> None:
    assert {check_of(name) for name in DEFECTS} == {check.name for check in CHECKS}
