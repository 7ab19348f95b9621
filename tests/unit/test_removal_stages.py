# SPDX-License-Identifier: Apache-2.0
"""Tests the removal stages as the answer to the JSON request that the JVM sends."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from spark_ext.model.metadata import TableMetadata
from spark_ext.process.questions import ask
from spark_ext.removal.stages import STAGES
from spark_ext.tables.table import Until
from tests.unit.tables import table, wire_facts, wire_protocol

TRACKING = "columnMappingUsageTracking"
MAPPED_FEATURES = ("appendOnly", "invariants", "columnMapping", TRACKING)

OTHER_SESSIONS = ("OTHER_SESSIONS", None, None)
OFF = "ALTER TABLE db.t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
DROP_MAPPING = "ALTER TABLE db.t DROP FEATURE columnMapping"
DROP_TRACKING = f"ALTER TABLE db.t DROP FEATURE {TRACKING}"
DROP_PROTECTION = "ALTER TABLE db.t DROP FEATURE checkpointProtection TRUNCATE HISTORY"


def stages(metadata: TableMetadata, *protocol: Any) -> list[dict[str, Any]]:
    """Returns the three stages; a protocol is versions, reader features and writer features."""
    request = json.dumps(wire_facts(metadata, wire_protocol(*protocol)))
    found: list[dict[str, Any]] = json.loads(ask("column_mapping_removal", request))["rows"]
    assert [step["stage"] for step in found] == ["unmapped", "readers", "writers"]
    for step in found:
        assert step["reached"] == (step["cost"] == "NOTHING")
        assert not (step["reached"] and (step["reasons"] or step["statements"]))
        has_files = step["cost"] in ("COPY", "REWRITE") or "INVALID_COLUMN_NAME" in names_of(step)
        sizes = (4, 4096) if has_files else (0, 0)
        assert (step["numFiles"], step["sizeInBytes"]) == sizes
        assert not (step["cost"] == "BLOCKED" and step["statements"])
        assert step["cost"] in ("NOTHING", "METADATA") or step["reasons"]
    return found


def names_of(step: dict[str, Any]) -> list[str]:
    return [why["reason"] for why in step["reasons"]]


def costs(found: list[dict[str, Any]]) -> list[str]:
    return [step["cost"] for step in found]


def reasons(step: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
    return [(why["reason"], why["name"], why["detail"]) for why in step["reasons"]]


def test_tracked_table_costs_metadata_and_then_history() -> None:
    found = stages(table({"a": "1 a"}, "name", "false"), 2, 7, None, MAPPED_FEATURES)

    assert costs(found) == ["METADATA", "METADATA", "HISTORY"]
    assert [step["statements"] for step in found] == [
        [OFF],
        [DROP_MAPPING],
        [DROP_TRACKING, DROP_PROTECTION],
    ]
    period = ("RETENTION_PERIOD", "checkpointProtection", "interval 24 hours")
    assert reasons(found[2]) == [period, OTHER_SESSIONS]


def test_copy_names_every_column_that_needs_it() -> None:
    columns = {"a": "1 x", "ü": {"column": "2 ü", "struct": {"d": "3 y"}}, "e": "4 e"}

    (first, *_) = stages(table(columns, "name", "true"), 2, 7, None, MAPPED_FEATURES)

    assert (first["cost"], first["exact"]) == ("COPY", False)
    assert reasons(first) == [
        ("HAS_DROPPED_OR_RENAMED", None, None),
        ("PHYSICAL_NAME_DIFFERS", "a", "x"),
        ("PHYSICAL_NAME_DIFFERS", "`ü`.d", "y"),
    ]


@pytest.mark.parametrize("char", list(" ,;{}()\n\t="))
def test_invalid_character_blocks_the_first_stage(char: str) -> None:
    name = f"b{char}c{char}d"
    metadata = table({"s": {"column": "1 s", "struct": {name: "2 x"}}}, "name", "false")

    (first, *_) = stages(metadata, 2, 7, None, MAPPED_FEATURES)

    assert first["cost"] == "BLOCKED"
    assert reasons(first)[0] == ("INVALID_COLUMN_NAME", f"s.`{name}`", char)


@pytest.mark.parametrize("column", ["a b", "__is_cdc"])
def test_managing_catalog_is_a_reason_when_a_rename_is_needed(column: str) -> None:
    managed = (*MAPPED_FEATURES, "catalogManaged")
    (blocked, *_) = stages(table({column: f"1 {column}"}, "name", "false"), 3, 7, managed, managed)
    (free, *_) = stages(table({"a": "1 a"}, "name", "false"), 3, 7, managed, managed)

    assert reasons(blocked)[1] == ("CATALOG_MANAGED", "catalogManaged", None)
    assert (free["cost"], free["reasons"]) == ("METADATA", [])


@pytest.mark.parametrize("features", [MAPPED_FEATURES, ("columnMapping",)])
def test_reserved_column_name_blocks_the_first_stage(features: tuple[str, ...]) -> None:
    columns = {"__Is_Cdc": "1 col-1", "b c": "2 _tmp_metadata_row_index", "_change_type": "3 x"}

    (first, *_) = stages(table(columns, "name", "true"), 2, 7, None, features)

    assert first["cost"] == "BLOCKED"
    assert [why for why in reasons(first) if why[0] == "RESERVED_COLUMN_NAME"] == [
        ("RESERVED_COLUMN_NAME", "__Is_Cdc", "__Is_Cdc"),
        ("RESERVED_COLUMN_NAME", "`b c`", "_tmp_metadata_row_index"),
    ]


def test_untracked_table_costs_a_rewrite() -> None:
    found = stages(table({"a": "1 a"}, "name"), 2, 5, None, None)

    assert costs(found) == ["REWRITE", "METADATA", "HISTORY"]
    assert reasons(found[0]) == [("NOT_TRACKED", None, None), OTHER_SESSIONS]
    assert found[2]["statements"] == [DROP_PROTECTION]


def test_stages_are_reached_in_turn() -> None:
    unmapped = table({"a": ""}, "none", "false")

    assert costs(stages(unmapped, 2, 7, None, MAPPED_FEATURES)) == [
        "NOTHING",
        "METADATA",
        "HISTORY",
    ]
    dropped = ("appendOnly", TRACKING, "checkpointProtection")
    assert costs(stages(unmapped, 1, 7, None, dropped)) == ["NOTHING", "NOTHING", "HISTORY"]
    protected = ("appendOnly", "checkpointProtection")
    assert costs(stages(unmapped, 1, 7, None, protected)) == ["NOTHING", "NOTHING", "HISTORY"]
    tracked = ("appendOnly", TRACKING)
    assert costs(stages(unmapped, 1, 7, None, tracked)) == ["NOTHING", "NOTHING", "METADATA"]
    for out in [(1, 2, None, None), (1, 4, None, None), (1, 7, None, ("invariants",))]:
        assert costs(stages(unmapped, *out)) == ["NOTHING"] * 3


def test_blocked_stage_blocks_later_stages_that_are_not_reached() -> None:
    invalid = table({"a b": "1 a"}, "name", "false")

    found = stages(invalid, 2, 7, None, MAPPED_FEATURES)

    assert costs(found) == ["BLOCKED"] * 3
    for step in found[1:]:
        assert reasons(step) == [("EARLIER_STAGE", "unmapped", None)]
    # A later stage with its own blocking features names these instead.
    readers = ("columnMapping", "deletionVectors")
    blocked = stages(invalid, 3, 7, readers, (*MAPPED_FEATURES, "deletionVectors"))
    assert reasons(blocked[1]) == [("OTHER_FEATURE", "deletionVectors", None)]
    # Reader version 2 without columnMapping blocks the readers' stage, and the writers' stage too.
    tracked = ("appendOnly", TRACKING)
    assert costs(stages(table({"a": ""}), 2, 7, None, tracked)) == ["NOTHING", "BLOCKED", "BLOCKED"]


def test_other_features_block_the_stages_of_their_readers_and_writers() -> None:
    readers = ("columnMapping", "deletionVectors")
    writers = (*MAPPED_FEATURES, "deletionVectors", "rowTracking", "changeDataFeed")

    found = stages(table({"a": "1 a"}, "name", "false"), 3, 7, readers, writers)

    assert costs(found) == ["METADATA", "BLOCKED", "BLOCKED"]
    assert reasons(found[1]) == [("OTHER_FEATURE", "deletionVectors", None)]
    assert reasons(found[2]) == [
        ("OTHER_FEATURE", "deletionVectors", None),
        ("OTHER_FEATURE", "rowTracking", None),
    ]
    rest = stages(table({"a": ""}), 3, 7, ("deletionVectors",), ("deletionVectors",))
    assert costs(rest) == ["NOTHING", "BLOCKED", "BLOCKED"]


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ((1, 5, None, None), ["NOTHING", "NOTHING", "NOTHING"]),
        ((1, 6, None, None), ["NOTHING", "NOTHING", "BLOCKED"]),
        ((2, 2, None, None), ["NOTHING", "BLOCKED", "NOTHING"]),
        ((2, 5, None, None), ["NOTHING", "METADATA", "HISTORY"]),
        ((2, 6, None, None), ["NOTHING", "METADATA", "BLOCKED"]),
        ((3, 7, (), ()), ["NOTHING", "BLOCKED", "NOTHING"]),
    ],
)
def test_versions_imply_features(protocol: tuple[Any, ...], expected: list[str]) -> None:
    assert costs(stages(table({"a": ""}), *protocol)) == expected


@pytest.mark.parametrize("version", [1, 2, 3])
def test_iceberg_compat_needs_column_mapping(version: int) -> None:
    feature = f"icebergCompatV{version}"
    features = (*MAPPED_FEATURES, feature)
    on = {f"delta.enableIcebergCompatV{version}": "true"}

    enabled = stages(table({"a": "1 a"}, "name", "false", on), 2, 7, None, features)
    disabled = stages(table({"a": "1 a"}, "name", "false"), 2, 7, None, features)

    assert costs(enabled) == ["BLOCKED", "BLOCKED", "BLOCKED"]
    assert costs(disabled) == ["METADATA", "BLOCKED", "BLOCKED"]
    disabled_by = None if version == 3 else f"delta.enableIcebergCompatV{version}"
    assert reasons(enabled[0]) == [("OTHER_FEATURE", feature, disabled_by)]
    for step in (*enabled[1:], *disabled[1:]):
        assert reasons(step) == [("OTHER_FEATURE", feature, None)]


def test_adaptive_metadata_needs_column_mapping_in_every_table() -> None:
    """Delta 4.4.0, OptimisticTransaction.scala, `enableAdaptiveMetadataDependentFeatures`."""
    features = (*MAPPED_FEATURES, "adaptiveMetadata-preview")

    found = stages(table({"a": "1 a"}, "name", "false"), 3, 7, features[:1], features)

    assert [step["cost"] for step in found] == ["BLOCKED", "BLOCKED", "BLOCKED"]
    assert reasons(found[0])[0] == ("OTHER_FEATURE", "adaptiveMetadata-preview", None)


def test_cost_of_mapping_metadata_in_mode_none_depends_on_the_protocol() -> None:
    unmapped = table({"a": "1 a"}, "none", "false")

    (first, *_) = stages(unmapped, 2, 7, None, MAPPED_FEATURES)
    (rewritten, *_) = stages(unmapped, 2, 7, None, ("columnMapping",))
    (stuck, *_) = stages(unmapped, 1, 2, None, None)

    assert (first["cost"], first["statements"]) == ("METADATA", [DROP_MAPPING])
    assert names_of(rewritten) == ["MAPPING_METADATA_LEFT", "NOT_TRACKED"]
    assert rewritten["cost"] == "REWRITE"
    assert stuck["cost"] == "BLOCKED"


@pytest.mark.parametrize("features", [MAPPED_FEATURES, ("columnMapping",)])
def test_renamed_columns_in_mode_none_block_the_rewrite(features: tuple[str, ...]) -> None:
    unmapped = table({"a": "1 a", "b": "2 col-2"}, "none", "true")

    (first, *_) = stages(unmapped, 2, 7, None, features)

    assert (first["cost"], first["statements"]) == ("BLOCKED", [])
    assert reasons(first) == [
        ("MAPPING_METADATA_LEFT", None, None),
        ("PHYSICAL_NAME_DIFFERS", "b", "col-2"),
    ]


def test_blocked_stage_also_has_the_reasons_for_a_copy() -> None:
    (first, *_) = stages(table({"a b": "1 x"}, "name", "true"), 2, 7, None, MAPPED_FEATURES)

    assert names_of(first) == [
        "INVALID_COLUMN_NAME",
        "HAS_DROPPED_OR_RENAMED",
        "PHYSICAL_NAME_DIFFERS",
    ]


def test_until_accepts_every_stage() -> None:
    assert get_args(Until) == STAGES


def test_retention_period_comes_from_the_table() -> None:
    own = {"delta.dropFeatureTruncateHistory.retentionDuration": "interval 2 days"}

    found = stages(table({"a": ""}, "none", "false", own), 2, 7, None, MAPPED_FEATURES)

    assert reasons(found[2])[0][2] == "interval 2 days"


@pytest.mark.parametrize(
    ("function", "request_"), [("nothing", "{}"), ("column_mapping_removal", "{}")]
)
def test_unknown_function_or_shape_gets_an_error_answer(function: str, request_: str) -> None:
    answer = json.loads(ask(function, request_))

    assert answer["error"]["condition"] == "USAGE_TRACKING_MALFORMED_MESSAGE"
