# SPDX-License-Identifier: Apache-2.0
"""Tests the removal stages as the answer to the JSON request that the JVM sends."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest

from spark_ext.process.questions import ask
from spark_ext.removal.stages import STAGES
from spark_ext.tables.goals import Until
from tests.unit.case_files import table_of
from tests.unit.tables import wire_facts, wire_protocol

TRACKING = "columnMappingUsageTracking"
OURS = ("appendOnly", "invariants", "columnMapping", TRACKING)
OFF = "ALTER TABLE db.t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
DROP_MAPPING = "ALTER TABLE db.t DROP FEATURE columnMapping"
DROP_TRACKING = f"ALTER TABLE db.t DROP FEATURE {TRACKING}"
DROP_PROTECTION = "ALTER TABLE db.t DROP FEATURE checkpointProtection TRUNCATE HISTORY"


def tracked(*features: str) -> tuple[Any, ...]:
    """Returns our protocol with further features of writers."""
    return (2, 7, None, (*OURS, *features))


def readers(*features: str, writers: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """Returns our protocol with features of readers."""
    return (3, 7, ("columnMapping", *features), (*OURS, *features, *writers))


def untracked(*features: str) -> tuple[Any, ...]:
    return (2, 7, None, features or ("columnMapping",))


def stages(text: str, protocol: tuple[Any, ...]) -> list[dict[str, Any]]:
    request = json.dumps(wire_facts(table_of(text), wire_protocol(*protocol)))
    found: list[dict[str, Any]] = json.loads(ask("column_mapping_removal", request))["rows"]
    assert tuple(step["stage"] for step in found) == STAGES
    for step in found:
        reached, is_blocked = step["cost"] == "NOTHING", step["cost"] == "BLOCKED"
        assert step["reached"] == reached
        assert not ((reached or is_blocked) and step["statements"])
        assert bool(step["reasons"]) != reached or step["cost"] == "METADATA"
        assert (step["numFiles"], step["sizeInBytes"]) in ((4, 4096), (0, 0))
        assert is_blocked or (step["numFiles"] > 0) == (step["cost"] in ("COPY", "REWRITE"))
    return found


def reasons(step: dict[str, Any]) -> str:
    """Returns the reasons of a stage, with name and detail; a blank is SPACE."""
    values = [[value for value in why.values() if value] for why in step["reasons"]]
    return ", ".join(" ".join(each).replace("  ", " SPACE") for each in values)


# A case: a protocol, a table => the costs of the stages, with + if a blocked stage names files |
# the reasons of the first stage | of the second | of the third. Reasons at the end may be omitted.
CASES = """
tracked: tracked(), name false {a: 1 a}
    => METADATA METADATA HISTORY | | | RETENTION_PERIOD PERIOD, OTHER_SESSIONS
untracked: (2, 5, None, None), name {a: 1 a}
    => REWRITE METADATA HISTORY | NOT_TRACKED, OTHER_SESSIONS | | RETENTION_PERIOD PERIOD
copy: tracked(), name true {a: 1 x, ü: {column: 2 ü, struct: {d: 3 y}}, e: 4 e}
    => COPY METADATA HISTORY
    | HAS_DROPPED_OR_RENAMED, PHYSICAL_NAME_DIFFERS a x, PHYSICAL_NAME_DIFFERS `ü`.d y
reached unmapped: tracked(), none false {a} => NOTHING METADATA HISTORY
reached readers: (1, 7, None, ("appendOnly", TRACKING, "checkpointProtection")), none false {a}
    => NOTHING NOTHING HISTORY | | | RETENTION_PERIOD PERIOD, OTHER_SESSIONS
only protected: (1, 7, None, ("appendOnly", "checkpointProtection")), none false {a}
    => NOTHING NOTHING HISTORY | | | RETENTION_PERIOD PERIOD
only tracked: (1, 7, None, ("appendOnly", TRACKING)), none false {a} => NOTHING NOTHING METADATA
own period: tracked(), {a} {delta.dropFeatureTruncateHistory.retentionDuration: interval 2 days}
    => NOTHING METADATA HISTORY | |
    | RETENTION_PERIOD checkpointProtection interval 2 days, OTHER_SESSIONS
invalid name: tracked(), name false {a b: 1 a b} => BLOCKED+ BLOCKED BLOCKED
    | INVALID_COLUMN_NAME `a b` SPACE | EARLIER_STAGE unmapped | EARLIER_STAGE unmapped
invalid name and reasons for a copy: tracked(), name true {a b: 1 x} => BLOCKED+ BLOCKED BLOCKED
    | INVALID_COLUMN_NAME `a b` SPACE, HAS_DROPPED_OR_RENAMED, PHYSICAL_NAME_DIFFERS `a b` x
invalid name and vectors: readers("deletionVectors"), name false {a b: 1 a b}
    => BLOCKED+ BLOCKED BLOCKED | INVALID_COLUMN_NAME `a b` SPACE | OTHER_FEATURE deletionVectors
reserved names: tracked(), name false {__Is_Cdc: 1 __Is_Cdc, b: 2 _tmp_metadata_row_index}
    => BLOCKED+ BLOCKED BLOCKED
    | RESERVED_COLUMN_NAME __Is_Cdc __Is_Cdc, RESERVED_COLUMN_NAME b _tmp_metadata_row_index,
    PHYSICAL_NAME_DIFFERS b _tmp_metadata_row_index
reserved name, untracked: untracked(), name {__is_cdc: 1 __is_cdc}
    => BLOCKED+ BLOCKED BLOCKED | RESERVED_COLUMN_NAME __is_cdc __is_cdc, NOT_TRACKED
name that is not reserved: tracked(), name false {_change_type: 1 _change_type}
    => METADATA METADATA HISTORY
invalid name in a managing catalog: readers("catalogManaged"), name false {a b: 1 a b}
    => BLOCKED+ BLOCKED BLOCKED | INVALID_COLUMN_NAME `a b` SPACE, CATALOG_MANAGED catalogManaged
reserved name in a managing catalog: readers("catalogManaged"), name false {__is_cdc: 1 __is_cdc}
    => BLOCKED BLOCKED BLOCKED
    | RESERVED_COLUMN_NAME __is_cdc __is_cdc, CATALOG_MANAGED catalogManaged
managing catalog: readers("catalogManaged"), name false {a: 1 a} => METADATA BLOCKED BLOCKED |
reader version 2 without column mapping: (2, 7, None, ("appendOnly", TRACKING)), {a}
    => NOTHING BLOCKED BLOCKED
features: readers("deletionVectors", writers=("rowTracking", "changeDataFeed")), name false {a: 1 a}
    => METADATA BLOCKED BLOCKED | | OTHER_FEATURE deletionVectors
    | OTHER_FEATURE deletionVectors, OTHER_FEATURE rowTracking
vectors alone: (3, 7, ["deletionVectors"], ["deletionVectors"]), {a} => NOTHING BLOCKED BLOCKED
V2 enabled: tracked("icebergCompatV2"), name false {a: 1 a} {delta.enableIcebergCompatV2: "true"}
    => BLOCKED BLOCKED BLOCKED | OTHER_FEATURE icebergCompatV2 delta.enableIcebergCompatV2
    | OTHER_FEATURE icebergCompatV2 | OTHER_FEATURE icebergCompatV2
V2: tracked("icebergCompatV2"), name false {a: 1 a}
    => METADATA BLOCKED BLOCKED | | OTHER_FEATURE icebergCompatV2 | OTHER_FEATURE icebergCompatV2
V1 enabled: tracked("icebergCompatV1"), name false {a: 1 a} {delta.enableIcebergCompatV1: "true"}
    => BLOCKED BLOCKED BLOCKED | OTHER_FEATURE icebergCompatV1 delta.enableIcebergCompatV1
V3 enabled, which no property disables: tracked("icebergCompatV3"), name false {a: 1 a}
    {delta.enableIcebergCompatV3: "true"}
    => BLOCKED BLOCKED BLOCKED | OTHER_FEATURE icebergCompatV3
V3: tracked("icebergCompatV3"), name false {a: 1 a} => METADATA BLOCKED BLOCKED |
adaptive metadata, by enableAdaptiveMetadataDependentFeatures in OptimisticTransaction.scala:
    readers(writers=("adaptiveMetadata-preview",)), name false {a: 1 a}
    => BLOCKED BLOCKED BLOCKED | OTHER_FEATURE adaptiveMetadata-preview
metadata left: tracked(), none false {a: 1 a}
    => METADATA METADATA HISTORY | MAPPING_METADATA_LEFT
metadata left, untracked: untracked(), none false {a: 1 a}
    => REWRITE METADATA HISTORY | MAPPING_METADATA_LEFT, NOT_TRACKED
metadata left, unmappable: (1, 2, None, None), none false {a: 1 a} => BLOCKED NOTHING NOTHING
renamed column left: tracked(), none true {a: 1 a, b: 2 col-2}
    => BLOCKED BLOCKED BLOCKED | MAPPING_METADATA_LEFT, PHYSICAL_NAME_DIFFERS b col-2
renamed column left, untracked: untracked(), none true {a: 1 a, b: 2 col-2}
    => BLOCKED BLOCKED BLOCKED | MAPPING_METADATA_LEFT, PHYSICAL_NAME_DIFFERS b col-2
versions 1 and 2: (1, 2, None, None), {a} => NOTHING NOTHING NOTHING
versions 1 and 4: (1, 4, None, None), {a} => NOTHING NOTHING NOTHING
versions 1 and 5: (1, 5, None, None), {a} => NOTHING NOTHING NOTHING
versions 1 and 6: (1, 6, None, None), {a} => NOTHING NOTHING BLOCKED
versions 1 and 7: (1, 7, None, ("invariants",)), {a} => NOTHING NOTHING NOTHING
versions 2 and 2: (2, 2, None, None), {a} => NOTHING BLOCKED NOTHING
versions 2 and 5: (2, 5, None, None), {a} => NOTHING METADATA HISTORY
versions 2 and 6: (2, 6, None, None), {a} => NOTHING METADATA BLOCKED
versions 3 and 7: (3, 7, [], []), {a} => NOTHING BLOCKED NOTHING
"""
ROW = re.compile(r"(.+?): (.+?\)), ((?:name |none )?.*) => ([^|]*?)(?: \|(.*))?$")
ROWS = [ROW.match(line) for line in CASES.replace("\n    ", " ").strip().splitlines()]
PERIOD = "checkpointProtection interval 24 hours"


@pytest.mark.parametrize("case", ROWS, ids=lambda case: str(case[1]))
def test_stages_have_their_costs_and_reasons(case: re.Match[str]) -> None:
    _, protocol, text, costs, expected = case.groups()

    found = stages(text, eval(protocol))

    marks = ["+" * (step["cost"] == "BLOCKED" and step["numFiles"] > 0) for step in found]
    assert " ".join(step["cost"] + mark for step, mark in zip(found, marks, strict=True)) == costs
    wanted = [] if expected is None else expected.replace(" PERIOD", f" {PERIOD}").split("|")
    assert [reasons(step) for step in found][: len(wanted)] == [each.strip() for each in wanted]


@pytest.mark.parametrize(
    ("protocol", "text", "statements"),
    [
        (tracked(), "name {a: 1 a}", [[OFF], [DROP_MAPPING], [DROP_TRACKING, DROP_PROTECTION]]),
        (untracked(), "name {a: 1 a}", [[OFF], [DROP_MAPPING], [DROP_PROTECTION]]),
        (tracked(), "none false {a: 1 a}", [[DROP_MAPPING]]),
    ],
)
def test_stages_have_their_statements(
    protocol: tuple[Any, ...], text: str, statements: list[list[str]]
) -> None:
    found = stages(text, protocol)

    assert [step["statements"] for step in found][: len(statements)] == statements
    assert not any(step["exact"] for step in found if step["cost"] == "COPY")


@pytest.mark.parametrize("char", list(" ,;{}()\n\t="))
def test_invalid_character_blocks_the_first_stage(char: str) -> None:
    name = json.dumps(f"b{char}c{char}d")
    (first, *_) = stages(f"name false {{s: {{column: 1 s, struct: {{{name}: 2 x}}}}}}", tracked())

    assert first["reasons"][0] == {
        "reason": "INVALID_COLUMN_NAME",
        "name": f"s.`b{char}c{char}d`",
        "detail": char,
    }


def test_until_accepts_every_stage() -> None:
    assert get_args(Until) == STAGES


@pytest.mark.parametrize("function", ["nothing", "column_mapping_removal"])
def test_unknown_function_or_shape_gets_an_error_answer(function: str) -> None:
    answer = json.loads(ask(function, "{}"))

    assert answer["error"]["condition"] == "USAGE_TRACKING_MALFORMED_MESSAGE"
