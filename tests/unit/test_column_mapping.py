# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ast
import doctest
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

from spark_ext import column_mapping
from spark_ext.column_mapping import Protocol
from spark_ext.errors import (
    DuplicatedColumnIdError,
    DuplicatedPhysicalNameError,
    MaxColumnIdNotSetError,
    MaxColumnIdTooLowError,
    MissingColumnIdError,
    MissingPhysicalNameError,
    SparkExtError,
    UnsupportedModeError,
)
from spark_ext.model.column_mapping import (
    column_id,
    drop_column_mapping_metadata,
    has_column_id,
    has_physical_name,
    physical_name,
    schema_has_column_mapping_metadata,
    with_physical_name,
)
from spark_ext.model.keys import COLUMN_MAPPING_MODE, MAX_COLUMN_ID, NESTED_COLUMN_IDS
from spark_ext.model.metadata import TableMetadata
from tests.unit.tables import columns, struct, table, without

NESTED = struct({"a": "1 col-1", "l": {"column": "2 col-2", "array": {"x": "3 col-3"}}})


# The headings of the API page of Delta's column mapping, in its order.
PAGE = (
    *("MIN_PROTOCOL_VERSION", "MIN_READER_VERSION", "MIN_WRITER_VERSION"),
    *("create_physical_schema", "rename_columns", "requires_new_protocol"),
    *("satisfy_column_mapping_protocol", "check_column_id_and_physical_name_assignments"),
    *("drop_column_mapping_metadata", "get_physical_name", "verify_and_update_metadata_change"),
    *("try_fix_metadata", "allow_mapping_mode_change", "supported_modes"),
    "get_column_mapping_metadata",
)


def docstrings_of_constants() -> dict[str, str]:
    body = ast.parse(Path(str(column_mapping.__file__)).read_text()).body
    return {
        ast.unparse(constant.target): str(ast.literal_eval(doc.value))
        for constant, doc in pairwise(body)
        if isinstance(constant, ast.AnnAssign) and isinstance(doc, ast.Expr)
    }


def run_as_printed(doc: str) -> None:
    example = doctest.DocTestParser().get_doctest(doc, {}, "example", None, None)
    assert doctest.DocTestRunner().run(example).failed == 0


class TestPublicModule:
    def test_names_are_those_of_the_page(self) -> None:
        of_rules = {"CommitContext", "Protocol", "TableMetadata", "next_metadata"}
        assert set(column_mapping.__all__) == {*PAGE, *of_rules}
        assert all(hasattr(column_mapping, name) for name in column_mapping.__all__)

    def test_module_is_an_attribute_of_the_package(self) -> None:
        code = "import spark_ext; print(spark_ext.column_mapping.supported_modes)"

        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

        assert done.stdout.decode().strip() == "('none', 'name', 'id')"

    @pytest.mark.parametrize("name", column_mapping.__all__)
    def test_name_has_a_docstring_whose_example_runs_as_printed(self, name: str) -> None:
        doc = docstrings_of_constants().get(name) or vars(column_mapping)[name].__doc__

        assert doc
        run_as_printed(doc)

    def test_functions_take_and_return_the_types_of_pyspark(self) -> None:
        reference = StructType.fromJson(NESTED)
        logical = column_mapping.drop_column_mapping_metadata(reference)

        physical = column_mapping.create_physical_schema(
            logical, reference_schema=reference, mode="name"
        )

        assert isinstance(logical, StructType)
        assert logical.jsonValue() == drop_column_mapping_metadata(NESTED)
        assert physical.fieldNames() == column_mapping.rename_columns(reference).fieldNames()
        assert column_mapping.get_physical_name(reference["a"]) == "col-1"
        keys = column_mapping.get_column_mapping_metadata(reference["a"], "name")
        assert keys["parquet.field.id"] == 1
        assert TableMetadata(reference).schema == NESTED

    def test_unmapped_table_keeps_ids_and_names_only_if_it_has_them(self) -> None:
        plain, keyed = (TableMetadata(struct({"a": a})) for a in ("", "1 col-1"))
        change = column_mapping.verify_and_update_metadata_change

        assert change(old=keyed, new=keyed) == keyed
        assert change(old=plain, new=keyed) == plain

    def test_lowest_protocol_allows_column_mapping_and_older_ones_do_not(self) -> None:
        reader, writer = column_mapping.MIN_READER_VERSION, column_mapping.MIN_WRITER_VERSION
        satisfies = column_mapping.satisfy_column_mapping_protocol

        assert Protocol(reader, writer) == column_mapping.MIN_PROTOCOL_VERSION == Protocol(2, 5)
        assert satisfies(column_mapping.MIN_PROTOCOL_VERSION)
        assert not satisfies(Protocol(reader - 1, writer))
        assert not satisfies(Protocol(reader, writer - 1))
        assert not satisfies(Protocol(3, 7))  # the feature is not listed

    @pytest.mark.parametrize("mode", [None, "none", "NAME", "id"])
    def test_mapped_tables_require_a_new_protocol(self, mode: str | None) -> None:
        properties = {} if mode is None else {COLUMN_MAPPING_MODE: mode}
        metadata = TableMetadata(schema=NESTED, configuration=properties)

        assert column_mapping.requires_new_protocol(metadata) == (mode in ("NAME", "id"))

    @pytest.mark.parametrize(
        "call",
        [
            lambda mode: column_mapping.create_physical_schema(NESTED, NESTED, mode),
            lambda mode: column_mapping.get_column_mapping_metadata(NESTED["fields"][0], mode),
            lambda mode: column_mapping.allow_mapping_mode_change(mode, "none"),
            lambda mode: column_mapping.allow_mapping_mode_change("none", mode),
        ],
    )
    def test_unknown_mode_is_refused(self, call: Callable[[str], Any]) -> None:
        with pytest.raises(UnsupportedModeError) as refusal:
            call("nom")

        assert refusal.value.params == {"mode": "nom", "supportedModes": "none, name, id"}

    def test_modes_ignore_letter_case(self) -> None:
        assert column_mapping.create_physical_schema(NESTED, NESTED, "None") is NESTED
        assert column_mapping.allow_mapping_mode_change("NONE", "Name")
        assert column_mapping.allow_mapping_mode_change("name", "none")


class TestFields:
    def test_field_without_metadata_is_unmapped(self) -> None:
        field = {"name": "a", "type": "long"}

        assert not has_column_id(field)
        assert not has_physical_name(field)
        assert physical_name(field) == "a"

    def test_mapped_field_has_id_and_physical_name(self) -> None:
        field = struct({"a": "7 col-7"})["fields"][0]

        assert (column_id(field), physical_name(field)) == (7, "col-7")

    def test_nested_ids_follow_the_physical_name(self) -> None:
        ids = {"col-2.element": 4, "col-2.element.key": 5, "col-22.element": 6}
        words = {"column": "2 col-2", "metadata": {NESTED_COLUMN_IDS: ids}, "array": {"x": ""}}
        field = struct({"l": words})["fields"][0]

        renamed = with_physical_name(field, "l")

        assert renamed["metadata"][NESTED_COLUMN_IDS] == {
            "l.element": 4,
            "l.element.key": 5,
            "col-22.element": 6,
        }
        assert field["metadata"][NESTED_COLUMN_IDS] is ids


class TestSchemas:
    def test_dropped_mapping_metadata_keeps_other_metadata(self) -> None:
        schema = struct({"a": {"column": "1 col-1", "metadata": {"comment": "why"}}})

        dropped = drop_column_mapping_metadata(schema)

        assert columns(dropped) == {"a": {"column": "", "metadata": {"comment": "why"}}}
        assert not schema_has_column_mapping_metadata(dropped)
        assert schema_has_column_mapping_metadata(schema)


ID_ONLY = struct({"a": {"metadata": {"delta.columnMapping.id": 1}}})


@pytest.mark.parametrize(
    ("metadata", "error", "params"),
    [
        (table({"a": ""}, "name"), MissingColumnIdError, {"columnName": "a", "mode": "name"}),
        (
            TableMetadata(ID_ONLY, {COLUMN_MAPPING_MODE: "id", MAX_COLUMN_ID: "1"}),
            MissingPhysicalNameError,
            {"columnName": "a", "mode": "id"},
        ),
        (
            table({"a": "1 a", "s": {"column": "2 s", "struct": {"x": "1 x"}}}, "name"),
            DuplicatedColumnIdError,
            {"columnName": "s.x", "columnId": "1", "mode": "name"},
        ),
        (
            table({"a": "1 p", "b": "2 p"}, "name"),
            DuplicatedPhysicalNameError,
            {"columnName": "b", "physicalPath": "p", "mode": "name"},
        ),
        (
            without(table({"a": "1 a"}, "name"), MAX_COLUMN_ID),
            MaxColumnIdNotSetError,
            {"prop": MAX_COLUMN_ID},
        ),
        (
            table({"a": "5 a"}, "name", properties={MAX_COLUMN_ID: "4"}),
            MaxColumnIdTooLowError,
            {"prop": MAX_COLUMN_ID, "tableMax": "4", "fieldMax": "5"},
        ),
    ],
)
def test_incomplete_mapping_is_refused(
    metadata: TableMetadata, error: type[SparkExtError], params: dict[str, str]
) -> None:
    with pytest.raises(error) as refusal:
        column_mapping.check_column_id_and_physical_name_assignments(metadata)

    assert refusal.value.params == params


def test_unmapped_table_passes_the_check_of_ids_and_names() -> None:
    column_mapping.check_column_id_and_physical_name_assignments(table({"a": ""}))


class TestTableMetadata:
    def test_metadata_is_immutable(self) -> None:
        metadata = TableMetadata().with_property("k", "v")

        with pytest.raises(FrozenInstanceError):
            metadata.configuration = {}  # type: ignore[misc]
        with pytest.raises(TypeError):
            metadata.configuration["k"] = "w"  # type: ignore[index]

    def test_update_returns_a_new_value(self) -> None:
        metadata = TableMetadata()

        assert metadata.with_property("k", "v").configuration == {"k": "v"}
        assert metadata == TableMetadata()

    def test_update_without_change_returns_the_same_object(self) -> None:
        metadata = TableMetadata().with_property("k", "v")

        assert metadata.with_property("k", "v") is metadata
        assert metadata.with_schema(metadata.schema) is metadata
