# SPDX-License-Identifier: Apache-2.0
"""Tests CREATE TABLE and the DeltaTable builder."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from delta.tables import DeltaTable, DeltaTableBuilder
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tests.integration import routes
from tests.integration.routes import CREATIONS, Route
from tests.support.delta_table import NAME_MODE, TRACKED, Table, create_like, refusal
from tests.support.releases import SQL_GENERATES_COLUMNS
from tests.support.session_conf import SetConf
from tests.support.table_log import FEATURE, UUID, TableLog, is_uuid_name
from tests.support.variants import in_matrix

IGNORE_DEFAULTS = "'delta.ignoreProtocolDefaults' = 'true'"

DEFAULTS = "spark.databricks.delta.properties.defaults"
FEATURE_DEFAULT = f"{DEFAULTS}.feature.{FEATURE}"
TRACK_MAPPED = "spark.sparkext.usageTracking.enabledByDefault"

NESTED = (
    "a INT, s STRUCT<x: INT, t: STRUCT<y: INT>>, r ARRAY<STRUCT<x: INT>>,"
    " m MAP<STRUCT<x: INT>, ARRAY<STRUCT<y: INT>>>"
)
ODD_NAMES = [
    "a b",
    "a,b",
    "a.b",
    "a`b",
    "größe",
    "日本",
    "Capital",
    "q=1;{}()",
    "tab\tline\n",
    "col-1",
]


def as_columns(names: list[str]) -> str:
    return ", ".join(f"`{name.replace('`', '``')}` INT" for name in names)


def tracked(builder: DeltaTableBuilder, *columns: str) -> DeltaTableBuilder:
    """Returns the builder of a tracked table with INT columns."""
    for column in columns:
        builder = builder.addColumn(column, "INT")
    builder = builder.property("delta.columnMapping.mode", "name")
    return builder.property(f"delta.feature.{FEATURE}", "supported")


def create(table: Table, route: Route, query: str, mode: str) -> None:
    """Creates the table in its first commit, and inserts the row of the query."""
    route.run(table, query, mode)
    assert table.log.version == 0
    if not route.has_rows:
        table.spark.sql(f"INSERT INTO {table.name} {query}")


def is_untracked(log: TableLog) -> bool:
    return not log.is_tracked and log.flag is None


def has_uuid_names(log: TableLog) -> bool:
    return all(is_uuid_name(name) for name in log.physical_names.values())


# Refusals, which create no table.


@pytest.mark.parametrize(
    ("columns", "properties", "condition"),
    [
        ("a INT", f"'delta.feature.{FEATURE}' = 'no'", "DELTA_UNSUPPORTED_FEATURE_STATUS"),
        ("a INT, A INT", f"{TRACKED}, {NAME_MODE}", "COLUMN_ALREADY_EXISTS"),
        (
            "a INT",
            f"{TRACKED}, {NAME_MODE}, 'delta.columnMapping.maxColumnId' = '7'",
            "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
        ),
    ],
)
def test_refused_table_is_not_created(
    table: Table, columns: str, properties: str, condition: str
) -> None:
    with refusal(condition):
        table.create(columns, properties)

    assert not table.path.exists()


def test_tracking_and_iceberg_writer_compat_v1_exclude_each_other(
    table: Table, conf: SetConf
) -> None:
    # Delta for Spark does not know the property. This setting accepts unknown properties.
    conf("spark.databricks.delta.allowArbitraryProperties.enabled", "true")

    with refusal("DELTA_ICEBERG_COMPAT_VIOLATION.INCOMPATIBLE_TABLE_FEATURE"):
        table.create("a INT", TRACKED, NAME_MODE, "'delta.enableIcebergWriterCompatV1' = 'true'")

    assert not table.path.exists()


def test_create_of_a_table_that_exists_changes_nothing(named_table: Table) -> None:
    named_table.create_tracked("a INT")

    with named_table.refusal("TABLE_OR_VIEW_ALREADY_EXISTS"):
        named_table.create_tracked("b INT")

    assert named_table.log.physical_names == {"a": "a"}


# Tables that are tracked from the start.


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_table_starts_with_the_flag_false_and_logical_names(table: Table, mode: str) -> None:
    table.create(NESTED, TRACKED, f"'delta.columnMapping.mode' = '{mode}'")
    created = table.log
    table.insert(
        "(1, struct(2, struct(3)), array(struct(4)), map(struct(5), array(struct(6)))),"
        " (NULL, NULL, NULL, NULL)"
    )

    assert (created.version, created.operation) == (0, "CREATE TABLE")
    assert (created.is_tracked, created.flag) == (True, "false")
    assert {"columnMapping", FEATURE} <= created.writer_features
    assert created.configuration["delta.columnMapping.mode"] == mode
    assert created.physical_names == {
        "a": "a",
        "s": "s",
        "s.x": "x",
        "s.t": "t",
        "s.t.y": "y",
        "r": "r",
        "r.element.x": "x",
        "m": "m",
        "m.key.x": "x",
        "m.value.element.y": "y",
    }
    assert sorted(created.ids.values()) == list(range(1, 11))
    assert created.max_column_id == 10
    assert table.log.flag == "false"
    assert table.log.parquet_columns() == [
        "a",
        "m.key.x",
        "m.value.element.y",
        "r.element.x",
        "s.t.y",
        "s.x",
    ]
    assert table.selected("a, s.t.y, r[0].x, map_values(m)[0][0].y") == [
        (1, 3, 4, 6),
        (None, None, None, None),
    ]


@routes.each(CREATIONS)
@pytest.mark.parametrize("mode", ["name", *in_matrix("id")])
def test_new_table_has_flag_ids_and_logical_names_in_the_first_commit(
    table: Table, route: Route, mode: str
) -> None:
    create(table, route, "SELECT 1 AS a, named_struct('x y', 2) AS s, array(3) AS r", mode)

    created = table.log.at(0)
    assert (created.is_tracked, created.flag) == (True, "false")
    assert created.configuration["delta.columnMapping.mode"] == mode
    assert created.columns == {"a": (1, "a"), "s": (2, "s"), "s.x y": (3, "x y"), "r": (4, "r")}
    assert created.max_column_id == 4
    assert table.log.written_columns() == ["a", "r.element", "s.x y"]
    if mode == "id":
        assert table.log.parquet_field_ids() == {"a": 1, "s": 2, "s.x y": 3, "r": 4}
    assert table.selected("a, s.`x y`, r[0]") == [(1, 2, 3)]


@routes.each(CREATIONS)
def test_new_unmapped_table_has_the_flag_false_and_logical_names_when_mapped_later(
    table: Table, route: Route
) -> None:
    create(table, route, "SELECT 1 AS a, named_struct('x', 2) AS s, array(3) AS r", "none")
    created, files = table.log.at(0), table.log
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    assert (created.is_tracked, created.flag) == (True, "false")
    assert "columnMapping" not in created.writer_features
    assert set(created.columns.values()) == {(None, None)}
    assert files.written_columns() == ["a", "r.element", "s.x"]
    assert table.log.flag == "false"
    assert table.log.columns == {"a": (1, "a"), "s": (2, "s"), "s.x": (3, "x"), "r": (4, "r")}
    assert table.selected("a, s.x, r[0]") == [(1, 2, 3)]


@pytest.mark.parametrize("feature", [FEATURE.lower(), FEATURE.upper()])
def test_feature_name_may_have_any_letter_case(table: Table, feature: str) -> None:
    table.create("a INT", f"'delta.feature.{feature}' = 'supported'", NAME_MODE)

    assert (table.log.is_tracked, table.log.flag) == (True, "false")
    assert table.log.physical_names == {"a": "a"}


def test_partitioned_table_has_logical_names_in_its_partition_values(table: Table) -> None:
    table.create_tracked("a INT, `part, 1` INT", partitioned_by="`part, 1`")
    table.insert("(1, 2), (3, NULL)")

    assert table.log.flag == "false"
    assert table.log.physical_names == {"a": "a", "part, 1": "part, 1"}
    assert {add["partitionValues"]["part, 1"] for add in table.log.actions("add")} == {"2", None}
    assert table.rows() == [(1, 2), (3, None)]


def test_names_with_any_characters_are_physical_names(table: Table) -> None:
    columns = as_columns(ODD_NAMES)
    table.create_tracked(f"{columns}, `s t` STRUCT<{columns.replace('` INT', '`: INT')}>")
    created = table.log
    numbers = range(len(ODD_NAMES))
    values = ", ".join(map(str, numbers))
    table.insert(f"({values}, struct({values}))")

    nested = [f"s t.{name}" for name in ODD_NAMES]
    statistics = json.loads(table.log.actions("add")[0]["stats"])["minValues"]
    assert created.flag == "false"
    assert created.physical_names == dict(
        zip([*ODD_NAMES, "s t", *nested], [*ODD_NAMES, "s t", *ODD_NAMES], strict=True)
    )
    assert table.log.parquet_columns() == sorted(ODD_NAMES + nested)
    assert statistics == {
        **dict(zip(ODD_NAMES, numbers, strict=True)),
        "s t": dict(zip(ODD_NAMES, numbers, strict=True)),
    }
    assert table.selected() == [(*numbers, tuple(numbers))]


@pytest.mark.without("deletion-vectors")
def test_nested_ids_of_iceberg_compat_v2_start_with_the_physical_names(table: Table) -> None:
    table.create_tracked("a INT, `m m` MAP<INT, STRUCT<r: ARRAY<INT>>>")
    table.alter("SET TBLPROPERTIES ('delta.enableIcebergCompatV2' = 'true')")
    table.alter("ADD COLUMN n ARRAY<ARRAY<INT>>")

    nested_ids = {
        path: set(field.metadata["delta.columnMapping.nested.ids"])
        for path, field in table.log.fields.items()
    }
    assert table.log.flag == "false"
    assert nested_ids["m m"] == {"m m.key", "m m.value"}
    assert nested_ids["m m.value.r"] == {"r.element"}
    assert nested_ids["n"] == {"n.element", "n.element.element"}


def test_generated_identity_and_default_columns_are_tracked(table: Table) -> None:
    generated = "g INT GENERATED ALWAYS AS (a + 1), i BIGINT GENERATED ALWAYS AS IDENTITY"
    if not SQL_GENERATES_COLUMNS:  # test_identity_columns.py creates them by the builder
        generated = "g INT DEFAULT 2, i BIGINT DEFAULT 1"
    table.create(
        f"a INT NOT NULL, v VARCHAR(5) COMMENT 'text', {generated}, d INT DEFAULT 3",
        TRACKED,
        NAME_MODE,
        "'delta.feature.allowColumnDefaults' = 'supported'",
    )
    created = table.log
    table.spark.sql(f"INSERT INTO {table.name} (a, v) VALUES (1, 'x')")

    assert created.flag == "false"
    assert created.physical_names == {name: name for name in ("a", "v", "g", "i", "d")}
    assert created.fields["v"].metadata["comment"] == "text"
    assert table.rows() == [(1, "x", 2, 1, 3)]


# IF NOT EXISTS and the builder.


def test_if_not_exists_creates_a_tracked_table_once(spark: SparkSession, table: Table) -> None:
    create = "CREATE TABLE IF NOT EXISTS {t} ({columns}) USING delta TBLPROPERTIES ({properties})"
    properties = f"{TRACKED}, {NAME_MODE}"
    spark.sql(create.format(t=table.name, columns="a INT", properties=properties))

    with table.no_commit():
        spark.sql(create.format(t=table.name, columns="b INT", properties=properties))

    assert (table.log.version, table.log.flag) == (0, "false")
    assert table.log.physical_names == {"a": "a"}


def test_builder_does_not_change_an_existing_table(spark: SparkSession, table: Table) -> None:
    table.create("a INT", NAME_MODE)

    with table.no_commit():
        tracked(DeltaTable.createIfNotExists(spark).location(str(table.path)), "b").execute()

    assert is_untracked(table.log)


# Defaults of the session.


@pytest.mark.parametrize(("mode", "names"), [("name", {"a": "a"}), ("none", {"a": None})])
def test_default_for_the_feature_tracks_every_new_table(
    table: Table, conf: SetConf, mode: str, names: dict[str, str | None]
) -> None:
    conf(FEATURE_DEFAULT, "supported")

    table.create("a INT", f"'delta.columnMapping.mode' = '{mode}'")

    assert (table.log.version, table.log.flag) == (0, "false")
    assert table.log.is_tracked
    assert table.log.physical_names == names


def test_table_that_ignores_protocol_defaults_is_not_tracked(table: Table, conf: SetConf) -> None:
    conf(FEATURE_DEFAULT, "supported")

    table.create("a INT", NAME_MODE, IGNORE_DEFAULTS)
    table.alter("ADD COLUMN b INT")

    assert is_untracked(table.log)
    assert has_uuid_names(table.log)


def test_table_that_ignores_protocol_defaults_is_tracked_by_its_own_property(
    table: Table, conf: SetConf
) -> None:
    conf(FEATURE_DEFAULT, "supported")

    table.create("a INT", NAME_MODE, IGNORE_DEFAULTS, TRACKED)

    assert (table.log.is_tracked, table.log.flag) == (True, "false")
    assert table.log.physical_names == {"a": "a"}


@pytest.mark.parametrize("default", [(FEATURE_DEFAULT, "supported"), (TRACK_MAPPED, "true")])
def test_defaults_do_not_track_existing_tables(
    table: Table, conf: SetConf, default: tuple[str, str]
) -> None:
    table.create("a INT", NAME_MODE)
    conf(*default)

    table.alter("ADD COLUMN b INT")

    assert is_untracked(table.log)
    assert has_uuid_names(table.log)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_enabled_by_default_tracks_new_tables_that_turn_mapping_on(
    table: Table, conf: SetConf, mode: str
) -> None:
    conf(TRACK_MAPPED, "true")

    table.create("a INT", f"'delta.columnMapping.mode' = '{mode}'")

    assert (table.log.version, table.log.flag) == (0, "false")
    assert table.log.is_tracked
    assert table.log.physical_names == {"a": "a"}


def test_enabled_by_default_tracks_new_tables_that_are_mapped_by_default(
    table: Table, conf: SetConf
) -> None:
    conf(TRACK_MAPPED, "true")
    conf(f"{DEFAULTS}.columnMapping.mode", "name")

    table.create("a INT")

    assert (table.log.is_tracked, table.log.flag) == (True, "false")
    assert table.log.physical_names == {"a": "a"}


@pytest.mark.without("deletion-vectors", "row-tracking")
def test_enabled_by_default_does_not_track_unmapped_tables(table: Table, conf: SetConf) -> None:
    conf(TRACK_MAPPED, "true")

    table.create("a INT")
    created = table.log
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    assert is_untracked(created)
    assert created.protocol == {"minReaderVersion": 1, "minWriterVersion": 2}
    assert is_untracked(table.log)


def test_enabled_by_default_does_not_track_tables_that_ignore_protocol_defaults(
    table: Table, conf: SetConf
) -> None:
    conf(TRACK_MAPPED, "true")

    table.create("a INT", NAME_MODE, IGNORE_DEFAULTS)

    assert is_untracked(table.log)


@pytest.mark.parametrize("value", ["yes", "1", "", "true false"])
def test_enabled_by_default_must_be_true_or_false(table: Table, conf: SetConf, value: str) -> None:
    conf(TRACK_MAPPED, value)

    with pytest.raises(AnalysisException) as refused:
        table.create("a INT", NAME_MODE)

    assert refused.value.getCondition() == "USAGE_TRACKING_INVALID_SETTING"
    assert refused.value.getSqlState() == "22023"
    assert refused.value.getMessageParameters() == {
        "setting": TRACK_MAPPED,
        "value": value,
        "expected": "true or false",
    }
    assert table.log.version == -1


@pytest.mark.parametrize(("value", "tracked"), [(" true", True), ("TRUE ", True), ("False", False)])
def test_enabled_by_default_is_read_as_spark_reads_a_boolean(
    table: Table, conf: SetConf, value: str, *, tracked: bool
) -> None:
    conf(TRACK_MAPPED, value)

    table.create("a INT", NAME_MODE)

    assert table.log.is_tracked is tracked


def test_invalid_enabled_by_default_does_not_affect_existing_tables(
    table: Table, conf: SetConf
) -> None:
    table.create("a INT", NAME_MODE)
    conf(TRACK_MAPPED, "yes")

    with table.one_commit():
        table.alter("ADD COLUMN b INT")


# CREATE TABLE LIKE.


@pytest.fixture
def copy(spark: SparkSession, named_table: Table) -> Iterator[Table]:
    """Yields the table that CREATE TABLE LIKE creates from `named_table`."""
    yield Table(spark, named_table.path.with_name("copied"), "copied")
    spark.sql("DROP TABLE IF EXISTS copied")


def test_create_table_like_of_a_table_whose_flag_is_false(named_table: Table, copy: Table) -> None:
    named_table.create_tracked("a INT, s STRUCT<x: INT>")
    with named_table.no_commit():
        create_like(copy.spark, "copied", "named")
    created = copy.log
    copy.alter("ADD COLUMN s.y INT")
    copy.insert("(1, struct(2, 3))")

    assert (created.version, created.flag) == (0, "false")
    assert created.is_tracked
    assert created.physical_names == {"a": "a", "s": "s", "s.x": "x"}
    assert created.ids == named_table.log.ids
    assert created.max_column_id == 3
    assert copy.log.flag == "false"
    assert copy.log.physical_names["s.y"] == "y"
    assert copy.log.written_columns() == ["a", "s.x", "s.y"]
    assert copy.selected("a, s.x, s.y") == [(1, 2, 3)]


def test_create_table_like_of_a_table_whose_flag_is_true(named_table: Table, copy: Table) -> None:
    named_table.create_tracked("a INT, b INT")
    named_table.alter("RENAME COLUMN a TO c")
    create_like(copy.spark, "copied", "named")
    created = copy.log
    copy.alter("ADD COLUMN a INT")
    copy.insert("(1, 2, 3)")

    assert (created.version, created.flag) == (0, "true")
    assert created.is_tracked
    assert created.physical_names == {"c": "a", "b": "b"}
    assert is_uuid_name(copy.log.physical_names["a"])
    assert copy.log.written_columns() == ["a", "b", UUID]
    assert copy.rows() == [(1, 2, 3)]


def test_create_table_like_of_an_unmapped_table_is_tracked(named_table: Table, copy: Table) -> None:
    named_table.create("a INT", TRACKED)
    create_like(copy.spark, "copied", "named")
    created = copy.log
    copy.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    mapped = copy.log
    copy.alter("ADD COLUMN b INT")
    copy.insert("(1, 2)")

    assert (created.is_tracked, created.flag) == (True, "false")
    assert (mapped.flag, mapped.physical_names) == ("false", {"a": "a"})
    assert copy.log.written_columns() == ["a", "b"]
    assert copy.rows() == [(1, 2)]


def test_create_table_like_of_an_untracked_table_is_untracked(
    named_table: Table, copy: Table, conf: SetConf
) -> None:
    named_table.create("a INT", NAME_MODE)
    conf(TRACK_MAPPED, "true")

    create_like(copy.spark, "copied", "named")

    assert is_untracked(copy.log)
    assert copy.log.physical_names == named_table.log.physical_names
    copy.insert("(1)")
    assert copy.log.parquet_columns() == [named_table.log.physical_names["a"]]


def test_create_table_like_that_names_the_feature_is_refused(
    spark: SparkSession, named_table: Table
) -> None:
    named_table.create("a INT")

    with named_table.refusal("USAGE_TRACKING_TABLE_LIKE_WITH_FEATURE"):
        spark.sql(f"CREATE TABLE copied LIKE named TBLPROPERTIES ({TRACKED.upper()})")

    assert not spark.catalog.tableExists("copied")


@pytest.mark.broken_table("flag_without_feature")
@pytest.mark.parametrize("source", ["", NAME_MODE])
def test_create_table_like_gets_no_feature_from_the_defaults(
    named_table: Table, copy: Table, conf: SetConf, source: str
) -> None:
    named_table.create("a INT", *[source] * bool(source))
    conf(FEATURE_DEFAULT, "supported")

    create_like(copy.spark, "copied", "named")

    # The rules set the flag. Then Delta uses the protocol of the source.
    assert not copy.log.is_tracked
    copy.alter(f"SET TBLPROPERTIES ({TRACKED})")
    assert copy.log.flag == ("true" if source else "false")
