# SPDX-License-Identifier: Apache-2.0
"""Compares the answers of engines on the golden tables with the right answers.

docs/for-engines.md lists the wrong answers, and what a writer must not do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.exceptions import DeltaError
from deltalake.schema import PrimitiveType
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tests.engines import engines
from tests.engines.filtered import ENGINES, HERE, Filter, Rows, answer_of
from tests.support.golden_tables import STATES, placed, seen
from tests.support.table_log import FEATURE, FLAG

Reader = Callable[[Path, Filter | None], Rows]

# These engines return the fields of structs in maps under their physical names.
BY_NAMES = [
    {"id": 1, "weekday": "mon", "points": [{"x": 1}], "places": {"a": {"city": "Rome"}}},
    {"id": 2, "weekday": "tue", "points": [{"x": 3, "z": 4}], "places": {"b": {"city": "Oslo"}}},
]
BY_NAMES_OF_FILES: Rows = [{"id": 1, "city": "Rome"}, {"id": 2}]
# The answers instead of the right rows: other rows, or an error. The log of a clone names files
# by URLs.
WRONG: dict[str, dict[str, Rows | str]] = {
    "clickhouse": {
        "cloned": "RuntimeError",
        "flag_false_by_id": BY_NAMES_OF_FILES,
        "nested": BY_NAMES,
        "stale": "RuntimeError",
    },
    # The engine finds columns by name in mode `id` too.
    "deltalake_by_datafusion": {"flag_false_by_id": BY_NAMES_OF_FILES, "nested": "ArrowInvalid"},
    "deltalake_by_pyarrow": {
        "broken_flag_missing": [{"id": 1}],
        "broken_flag_value": [{"id": 1}],
        "cloned": "FileNotFoundError",
        "flag_false_by_id": BY_NAMES_OF_FILES,
        "flag_false_other_name": [{"id": 1, "city": "Rome"}, {"id": 2, "city": "Oslo"}],
        "flag_true": [{"id": 1, "city": "Rome"}, {"id": 2, "city": "Oslo"}],
        "flag_true_by_id": [{"id": 1, "city": "Rome"}, {"id": 2, "city": "Oslo"}],
        "nested": BY_NAMES,
        "stale": "FileNotFoundError",
    },
    "polars": dict.fromkeys(STATES.keys() - {"unmapped"}, "DeltaProtocolError"),
    "kernel": {},
}
WRONG["clickhouse_without_push_down"] = WRONG["clickhouse"]
FILTERS = {
    name: {Filter(each["column"], each["value"]): each["ids"] for each in state["reads"]["filters"]}
    for name, state in STATES.items()
    if "filters" in state["reads"]
}
# The engine returns fields of maps under their physical names, as without a filter.
BY_NAMES_OF_MAPS: dict[str, list[int] | str] = {
    "places['a'].town = 'Rome'": [],
    "places['a'].city = 'Rome'": [1],
    "places['a'].city IS NULL": [2],
    "places['b'].town = 'Oslo'": [],
    "places['b'].city = 'Bergen'": [],
}
# The answers instead of the right ids: the ids of other rows, or an error.
WRONG_FILTERS: dict[str, dict[str, dict[str, list[int] | str]]] = {
    "clickhouse": {
        "flag_true": {"city = 'Bergen'": [], "city IS NULL": []},
        "nested": BY_NAMES_OF_MAPS,
    },
    "clickhouse_without_push_down": {"nested": BY_NAMES_OF_MAPS},
    "deltalake_by_datafusion": {
        "nested": {
            where.sql: "ArrowInvalid" for where in FILTERS["nested"] if "key" in dict(where.steps)
        }
    },
    "deltalake_by_pyarrow": {
        "flag_true": {
            "city = 'Rome'": [1],
            "city = 'Bergen'": [],
            "city IS NULL": [],
            "town = 'Rome'": [],
            "town = 'Oslo'": [],
        },
        "nested": BY_NAMES_OF_MAPS,
    },
    "kernel": {},
    "polars": {
        name: {where.sql: "DeltaProtocolError" for where in filters}
        for name, filters in FILTERS.items()
    },
}


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    return placed(tmp_path / "golden")


@pytest.fixture(scope="module")
def readers(spark: SparkSession) -> dict[str, Reader]:
    return {**{name: ENGINES[name] for name in HERE}, "kernel": engines.filtered_kernel(spark)}


def test_engines_read_the_rows_except_known_wrong_answers(
    golden: Path, readers: dict[str, Reader]
) -> None:
    found: dict[str, dict[str, Rows | str]] = {name: {} for name in readers}
    for engine, reader in readers.items():
        for name, state in STATES.items():
            rows = answer_of(reader, golden / name, None)
            rows = rows if isinstance(rows, str) else engines.rows(rows)
            if rows != engines.rows(state["reads"]["rows"]):
                found[engine][name] = rows

    assert found == {
        engine: {
            name: rows if isinstance(rows, str) else engines.rows(rows) for name, rows in wrong
        }
        for engine, wrong in ((engine, states.items()) for engine, states in WRONG.items())
    }


def test_engines_filter_the_rows_except_known_wrong_answers(
    golden: Path, readers: dict[str, Reader]
) -> None:
    found: dict[str, dict[str, dict[str, list[int] | str]]] = {name: {} for name in readers}
    for engine, reader in readers.items():
        for name, filters in FILTERS.items():
            kept = {where: answer_of(reader, golden / name, where) for where in filters}
            ids = {
                where: rows if isinstance(rows, str) else sorted(row["id"] for row in rows)
                for where, rows in kept.items()
            }
            wrong = {where.sql: ids[where] for where in filters if ids[where] != filters[where]}
            if wrong:
                found[engine][name] = wrong

    assert found == WRONG_FILTERS


def append(table: Path) -> None:
    """Appends a row by deltalake, in which only the id is not null."""
    schema = pyarrow.schema(DeltaTable(str(table)).schema().to_arrow())
    row = pyarrow.Table.from_pylist([{"id": 9}], schema)
    write_deltalake(str(table), row, mode="append")


@pytest.mark.parametrize("name", STATES)
@pytest.mark.every_variant
def test_deltalake_refuses_to_write_a_table_with_the_feature(golden: Path, name: str) -> None:
    before = seen(golden / name)
    if name == "stale":  # this table no longer lists the feature
        append(golden / name)
        assert seen(golden / name)["properties"] == before["properties"]
        return

    with pytest.raises(DeltaError, match=FEATURE):
        append(golden / name)

    assert seen(golden / name) == before


# The tests named `would` remove the feature from the log. They show what deltalake and Kernel would
# do if they only added the feature to their lists.


@pytest.fixture
def listed(golden: Path) -> Path:
    forget_feature(golden / "flag_true")
    return golden / "flag_true"


def forget_feature(table: Path) -> None:
    for commit in (table / "_delta_log").glob("*.json"):
        commit.write_text(commit.read_text().replace(f'"{FEATURE}",', ""))
    assert FEATURE not in seen(table)["protocol"]["writerFeatures"]


def test_deltalake_would_append_rightly_if_it_knew_the_feature(listed: Path) -> None:
    before = seen(listed)

    append(listed)

    assert seen(listed) == {**before, "rows": [*before["rows"], {"id": 9}]}


def add_column(table: DeltaTable) -> None:
    table.alter.add_columns(Field("fresh", PrimitiveType("integer")))


def merge_schema(table: DeltaTable) -> None:
    write_deltalake(table, pyarrow.table({"fresh": [1]}), mode="append", schema_mode="merge")


def overwrite_schema(table: DeltaTable) -> None:
    write_deltalake(table, pyarrow.table({"fresh": [1]}), mode="overwrite", schema_mode="overwrite")


@pytest.mark.parametrize("change", [add_column, merge_schema, overwrite_schema])
@pytest.mark.every_variant
def test_deltalake_would_change_no_schema_if_it_knew_the_feature(
    listed: Path, change: Callable[[DeltaTable], None]
) -> None:
    before = seen(listed)

    with pytest.raises(DeltaError, match=r"(?i)column.mapp"):
        change(DeltaTable(str(listed)))

    assert seen(listed) == before


def test_deltalake_would_restore_a_false_flag_if_it_knew_the_feature(listed: Path) -> None:
    DeltaTable(str(listed)).restore(1)

    assert seen(listed)["properties"]["hasDroppedOrRenamed"] == "false"


def test_deltalake_would_let_users_set_the_flag_if_it_knew_the_feature(listed: Path) -> None:
    properties = {FLAG: "false"}

    DeltaTable(str(listed)).alter.set_table_properties(properties, raise_if_not_exists=False)

    assert seen(listed)["properties"]["hasDroppedOrRenamed"] == "false"


def change_by_kernel(spark: SparkSession, path: Path, change: Callable[[Any], Any]) -> None:
    """Commits a changed schema, as a connector on Kernel would."""
    jvm: Any = spark._jvm
    kernel = jvm.io.delta.kernel
    engine = engines.kernel_engine(spark)
    table = kernel.Table.forPath(engine, str(path))
    schema = change(table.getLatestSnapshot(engine).getSchema())
    builder = table.createTransactionBuilder(engine, "tests", kernel.Operation.MANUAL_UPDATE)
    transaction = builder.withSchema(engine, schema).build(engine)
    transaction.commit(engine, kernel.utils.CloseableIterable.emptyIterable())


def test_kernel_refuses_to_change_a_table_with_the_feature(
    spark: SparkSession, golden: Path
) -> None:
    before = seen(golden / "flag_true")

    with pytest.raises(Py4JJavaError, match=FEATURE):
        change_by_kernel(spark, golden / "flag_true", lambda schema: with_note(spark, schema))

    assert seen(golden / "flag_true") == before


def test_kernel_would_restore_dropped_values_if_it_knew_the_feature(
    spark: SparkSession, listed: Path
) -> None:
    change_by_kernel(spark, listed, lambda schema: with_note(spark, schema))

    after = seen(listed)
    assert after["columns"][-1] == {
        "name": "note",
        "type": "string",
        "id": 5,
        "physicalName": "note",
    }
    assert after["rows"][0] == {"id": 1, "town": "Rome", "note": "x"}


def test_kernel_would_drop_columns_without_the_flag_if_it_knew_the_feature(
    spark: SparkSession, golden: Path
) -> None:
    table = golden / "flag_false"
    forget_feature(table)

    change_by_kernel(spark, table, lambda schema: without_last(spark, schema))

    after = seen(table)
    assert "fare" not in [column["name"] for column in after["columns"]]
    assert after["properties"]["hasDroppedOrRenamed"] == "false"


def test_kernel_would_lose_the_flag_at_replace_if_it_knew_the_feature(
    spark: SparkSession, golden: Path
) -> None:
    table = golden / "flag_false"
    before = seen(table)
    forget_feature(table)

    replace_by_kernel(spark, table, {"delta.columnMapping.mode": "name"})

    after = seen(table)
    assert after["properties"] == {**before["properties"], "hasDroppedOrRenamed": None}
    assert after["columns"] == before["columns"][:-1]
    assert after["rows"] == []


def replace_by_kernel(spark: SparkSession, path: Path, properties: dict[str, str]) -> None:
    jvm: Any = spark._jvm
    kernel = jvm.io.delta.kernel
    engine = engines.kernel_engine(spark)
    snapshot = kernel.TableManager.loadSnapshot(str(path)).build(engine)
    schema = without_last(spark, snapshot.getSchema())
    builder = snapshot.buildReplaceTableTransaction(schema, "tests")
    transaction = builder.withTableProperties(properties).build(engine)
    transaction.commit(engine, kernel.utils.CloseableIterable.emptyIterable())


def with_note(spark: SparkSession, schema: Any) -> Any:
    jvm: Any = spark._jvm
    return schema.add("note", jvm.io.delta.kernel.types.StringType.STRING)


def without_last(spark: SparkSession, schema: Any) -> Any:
    jvm: Any = spark._jvm
    fields = jvm.java.util.ArrayList()
    for index in range(schema.length() - 1):
        fields.add(schema.at(index))
    return jvm.io.delta.kernel.types.StructType(fields)
