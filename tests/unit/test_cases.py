# SPDX-License-Identifier: Apache-2.0
"""Runs the rules on each commit in `cases/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from spark_ext.model.keys import FEATURE_PROPERTY, HAS_DROPPED_OR_RENAMED
from spark_ext.model.metadata import TableMetadata
from spark_ext.process.questions import ask
from spark_ext.rules import RULES
from tests.unit import fake_delta
from tests.unit.case_files import cases
from tests.unit.tables import columns, table, wire, wire_protocol

CASES = cases()
COMMIT = {
    "creatingTable": False,
    "copiesUntracked": False,
    "enabledByDefault": False,
    "featureDefault": False,
    "flagDefault": False,
}


@pytest.mark.parametrize("name", CASES)
def test_rules_decide_the_case(name: str) -> None:
    case = CASES[name]
    new, request = _request(case)

    answer = json.loads(ask("next_metadata", json.dumps(request)))

    if "error" in case["expected"]:
        expected = case["expected"]["error"]
        assert expected == {key: answer["error"][key] for key in expected}
        return
    assert "error" not in answer
    changed = answer["configuration"]
    result = {**new.configuration, **changed}
    assert case["expected"]["flag"] == result.get(HAS_DROPPED_OR_RENAMED)
    assert case["expected"]["columns"] == columns(_schema(answer, new))
    changed.pop(HAS_DROPPED_OR_RENAMED, None)
    assert case["expected"].get("properties", {}) == changed


def test_every_rule_has_cases() -> None:
    with_cases = {name.partition("/")[0] for name in CASES}

    assert {getattr(rule, "__name__", None) for rule in RULES} == with_cases


def _request(case: Mapping[str, Any]) -> tuple[TableMetadata, dict[str, Any]]:
    facts = dict.fromkeys(case["facts"], True)
    overwrites = facts.pop("overwritingSchema", False)  # only `fake_delta` needs it
    if facts.pop("requested", False):
        case["proposed"].setdefault("properties", {})[FEATURE_PROPERTY] = "supported"
    old = table(**case["old"] or {})
    proposed = table(**case["proposed"])
    if "new" in case:
        new = table(**case["new"])
    else:
        new = fake_delta.assigned(
            old,
            proposed,
            creating_table=facts.get("creatingTable", False),
            overwriting_schema=overwrites,
        )
    protocol = wire_protocol(writer_features=case["features"])
    request = {"old": wire(old), "proposed": wire(proposed), "assigned": wire(new)}
    return new, request | {"commit": COMMIT | {"protocol": protocol} | facts}


def _schema(answer: Mapping[str, Any], new: TableMetadata) -> Mapping[str, Any]:
    if answer["schema"] is None:
        return new.schema
    known = new.schema["fields"]
    fields = [
        known[field] if isinstance(field, int) else field for field in answer["schema"]["fields"]
    ]
    return {**answer["schema"], "fields": fields}
