# SPDX-License-Identifier: Apache-2.0
"""Tests that messages become dataclasses, and what answers contain."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from spark_ext.errors import FlagNotModifiableError, MalformedMessageError
from spark_ext.model.metadata import CommitContext, Protocol, TableMetadata
from spark_ext.model.schema import EMPTY_SCHEMA
from spark_ext.process.messages import changed_metadata, parse, render_error
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


@dataclass(frozen=True)
class Change:
    """The parameters of `questions.metadata_change`."""

    old: TableMetadata
    proposed: TableMetadata
    assigned: TableMetadata
    commit: CommitContext


@dataclass(frozen=True)
class Group:
    """Has the other types of messages."""

    name: str
    size: int | None
    inner: Protocol | None
    many: tuple[Protocol, ...]
    paths: tuple[tuple[str, ...], ...]


PROTOCOL: dict[str, Any] = REQUEST["commit"]["protocol"]
GROUP: dict[str, Any] = {
    "name": "n",
    "size": 2,
    "inner": None,
    "many": [PROTOCOL],
    "paths": [["a"], ["b", "x"]],
}


class TestParse:
    def test_message_has_the_fields_of_its_dataclass(self) -> None:
        protocol = Protocol(3, 7, frozenset({"columnMapping"}), None)

        assert parse(Group, json.dumps(GROUP)) == Group(
            "n", 2, None, (protocol,), (("a",), ("b", "x"))
        )

    @pytest.mark.parametrize("text", ["", "{", "null", "[]", "{}", '{"name": "n"}'])
    def test_other_text_is_refused(self, text: str) -> None:
        with pytest.raises(MalformedMessageError) as refusal:
            parse(Group, text)

        assert refusal.value.condition == "USAGE_TRACKING_MALFORMED_MESSAGE"
        assert refusal.value.params["path"] == "$"

    @pytest.mark.parametrize(
        ("change", "path", "problem"),
        [
            ({"name": 1}, "$.name", "is not of type str"),
            ({"size": True}, "$.size", "is not of type int or NoneType"),
            ({"inner": []}, "$.inner", "is not of type dict or NoneType"),
            ({"inner": {"a": 1}}, "inner", f"is not an object of {sorted(PROTOCOL)}"),
            ({"many": {}}, "$.many", "is not of type list"),
            ({"many": [PROTOCOL, None]}, "many", f"is not an object of {sorted(PROTOCOL)}"),
            (
                {"many": [{**PROTOCOL, "minReaderVersion": "1"}]},
                "many.minReaderVersion",
                "is not of type int",
            ),
            (
                {"inner": {**PROTOCOL, "readerFeatures": [7]}},
                "inner.readerFeatures",
                "has a value that is not a string",
            ),
            ({"paths": [["a", None]]}, "paths", "has a value that is not a string"),
            ({"paths": ["ab"]}, "paths", "has a value that is not a string"),
        ],
    )
    def test_refusal_names_path_and_problem(
        self, change: dict[str, Any], path: str, problem: str
    ) -> None:
        with pytest.raises(MalformedMessageError) as refusal:
            parse(Group, json.dumps(GROUP | change))

        assert refusal.value.params == {"path": path, "problem": problem}


class TestMetadataChange:
    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("old", None),
            ("old.schema", []),
            ("old.schema", "=old"),
            ("old.schema", {"type": "struct"}),
            ("old.schema", {"type": "array", "fields": []}),
            ("proposed.schema", "=proposed"),
            ("assigned.schema", "=assigned"),
            ("assigned.schema", "old"),
            ("assigned.schema.fields", None),
            *(("assigned.schema.fields", [column]) for column in (1, -1, False)),
            *(("old.schema.fields", [column]) for column in (0, "a", None, True)),
            ("assigned.schema.fields", [{"type": "long"}]),
            ("assigned.schema.fields", [{"name": "a"}]),
            ("assigned.schema.fields", [{"name": 1, "type": "long"}]),
            ("assigned.schema.fields", [{"name": "a", "type": None}]),
            ("assigned.configuration", {"k": True}),
            *((f"{part}.configuration", f"={part}") for part in ("old", "proposed", "assigned")),
            ("commit.flagDefault", "true"),
            ("commit.protocol", [1, 7]),
            ("commit.unknownFact", True),
        ],
    )
    def test_wrong_value_is_refused(self, path: str, value: Any) -> None:
        with pytest.raises(MalformedMessageError) as refusal:
            parse(Change, with_value(path, value))

        named = refusal.value.params["path"].removeprefix("$.")
        assert path.startswith(named)

    def test_old_metadata_and_commit_facts_are_read(self) -> None:
        request = parse(Change, json.dumps(REQUEST))

        assert request.old == TableMetadata(struct({"a": ""}), {"k": "v", "l": "v"})
        assert request.commit.proposed.schema == struct({"b": ""})
        assert request.commit.protocol == Protocol(3, 7, frozenset({"columnMapping"}), None)
        assert request.commit.creating_table
        assert request.commit.copies_untracked
        assert request.commit.enabled_by_default
        assert not request.commit.feature_default
        assert request.commit.flag_default

    @pytest.mark.parametrize("part", ["schema", "configuration"])
    def test_part_may_name_that_of_an_earlier_version(self, part: str) -> None:
        like_old = parse(Change, with_value(f"assigned.{part}", "=old"))
        like_proposed = parse(Change, with_value(f"assigned.{part}", "=proposed"))

        assert getattr(like_old.assigned, part) is getattr(like_old.old, part)
        proposed = like_proposed.commit.proposed
        assert getattr(like_proposed.assigned, part) is getattr(proposed, part)

    def test_null_schema_is_the_empty_schema(self) -> None:
        assert parse(Change, with_value("old.schema", None)).old.schema == EMPTY_SCHEMA


class TestAnswers:
    def test_answer_omits_unchanged_parts(self) -> None:
        assigned = parse(Change, json.dumps(REQUEST)).assigned

        answer = changed_metadata(assigned.with_property("k", "w"), assigned, warning=None)

        assert answer == {"configuration": {"k": "w"}, "schema": None, "warning": None}

    def test_answer_has_the_changed_schema(self) -> None:
        assigned = parse(Change, json.dumps(REQUEST)).assigned

        answer = changed_metadata(assigned.with_schema(struct({"é": ""})), assigned, warning="w")

        assert answer["schema"] == struct({"é": ""})
        assert answer["warning"] == "w"

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
