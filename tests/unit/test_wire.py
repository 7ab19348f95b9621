# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tables import struct

from spark_ext.errors import FlagNotModifiableError, MalformedMessageError
from spark_ext.log.actions import FileGroup, ParquetColumn
from spark_ext.model.metadata import CopiedFiles, FileCount, Protocol, TableMetadata
from spark_ext.model.schema import EMPTY_SCHEMA
from spark_ext.wire import logs, messages, surveys
from spark_ext.wire.messages import parse_metadata_change, render_error, render_metadata
from spark_ext.wire.shapes import Shape

JAVA = Path(__file__).parents[2] / "jars/src/main/java/sparkext"

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
    def test_what_is_no_request_is_refused(self, text: str) -> None:
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
            ("commit.flagDefault", "true"),
            ("commit.protocol", [1, 7]),
            ("commit.protocol.minReaderVersion", True),
            ("commit.protocol.writerFeatures", [7]),
            ("commit.unknownFact", True),
        ],
    )
    def test_a_wrong_value_is_refused(self, path: str, value: Any) -> None:
        with pytest.raises(MalformedMessageError) as refusal:
            parse_metadata_change(with_value(path, value))

        named = refusal.value.params["path"].removeprefix("$.")
        assert path.startswith(named)

    def test_every_field_is_read(self) -> None:
        request = parse_metadata_change(json.dumps(REQUEST))

        assert request.old == TableMetadata(struct({"a": ""}), {"k": "v", "l": "v"})
        assert request.commit.proposed.schema == struct({"b": ""})
        assert request.commit.protocol == Protocol(3, 7, frozenset({"columnMapping"}), None)
        assert request.commit.creating_table
        assert request.commit.enabled_by_default
        assert not request.commit.feature_default
        assert request.commit.flag_default

    def test_a_schema_may_be_named_after_an_earlier_one(self) -> None:
        like_old = parse_metadata_change(with_value("assigned.schema", "=old"))
        like_proposed = parse_metadata_change(with_value("assigned.schema", "=proposed"))

        assert like_old.assigned.schema is like_old.old.schema
        assert like_proposed.assigned.schema is like_proposed.commit.proposed.schema

    def test_a_configuration_may_be_named_after_an_earlier_one(self) -> None:
        like_old = parse_metadata_change(with_value("assigned.configuration", "=old"))
        like_proposed = parse_metadata_change(with_value("assigned.configuration", "=proposed"))

        assert like_old.assigned.configuration is like_old.old.configuration
        proposed = like_proposed.commit.proposed
        assert like_proposed.assigned.configuration is proposed.configuration

    def test_a_column_may_be_named_by_its_place_in_the_old_schema(self) -> None:
        (added,) = struct({"b": ""})["fields"]

        request = parse_metadata_change(with_value("assigned.schema.fields", [added, 0]))

        assert request.assigned.schema == struct({"b": "", "a": ""})
        assert request.assigned.schema["fields"][1] is request.old.schema["fields"][0]

    def test_no_schema_is_the_empty_one(self) -> None:
        assert parse_metadata_change(with_value("old.schema", None)).old.schema == EMPTY_SCHEMA


class TestAnswers:
    def test_what_stays_is_not_repeated(self) -> None:
        assigned = parse_metadata_change(json.dumps(REQUEST)).assigned

        answer = json.loads(render_metadata(assigned.with_property("k", "w"), assigned))

        assert answer == {"configuration": {"k": "w"}, "schema": None}

    def test_a_changed_schema_is_sent(self) -> None:
        assigned = parse_metadata_change(json.dumps(REQUEST)).assigned

        answer = json.loads(render_metadata(assigned.with_schema(struct({"é": ""})), assigned))

        assert answer["schema"] == struct({"é": ""})

    def test_a_column_that_stays_is_sent_as_its_place(self) -> None:
        assigned = parse_metadata_change(
            with_value("assigned.schema", struct({"a": "", "b": "", "c": ""}))
        ).assigned
        a, b, c = assigned.schema["fields"]
        result = assigned.with_schema({**assigned.schema, "fields": [c, {**b, "name": "d"}, a]})

        answer = json.loads(render_metadata(result, assigned))

        assert answer["schema"]["fields"] == [2, {**b, "name": "d"}, 0]

    def test_an_error_is_data(self) -> None:
        answer = json.loads(render_error(FlagNotModifiableError(prop="p")))

        assert answer["error"].pop("message").startswith("Cannot create the table: ")
        assert answer == {
            "error": {
                "condition": "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
                "sqlState": "42939",
                "parameters": {"prop": "p"},
            }
        }


class TestShape:
    @dataclass(frozen=True)
    class Inner:
        file_name: str
        size: int | None

    @dataclass(frozen=True)
    class Outer:
        name: str
        is_new: bool
        inner: TestShape.Inner | None
        many: tuple[TestShape.Inner, ...]
        paths: tuple[tuple[str, ...], ...]
        features: frozenset[str] | None

    INNER: ClassVar[dict[str, Any]] = {"fileName": "f", "size": None}
    OUTER: ClassVar[dict[str, Any]] = {
        "isNew": True,
        "inner": INNER,
        "many": [INNER, {"fileName": "g", "size": 2}],
        "paths": [["a"], ["b", "x"]],
        "features": ["c"],
    }
    SHAPE = Shape(Outer, given=("name",))

    def test_a_message_is_what_its_dataclass_says(self) -> None:
        inner = self.Inner("f", None)

        assert self.SHAPE.read(self.OUTER, "$", name="n") == self.Outer(
            name="n",
            is_new=True,
            inner=inner,
            many=(inner, self.Inner("g", 2)),
            paths=(("a",), ("b", "x")),
            features=frozenset({"c"}),
        )

    def test_null_is_none(self) -> None:
        read = self.SHAPE.read({**self.OUTER, "inner": None, "features": None}, "$", name="n")

        assert (read.inner, read.features) == (None, None)

    @pytest.mark.parametrize(
        ("change", "path", "problem"),
        [
            ({"isNew": 1}, "$.isNew", "is no bool"),
            ({"inner": []}, "$.inner", "is no dict or NoneType"),
            ({"inner": {"size": 1}}, "inner", "is no object of ['fileName', 'size']"),
            ({"inner": {**INNER, "size": True}}, "inner.size", "is no int or NoneType"),
            ({"many": {}}, "$.many", "is no list"),
            ({"many": [INNER, None]}, "many", "is no object of ['fileName', 'size']"),
            ({"many": [{**INNER, "size": "1"}]}, "many.size", "is no int or NoneType"),
            ({"paths": [["a", None]]}, "paths", "has a value that is no string"),
            ({"features": "c"}, "$.features", "is no list or NoneType"),
            ({"features": [7]}, "features", "has a value that is no string"),
        ],
    )
    def test_a_refusal_says_where_and_why(
        self, change: dict[str, Any], path: str, problem: str
    ) -> None:
        with pytest.raises(MalformedMessageError) as refusal:
            self.SHAPE.read({**self.OUTER, **change}, "$", name="n")

        assert refusal.value.params == {"path": path, "problem": problem}


# The records of Java that Jackson writes, and who reads them.
RECORDS = {
    ("wire/Question.java", "MetadataChange"): messages.METADATA_CHANGE,
    ("wire/Question.java", "CommitContext"): messages.COMMIT_CONTEXT,
    ("wire/Question.java", "ColumnMappingRemoval"): messages.REMOVAL,
    ("wire/Question.java", "TableFacts"): messages.TABLE_FACTS,
    ("wire/Question.java", "TableAndLog"): logs.TABLE_AND_LOG,
    ("wire/Question.java", "NamedLog"): logs.NAMED_LOG,
    ("wire/Question.java", "Survey"): surveys.SURVEY,
    ("wire/Question.java", "AskedTable"): Shape(surveys.AskedTable),
    ("wire/TableMetadata.java", "TableMetadata"): messages.TABLE_METADATA,
    ("wire/TableProtocol.java", "TableProtocol"): Shape(Protocol),
    ("wire/CountedFiles.java", "CountedFiles"): Shape(CopiedFiles),
    ("wire/CountedFiles.java", "Count"): Shape(FileCount),
    ("log/TableLog.java", "TableLog"): logs.LOG,
    ("log/TableLog.java", "Commit"): logs.COMMIT,
    ("log/TableLog.java", "Summary"): logs.SUMMARY,
    ("log/FileGroup.java", "FileGroup"): Shape(FileGroup),
    ("parquet/FileColumn.java", "FileColumn"): Shape(ParquetColumn),
}
JSON_TYPES = {
    "String": str,
    "boolean": bool,
    "int": int,
    "long": int,
    "Integer": int,
    "Long": int,
    "List": list,
    "Set": list,
}


class TestBothHalves:
    @pytest.mark.parametrize(("file", "record"), RECORDS)
    def test_a_record_of_java_has_the_keys_that_are_read_here(self, file: str, record: str) -> None:
        keys = RECORDS[file, record].keys
        components = records_of(file)[record]

        assert components.keys() == keys.keys()
        for key, java in components.items():
            _, types, _ = keys[key]
            assert java == "Object" or JSON_TYPES.get(java, dict) in types, key

    @pytest.mark.parametrize("file", sorted({file for file, _ in RECORDS}))
    def test_every_record_is_read_here(self, file: str) -> None:
        assert {(file, record) for record in records_of(file)} <= set(RECORDS)


def records_of(file: str) -> dict[str, dict[str, str]]:
    """The types of the components of each record in a file of Java, by their names."""
    text = (JAVA / file).read_text()
    while (bare := re.sub(r"<[^<>]*>", "", text)) != text:
        text = bare
    return {
        name: {key: java for java, key in re.findall(r"([\w.]+)\s+(\w+)\s*(?:,|$)", components)}
        for name, components in re.findall(r"\brecord (\w+)\(([^)]*)\)", text)
    }
