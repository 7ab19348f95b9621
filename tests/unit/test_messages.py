# SPDX-License-Identifier: Apache-2.0
"""Tests that messages become dataclasses, and that records of Java have the same names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from spark_ext.erasure.moment import ErasureStart
from spark_ext.errors import MalformedMessageError
from spark_ext.log.actions import FileGroup, Moment, ParquetColumn
from spark_ext.model.keys import ALIGNING
from spark_ext.model.metadata import CountedFiles, FileCount, Protocol
from spark_ext.process import questions
from spark_ext.wire import logs, messages, surveys
from spark_ext.wire.shapes import Shape

JAVA = Path(__file__).parents[2] / "jars/src/main/java/sparkext"


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

    def test_message_has_the_fields_of_its_dataclass(self) -> None:
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
            ({"isNew": 1}, "$.isNew", "is not of type bool"),
            ({"inner": []}, "$.inner", "is not of type dict or NoneType"),
            ({"inner": {"size": 1}}, "inner", "is not an object of ['fileName', 'size']"),
            ({"inner": {**INNER, "size": True}}, "inner.size", "is not of type int or NoneType"),
            ({"many": {}}, "$.many", "is not of type list"),
            ({"many": [INNER, None]}, "many", "is not an object of ['fileName', 'size']"),
            ({"many": [{**INNER, "size": "1"}]}, "many.size", "is not of type int or NoneType"),
            ({"paths": [["a", None]]}, "paths", "has a value that is not a string"),
            ({"features": "c"}, "$.features", "is not of type list or NoneType"),
            ({"features": [7]}, "features", "has a value that is not a string"),
        ],
    )
    def test_refusal_names_path_and_problem(
        self, change: dict[str, Any], path: str, problem: str
    ) -> None:
        with pytest.raises(MalformedMessageError) as refusal:
            self.SHAPE.read({**self.OUTER, **change}, "$", name="n")

        assert refusal.value.params == {"path": path, "problem": problem}


# The records of Java that Jackson writes, and their readers.
RECORDS: Mapping[tuple[str, str], Shape[Any]] = {
    ("wire/Question.java", "MetadataChange"): messages.METADATA_CHANGE,
    ("wire/Question.java", "CommitContext"): messages.COMMIT_CONTEXT,
    ("wire/Question.java", "Removal"): messages.shape_of(questions.removal),
    ("wire/Question.java", "Purge"): messages.shape_of(questions.purge),
    ("wire/Question.java", "TableFacts"): messages.TABLE_FACTS,
    ("wire/Question.java", "TableQuestion"): logs.TABLE_QUESTION,
    ("wire/Question.java", "Folder"): logs.FOLDER,
    ("wire/Question.java", "ErasureStart"): logs.ERASURE_START,
    ("wire/Question.java", "Survey"): surveys.SURVEY,
    ("wire/Question.java", "AskedTable"): Shape(surveys.AskedTable),
    ("wire/TableMetadata.java", "TableMetadata"): messages.TABLE_METADATA,
    ("wire/Question.java", "TableProtocol"): Shape(Protocol),
    ("wire/Question.java", "CountedFiles"): Shape(CountedFiles),
    ("wire/Question.java", "Count"): Shape(FileCount),
    ("log/TableLog.java", "TableLog"): logs.LOG,
    ("log/TableLog.java", "Commit"): logs.COMMIT,
    ("log/TableLog.java", "Summary"): logs.SUMMARY,
    ("log/FileGroup.java", "FileGroup"): Shape(FileGroup),
    ("log/TableLog.java", "Moment"): Shape(Moment),
    ("log/TableLog.java", "FileCount"): Shape(FileCount),
    ("log/TableLog.java", "ErasureStart"): Shape(ErasureStart),
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
    "JsonNode": dict,
    "Set": list,
}


class TestBothHalves:
    @pytest.mark.parametrize(("file", "record"), RECORDS)
    def test_java_record_has_the_keys_that_python_reads(self, file: str, record: str) -> None:
        keys = RECORDS[file, record].keys
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
