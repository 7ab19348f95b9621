# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import Any

import pytest

from spark_ext.errors import FlagNotModifiableError, MalformedMessageError
from spark_ext.model.metadata import Protocol, TableMetadata
from spark_ext.model.schema import EMPTY_SCHEMA
from spark_ext.wire.messages import parse_metadata_change, render_error, render_metadata
from tests.unit.tables import struct

METADATA: dict[str, Any] = {
    "schema": struct({"a": ""}),
    "configuration": {"k": "v", "l": "v"},
}
REQUEST: dict[str, Any] = {
    "old": METADATA,
    "proposed": {**METADATA, "schema": struct({"b": ""})},
    "assigned": METADATA,
    "commit": {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["columnMapping"],
            "writerFeatures": None,
        },
        "creatingTable": True,
        "copiesUntracked": True,
        "enabledByDefault": True,
        "featureDefault": False,
        "flagDefault": True,
    },
}


def with_value(path: str, value: Any) -> str:
    request = json.loads(json.dumps(REQUEST))
    *parents, last = path.split(".")
    target = request
    for parent in parents:
        target = target[parent]
    target[last] = value
    return json.dumps(request)


class TestParseMetadataChange:
    @pytest.mark.parametrize("text", ["", "{", "null", "[]", "{}", '{"old": {}}'])
    def test_invalid_request_is_refused(self, text: str) -> None:
        with pytest.raises(MalformedMessageError) as refusal:
            parse_metadata_change(text)

        assert refusal.value.condition == "USAGE_TRACKING_MALFORMED_MESSAGE"
        assert refusal.value.params["path"] == "$"

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("old", None),
            ("old.schema", []),
            ("old.schema", "=old"),
            ("old.schema", {"type": "array"}),
            ("proposed.schema", "=proposed"),
            ("assigned.schema", "=assigned"),
            ("assigned.schema.fields", None),
            ("assigned.schema.fields", [1]),
            ("assigned.schema.fields", [-1]),
            ("old.schema.fields", [0]),
            ("old.schema.fields", ["a"]),
            ("old.schema.fields", [None]),
            ("old.schema.fields", [True]),
            ("assigned.schema.fields", [{"type": "long"}]),
            ("assigned.schema.fields", [{"name": "a"}]),
            ("assigned.schema.fields", [{"name": 1, "type": "long"}]),
            ("assigned.schema.fields", [{"name": "a", "type": None}]),
            ("assigned.configuration", {"k": True}),
            ("assigned.configuration", "=assigned"),
            ("proposed.configuration", "=proposed"),
            ("old.configuration", "=old"),
            ("commit.creatingTable", "true"),
            ("commit.copiesUntracked", "true"),
            ("commit.flagDefault", "true"),
            ("commit.protocol", [1, 7]),
            ("commit.protocol.minReaderVersion", True),
            ("commit.protocol.writerFeatures", [7]),
            ("commit.unknownFact", True),
        ],
    )
    def test_wrong_value_is_refused(self, path: str, value: Any) -> None:
        with pytest.raises(MalformedMessageError) as refusal:
            parse_metadata_change(with_value(path, value))

        named = refusal.value.params["path"].removeprefix("$.")
        assert path.startswith(named)

    def test_old_metadata_and_commit_facts_are_read(self) -> None:
        request = parse_metadata_change(json.dumps(REQUEST))

        assert request.old == TableMetadata(struct({"a": ""}), {"k": "v", "l": "v"})
        assert request.commit.proposed.schema == struct({"b": ""})
        assert request.commit.protocol == Protocol(3, 7, frozenset({"columnMapping"}), None)
        assert request.commit.creating_table
        assert request.commit.copies_untracked
        assert request.commit.enabled_by_default
        assert not request.commit.feature_default
        assert request.commit.flag_default

    def test_schema_may_name_an_earlier_schema(self) -> None:
        like_old = parse_metadata_change(with_value("assigned.schema", "=old"))
        like_proposed = parse_metadata_change(with_value("assigned.schema", "=proposed"))

        assert like_old.assigned.schema is like_old.old.schema
        assert like_proposed.assigned.schema is like_proposed.commit.proposed.schema

    def test_configuration_may_name_an_earlier_configuration(self) -> None:
        like_old = parse_metadata_change(with_value("assigned.configuration", "=old"))
        like_proposed = parse_metadata_change(with_value("assigned.configuration", "=proposed"))

        assert like_old.assigned.configuration is like_old.old.configuration
        proposed = like_proposed.commit.proposed
        assert like_proposed.assigned.configuration is proposed.configuration

    def test_column_may_be_a_place_in_the_old_schema(self) -> None:
        (added,) = struct({"b": ""})["fields"]

        request = parse_metadata_change(with_value("assigned.schema.fields", [added, 0]))

        assert request.assigned.schema == struct({"b": "", "a": ""})
        assert request.assigned.schema["fields"][1] is request.old.schema["fields"][0]

    def test_null_schema_is_the_empty_schema(self) -> None:
        assert parse_metadata_change(with_value("old.schema", None)).old.schema == EMPTY_SCHEMA


class TestAnswers:
    def test_answer_omits_unchanged_parts(self) -> None:
        assigned = parse_metadata_change(json.dumps(REQUEST)).assigned

        answer = json.loads(render_metadata(assigned.with_property("k", "w"), assigned))

        assert answer == {"configuration": {"k": "w"}, "schema": None, "warning": None}

    def test_answer_has_the_changed_schema(self) -> None:
        assigned = parse_metadata_change(json.dumps(REQUEST)).assigned

        answer = json.loads(render_metadata(assigned.with_schema(struct({"é": ""})), assigned))

        assert answer["schema"] == struct({"é": ""})

    def test_answer_has_the_place_of_an_unchanged_column(self) -> None:
        assigned = parse_metadata_change(
            with_value("assigned.schema", struct({"a": "", "b": "", "c": ""}))
        ).assigned
        a, b, c = assigned.schema["fields"]
        result = assigned.with_schema({**assigned.schema, "fields": [c, {**b, "name": "d"}, a]})

        answer = json.loads(render_metadata(result, assigned))

        assert answer["schema"]["fields"] == [2, {**b, "name": "d"}, 0]

    def test_error_is_an_answer(self) -> None:
        answer = json.loads(render_error(FlagNotModifiableError(prop="p")))

        assert answer["error"].pop("message").startswith("Cannot create or replace the table: ")
        assert answer == {
            "error": {
                "condition": "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
                "sqlState": "42939",
                "parameters": {"prop": "p"},
            }
        }
