# SPDX-License-Identifier: Apache-2.0
"""Compares column mapping functions on schemas with Delta's own. The oracle is Delta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_ext.column_mapping import (
    Protocol,
    TableMetadata,
    create_physical_schema,
    drop_column_mapping_metadata,
    get_column_mapping_metadata,
    satisfy_column_mapping_protocol,
    supported_modes,
)
from spark_ext.errors import SparkExtError, UnsupportedModeError
from spark_ext.model.column_mapping import (
    find_max_column_id,
    mode_of,
    physical_name,
    schema_has_column_mapping_metadata,
)
from spark_ext.model.keys import COLUMN_MAPPING_METADATA_KEYS, COLUMN_MAPPING_MODE
from spark_ext.model.schema import Path, Schema, map_fields, walk
from tests.differential.delta_functions import DeltaFunctions, DeltaRefusal
from tests.differential.fixed_schemas import COMPARISON, EMPTY, on_schemas
from tests.unit import strategies
from tests.unit.tables import struct

MAPPED_TABLES = strategies.tables(modes=("name", "id"))
NESTED_IDS = {"delta.enableIcebergCompatV2": "true"}


def both_forms(delta: DeltaFunctions, schema: Schema) -> tuple[Schema, Schema]:
    """Returns a schema without mapping, and the schema that Delta maps, with nested ids."""
    return schema, delta.mapped(schema, NESTED_IDS)


def outcome(function: Callable[..., Schema], *arguments: Any) -> Schema | tuple[str, str]:
    """Returns the result of a function, or the condition and the column of its error."""
    try:
        return function(*arguments)
    except (SparkExtError, DeltaRefusal) as refusal:
        condition = (refusal.condition or "").removeprefix("USAGE_TRACKING_")
        return condition, refusal.params.get("columnName", "")


def without_column(result: Schema | tuple[str, str]) -> Schema | str:
    return result[0] if isinstance(result, tuple) else result


def test_delta_has_no_error_for_a_mode_on_an_old_protocol(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    errors = getattr(jvm.org.apache.spark.sql.delta, "DeltaErrors$")
    names = {method.getName() for method in getattr(errors, "MODULE$").getClass().getMethods()}

    assert "changeColumnMappingModeNotSupported" in names
    assert "changeColumnMappingModeOnOldProtocol" not in names


class TestRefusals:
    """Tests that both sides refuse the same schemas and modes."""

    @COMPARISON
    @given(table=MAPPED_TABLES, other=strategies.schemas())
    def test_columns_of_another_schema_have_the_same_outcome_in_both(
        self, delta: DeltaFunctions, table: TableMetadata, other: Schema
    ) -> None:
        ours = outcome(create_physical_schema, other, table.schema, "name")
        theirs = outcome(delta.create_physical_schema, other, table.schema, "name")

        if isinstance(theirs, tuple) and isinstance(ours, tuple):
            # Delta quotes a name with a dot in a path of several names.
            theirs = theirs[0], theirs[1].replace("`", "")
            ours = ours[0], ours[1].replace("`", "")
        assert ours == theirs

    @COMPARISON
    @given(table=MAPPED_TABLES.flatmap(strategies.faulty))
    def test_faulty_mapping_has_the_same_outcome_in_both(
        self, delta: DeltaFunctions, table: TableMetadata
    ) -> None:
        ours = outcome(create_physical_schema, table.schema, table.schema, "name")
        theirs = outcome(delta.create_physical_schema, table.schema, table.schema, "name")

        # Only the text of Delta's error names the column.
        assert without_column(ours) == without_column(theirs)

    @pytest.mark.parametrize("mode", ["Nom", "", "names"])
    def test_unknown_mode_is_refused_by_both(self, delta: DeltaFunctions, mode: str) -> None:
        with pytest.raises(DeltaRefusal) as theirs:
            delta.mode_of({COLUMN_MAPPING_MODE: mode})
        with pytest.raises(UnsupportedModeError) as ours:
            mode_of({COLUMN_MAPPING_MODE: mode})

        # Delta's error has no condition here. Delta uses our condition for a null mode.
        assert theirs.value.condition is None
        assert ours.value.condition == "DELTA_MODE_NOT_SUPPORTED"
        assert ours.value.params == {"mode": mode, "supportedModes": "none, name, id"}

    def test_unknown_mode_of_a_schema_is_refused_by_both(self, delta: DeltaFunctions) -> None:
        schema = struct({"a": "1 p"})
        (field,) = schema["fields"]

        with pytest.raises(DeltaRefusal):
            delta.create_physical_schema(schema, schema, "nom")
        with pytest.raises(UnsupportedModeError):
            create_physical_schema(schema, schema, "nom")
        with pytest.raises(DeltaRefusal):
            delta.column_mapping_metadata(field, "nom")
        with pytest.raises(UnsupportedModeError):
            get_column_mapping_metadata(field, "nom")


class TestSchemas:
    @on_schemas
    def test_paths_names_ids_and_mapping_metadata_are_those_of_delta(
        self, delta: DeltaFunctions, schema: Schema
    ) -> None:
        for form in both_forms(delta, schema):
            physical = walk(form, name=physical_name)
            pairs = zip(walk(form), physical, strict=True)
            paths = {logical: path for (logical, _), (path, _) in pairs}
            assert paths == delta.physical_paths(form)
            for _, field in walk(form)[:20]:
                assert physical_name(field) == delta.physical_name(field)
            assert find_max_column_id(form) == delta.find_max_column_id(form)
            has_metadata = schema_has_column_mapping_metadata(form)
            assert has_metadata == delta.schema_has_column_mapping_metadata(form)
            dropped = drop_column_mapping_metadata(form)
            assert dropped == delta.drop_column_mapping_metadata(form) == schema

    def test_reserved_keys_are_those_of_delta(self, delta: DeltaFunctions) -> None:
        assert delta.column_mapping_metadata_keys() == COLUMN_MAPPING_METADATA_KEYS

    @COMPARISON
    @given(schema=strategies.schemas(min_size=1), data=st.data())
    def test_single_key_at_any_level_is_found_and_dropped_as_by_delta(
        self, delta: DeltaFunctions, schema: Schema, data: st.DataObject
    ) -> None:
        chosen = data.draw(st.sampled_from([path for path, _ in walk(schema)]))
        keys = delta.column_mapping_metadata_keys()
        key = data.draw(st.sampled_from([*sorted(keys), "parquet.field"]))
        marked = map_fields(
            schema,
            lambda path, field: {**field, "metadata": {key: 1}} if path == chosen else field,
        )

        has_metadata = delta.schema_has_column_mapping_metadata(marked)

        assert schema_has_column_mapping_metadata(marked) == has_metadata
        assert drop_column_mapping_metadata(marked) == delta.drop_column_mapping_metadata(marked)

    @pytest.mark.parametrize("mode", supported_modes)
    @on_schemas
    def test_physical_schema_is_that_of_delta(
        self, delta: DeltaFunctions, mode: str, schema: Schema
    ) -> None:
        reference = delta.mapped(schema, NESTED_IDS)

        ours = create_physical_schema(schema, reference, mode)

        assert ours == delta.create_physical_schema(schema, reference, mode)

    @COMPARISON
    @given(schema=strategies.schemas() | strategies.deep_schemas(), data=st.data())
    def test_physical_schema_of_names_in_another_case_is_that_of_delta(
        self, delta: DeltaFunctions, schema: Schema, data: st.DataObject
    ) -> None:
        reference = delta.mapped(schema)
        written = data.draw(strategies.recased(schema))

        ours = outcome(create_physical_schema, written, reference, "name")
        theirs = outcome(delta.create_physical_schema, written, reference, "name")

        # Both may refuse: the upper case of ß is SS, and the lower case of SS is another name.
        assert without_column(ours) == without_column(theirs)

    @pytest.mark.parametrize(
        "name",
        [
            "__is_cdc",
            "_change_type",
            "_COMMIT_VERSION",
            "_commit_timestamp",
            "_tmp_metadata_row_index",
            "__delta_internal_is_row_deleted",
            "__delta_internal_row_index",
        ],
    )
    def test_internal_columns_need_no_mapping_for_delta_either(
        self, delta: DeltaFunctions, name: str
    ) -> None:
        internal = struct({name: ""})

        assert delta.create_physical_schema(internal, EMPTY, "name") == internal
        assert create_physical_schema(internal, EMPTY, "name") == internal

    @pytest.mark.parametrize("mark", ["__row_id_metadata_col", "__row_commit_version_metadata_col"])
    @pytest.mark.parametrize("is_marked", [True, False])
    def test_columns_of_row_tracking_need_no_mapping_for_delta_either(
        self, delta: DeltaFunctions, mark: str, is_marked: bool
    ) -> None:
        marks = {
            "__metadata_col": "x",
            "__file_source_metadata_col": True,
            "__file_source_generated_metadata_col": "_row-x",
            mark: is_marked,
        }
        written = struct({"_row-x": {"column": "", "type": "long", "metadata": marks}})

        theirs = outcome(delta.create_physical_schema, written, EMPTY, "name")

        assert theirs == (written if is_marked else ("DELTA_CANNOT_RESOLVE_COLUMN", "_row-x"))
        assert outcome(create_physical_schema, written, EMPTY, "name") == theirs

    @pytest.mark.parametrize("mode", ["None", "NAME", "Id"])
    def test_mode_ignores_letter_case_as_in_delta(self, delta: DeltaFunctions, mode: str) -> None:
        (field,) = struct({"a": "1 p"})["fields"]

        ours = get_column_mapping_metadata(field, mode)

        assert ours == delta.column_mapping_metadata(field, mode)


class TestModesAndProtocols:
    @pytest.mark.parametrize("text", ["none", "name", "id", "None", "NAME", "Id", None])
    def test_modes_are_read_as_by_delta(self, delta: DeltaFunctions, text: str | None) -> None:
        configuration = {} if text is None else {COLUMN_MAPPING_MODE: text}

        assert mode_of(configuration) == delta.mode_of(configuration)

    @pytest.mark.parametrize(
        ("versions", "reader_features", "writer_features"),
        [
            *(((reader, writer), None, None) for reader in (1, 2) for writer in range(1, 7)),
            *(((reader, 7), None, ["appendOnly"]) for reader in (1, 2)),
            ((2, 7), None, ["columnMapping"]),
            ((3, 7), [], []),
            ((3, 7), ["deletionVectors"], ["deletionVectors"]),
            ((3, 7), ["columnMapping"], ["columnMapping"]),
        ],
    )
    def test_protocols_allow_column_mapping_as_by_delta(
        self,
        delta: DeltaFunctions,
        versions: tuple[int, int],
        reader_features: list[str] | None,
        writer_features: list[str] | None,
    ) -> None:
        ours, theirs = both_protocols(versions, reader_features, writer_features)

        assert satisfy_column_mapping_protocol(ours) == delta.is_column_mapping_supported(theirs)


class TestDifferences:
    """Contains intended differences between the two, with the reason."""

    @pytest.mark.parametrize(
        ("versions", "reader_features", "writer_features"),
        [
            ((1, 7), None, ["columnMapping"]),
            ((3, 7), [], ["columnMapping"]),
            ((3, 7), ["columnMapping"], []),
        ],
    )
    def test_feature_in_one_of_two_lists_is_not_enough_for_us(
        self,
        delta: DeltaFunctions,
        versions: tuple[int, int],
        reader_features: list[str] | None,
        writer_features: list[str] | None,
    ) -> None:
        # The protocol wants a reader-writer feature in both lists. Otherwise a reader may ignore
        # column mapping, or a writer may. Delta reads either list.
        ours, theirs = both_protocols(versions, reader_features, writer_features)

        assert delta.is_column_mapping_supported(theirs)
        assert not satisfy_column_mapping_protocol(ours)

    def test_id_beyond_32_bits_is_kept(self, delta: DeltaFunctions) -> None:
        # Delta reads an id as an Int, which overflows, and then the highest id seems to be 0. An id
        # that was assigned must not look free.
        schema = struct({"a": f"{2**31} a"})

        assert delta.find_max_column_id(schema) == 0
        assert find_max_column_id(schema) == 2**31

    def test_variant_of_a_scan_is_a_struct_for_us(self, delta: DeltaFunctions) -> None:
        # Spark reads parts of a variant as a struct with this mark. No schema of a table has the
        # mark, and the rules get only schemas of tables.
        mark = {"__VARIANT_METADATA_KEY": {"path": "$", "failOnError": True, "timeZoneId": "UTC"}}
        part = {"column": "2 p", "metadata": mark}
        schema = struct({"v": {"column": "1 p", "struct": {"0": part}}})

        assert set(names(delta.rename_columns(schema))) == {("p",), ("p", "0")}
        assert {path for path, _ in walk(schema, name=physical_name)} == {("p",), ("p", "p")}


COLLATED = struct(
    {
        "a": {
            "column": "1 p",
            "type": "string",
            "metadata": {"__COLLATIONS": {"a": "spark.UTF8_LCASE"}},
        }
    }
)


class TestCollations:
    """Tests collations, which Spark keys by the column's name in the column's metadata.

    Delta 4.4.0 refuses such columns (DELTA_UNSUPPORTED_DATA_TYPES) unless its check is off.
    """

    def test_delta_renames_the_key_of_a_collation(self, delta: DeltaFunctions) -> None:
        renamed = delta.rename_columns(COLLATED)
        physical = delta.create_physical_schema(COLLATED, COLLATED, "name")

        for schema in (renamed, physical):
            metadata = schema["fields"][0]["metadata"]
            assert metadata["__COLLATIONS"] == {"p": "spark.UTF8_LCASE"}

    def test_collation_is_kept_in_the_physical_schema(self, delta: DeltaFunctions) -> None:
        ours = create_physical_schema(COLLATED, COLLATED, "name")

        assert ours == delta.create_physical_schema(COLLATED, COLLATED, "name")


def both_protocols(
    versions: tuple[int, int], reader_features: list[str] | None, writer_features: list[str] | None
) -> tuple[Protocol, dict[str, Any]]:
    def listed(features: list[str] | None) -> frozenset[str] | None:
        return None if features is None else frozenset(features)

    ours = Protocol(*versions, listed(reader_features), listed(writer_features))
    theirs = {
        "minReaderVersion": versions[0],
        "minWriterVersion": versions[1],
        "readerFeatures": reader_features,
        "writerFeatures": writer_features,
    }
    return ours, {key: value for key, value in theirs.items() if value is not None}


def names(schema: Schema) -> list[Path]:
    return [path for path, _ in walk(schema)]
