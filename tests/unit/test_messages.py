# SPDX-License-Identifier: Apache-2.0
"""Tests that messages become dataclasses, and that records of Java have the same names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spark_ext.erasure.moment import ErasureStart
from spark_ext.errors import FlagNotModifiableError, MalformedMessageError
from spark_ext.log.actions import (
    Commit,
    FileGroup,
    Moment,
    ParquetColumn,
    Summary,
    TableFolder,
    TableLog,
)
from spark_ext.model.keys import ALIGNING
from spark_ext.model.metadata import (
    CommitContext,
    CountedFiles,
    FileCount,
    Protocol,
    TableFacts,
    TableMetadata,
)
from spark_ext.model.schema import EMPTY_SCHEMA
from spark_ext.process import questions, table_functions
from spark_ext.process.messages import (
    changed_metadata,
    keys_of,
    metadata_parts,
    parse,
    render_error,
)
from tests.unit.tables import struct

JAVA = Path(__file__).parents[2] / "jars/src/main/java/sparkext"


@dataclass(frozen=True)
class Inner:
    file_name: str
    size: int | None


@dataclass(frozen=True)
class Outer:
    name: str
    is_new: bool
    inner: Inner | None
    many: tuple[Inner, ...]
    paths: tuple[tuple[str, ...], ...]
    features: frozenset[str] | None


@dataclass(frozen=True)
class Table:
    name: str
    table: Outer


INNER: dict[str, Any] = {"fileName": "f", "size": None}
OUTER: dict[str, Any] = {
    "isNew": True,
    "inner": INNER,
    "many": [INNER, {"fileName": "g", "size": 2}],
    "paths": [["a"], ["b", "x"]],
    "features": ["c"],
}


class TestParse:
    def read(self, **changes: Any) -> Outer:
        return parse(Table, json.dumps({"name": "n", "table": {**OUTER, **changes}})).table

    def test_message_has_the_fields_of_its_dataclass(self) -> None:
        inner = Inner("f", None)

        assert self.read() == Outer(
            name="n",
            is_new=True,
            inner=inner,
            many=(inner, Inner("g", 2)),
            paths=(("a",), ("b", "x")),
            features=frozenset({"c"}),
        )

    def test_null_is_none(self) -> None:
        read = self.read(inner=None, features=None)

        assert (read.inner, read.features) == (None, None)

    @pytest.mark.parametrize("text", ["", "{", "null", "[]", "{}", '{"name": "n"}'])
    def test_other_text_is_refused(self, text: str) -> None:
        with pytest.raises(MalformedMessageError) as refusal:
            parse(Table, text)

        assert refusal.value.condition == "USAGE_TRACKING_MALFORMED_MESSAGE"
        assert refusal.value.params["path"] == "$"

    @pytest.mark.parametrize(
        ("change", "path", "problem"),
        [
            ({"isNew": 1}, "table.isNew", "is not of type bool"),
            ({"inner": []}, "table.inner", "is not of type dict or NoneType"),
            ({"inner": {"size": 1}}, "table.inner", "is not an object of ['fileName', 'size']"),
            (
                {"inner": {**INNER, "size": True}},
                "table.inner.size",
                "is not of type int or NoneType",
            ),
            ({"many": {}}, "table.many", "is not of type list"),
            ({"many": [INNER, None]}, "table.many", "is not an object of ['fileName', 'size']"),
            (
                {"many": [{**INNER, "size": "1"}]},
                "table.many.size",
                "is not of type int or NoneType",
            ),
            ({"paths": [["a", None]]}, "table.paths", "has a value that is not a string"),
            ({"paths": ["ab"]}, "table.paths", "has a value that is not a string"),
            ({"features": "c"}, "table.features", "is not of type list or NoneType"),
            ({"features": [7]}, "table.features", "has a value that is not a string"),
            ({"name": "n"}, "table", f"is not an object of {sorted(OUTER)}"),
        ],
    )
    def test_refusal_names_path_and_problem(
        self, change: dict[str, Any], path: str, problem: str
    ) -> None:
        with pytest.raises(MalformedMessageError) as refusal:
            self.read(**change)

        assert refusal.value.params == {"path": path, "problem": problem}


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
            ("assigned.schema.fields", [1]),
            ("assigned.schema.fields", [-1]),
            ("assigned.schema.fields", [False]),
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

    def test_schema_may_name_an_earlier_schema(self) -> None:
        like_old = parse(Change, with_value("assigned.schema", "=old"))
        like_proposed = parse(Change, with_value("assigned.schema", "=proposed"))

        assert like_old.assigned.schema is like_old.old.schema
        assert like_proposed.assigned.schema is like_proposed.commit.proposed.schema

    def test_configuration_may_name_an_earlier_configuration(self) -> None:
        like_old = parse(Change, with_value("assigned.configuration", "=old"))
        like_proposed = parse(Change, with_value("assigned.configuration", "=proposed"))

        assert like_old.assigned.configuration is like_old.old.configuration
        proposed = like_proposed.commit.proposed
        assert like_proposed.assigned.configuration is proposed.configuration

    def test_column_may_be_a_place_in_the_old_schema(self) -> None:
        (added,) = struct({"b": ""})["fields"]

        request = parse(Change, with_value("assigned.schema.fields", [added, 0]))

        assert request.assigned.schema == struct({"b": "", "a": ""})
        assert request.assigned.schema["fields"][1] is request.old.schema["fields"][0]

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

    def test_answer_has_the_place_of_an_unchanged_column(self) -> None:
        assigned = parse(
            Change, with_value("assigned.schema", struct({"a": "", "b": "", "c": ""}))
        ).assigned
        a, b, c = assigned.schema["fields"]
        result = assigned.with_schema({**assigned.schema, "fields": [c, {**b, "name": "d"}, a]})

        answer = changed_metadata(result, assigned, warning=None)

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


# The records of Java that Jackson writes, and their readers.
RECORDS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("wire/Question.java", "MetadataChange"): keys_of(questions.metadata_change),
    ("wire/Question.java", "CommitContext"): keys_of(CommitContext, "proposed"),
    ("wire/Question.java", "Removal"): keys_of(questions.removal),
    ("wire/Question.java", "Purge"): keys_of(questions.purge),
    ("wire/Question.java", "TableFacts"): keys_of(TableFacts),
    ("wire/Question.java", "TableQuestion"): keys_of(table_functions.TableQuestion),
    ("wire/Question.java", "Folder"): keys_of(TableFolder, "name", "log"),
    ("wire/Question.java", "ErasureStart"): keys_of(table_functions.erasure_question),
    ("wire/Question.java", "Survey"): keys_of(table_functions.survey_rows),
    ("wire/Question.java", "AskedTable"): keys_of(table_functions.AskedTable),
    ("wire/TableMetadata.java", "TableMetadata"): keys_of(metadata_parts),
    ("wire/Question.java", "TableProtocol"): keys_of(Protocol),
    ("wire/Question.java", "CountedFiles"): keys_of(CountedFiles),
    ("log/TableLog.java", "TableLog"): keys_of(TableLog, "name"),
    ("log/TableLog.java", "Commit"): keys_of(Commit.of_message),
    ("log/TableLog.java", "Summary"): keys_of(Summary.of_message),
    ("log/FileGroup.java", "FileGroup"): keys_of(FileGroup),
    ("log/TableLog.java", "Moment"): keys_of(Moment),
    ("log/TableLog.java", "FileCount"): keys_of(FileCount),
    ("log/TableLog.java", "ErasureStart"): keys_of(ErasureStart),
    ("parquet/FileColumn.java", "FileColumn"): keys_of(ParquetColumn),
}
JSON_TYPES = {
    "String": str,
    "boolean": bool,
    "int": int,
    "long": int,
    "Integer": int,
    "Long": int,
    "List": list,
    "JsonNode": dict,
    "Set": list,
}


class TestBothHalves:
    @pytest.mark.parametrize(("file", "record"), RECORDS)
    def test_java_record_has_the_keys_that_python_reads(self, file: str, record: str) -> None:
        keys = RECORDS[file, record]
        components = records_of(file)[record]

        assert components.keys() == keys.keys()
        for key, java in components.items():
            _, types, _ = keys[key]
            assert java == "Object" or JSON_TYPES.get(java, dict) in types, key

    @pytest.mark.parametrize("file", sorted({file for file, _ in RECORDS}))
    def test_every_record_of_a_listed_java_file_is_listed(self, file: str) -> None:
        assert {(file, record) for record in records_of(file)} <= set(RECORDS)


def records_of(file: str) -> dict[str, dict[str, str]]:
    """Returns the types of the components of each record in a Java file by their names."""
    text = (JAVA / file).read_text()
    while (bare := re.sub(r"<[^<>]*>", "", text)) != text:
        text = bare
    return {
        name: {key: java for java, key in re.findall(r"([\w.]+)\s+(\w+)\s*(?:,|$)", components)}
        for name, components in re.findall(r"\brecord (\w+)\(([^)]*)\)", text)
    }


def test_aligning_property_is_the_same_in_java() -> None:
    text = (JAVA / "wire/TableMetadata.java").read_text()

    assert f'ALIGNING = "{ALIGNING}"' in text
