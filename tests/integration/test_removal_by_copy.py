# SPDX-License-Identifier: Apache-2.0
"""Tests byte copies: exact statistics, row ids, checkpoints, odd paths, and generated tables.

`statements/removal.txt` has the tables that a few statements make.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from chispa.dataframe_comparer import assert_df_equality
from pyspark.sql import SparkSession

from tests.integration.generated_tables import DROPPED, generated
from tests.support.delta_table import NAME_MODE, TRACKED, Table, forget_logs
from tests.support.parquet_file import ParquetFile, problems
from tests.support.releases import PURGES, since_delta_4_1
from tests.support.removal import (
    Action,
    add_again,
    by_delta,
    counts,
    files_of,
    insert_one_file,
    local,
    unmap,
    with_inline_vectors,
)
from tests.support.session_conf import session_conf
from tests.support.table_files import rows_in_files
from tests.support.table_log import TableLog
from tests.support.variants import in_matrix

VECTORS = "'delta.enableDeletionVectors' = 'true'"
ROW_TRACKING = "'delta.enableRowTracking' = 'true'"


def exact(text: str) -> Any:
    """Returns JSON with its numbers as they are written."""
    return json.loads(text, parse_float=str, parse_int=str)


# Actions in the log.


@pytest.mark.broken_table("statistics_values")
def test_statistics_keep_every_digit(table: Table) -> None:
    table.create_tracked(
        "i BIGINT, d DECIMAL(38, 18), f DOUBLE, t TIMESTAMP,"
        " s STRUCT<x: STRING, y: STRUCT<z: INT>>, l ARRAY<INT>, gone INT"
    )
    insert_one_file(table, "(1, 2, 3, now(), NULL, NULL, 4)")
    values = (
        '{"i":9223372036854775807,"d":12345678901234567890.123456789012345678,"f":-0.0,'
        '"t":"2024-02-29T01:02:03.004Z","s":{"x":"\\u00e4\\"\\\\\\n","y":{"z":-1}},"gone":4}'
    )
    more = values.replace("-0.0", "1.0E-300").replace('"gone":4', '"gone":1e400')
    stats = (
        '{"numRecords":1,"tightBounds":true,"minValues":' + values + ',"maxValues":' + more + ","
        '"nullCount":{"i":0,"d":0,"f":0,"t":0,"s":{"x":0,"y":{"z":0}},"l":1,"gone":0}}'
    )
    add_again(table, stats=stats)
    for old, new in {"i": "I2", "d": "D2", "f": "F2", "t": "T2", "s.x": "X2", "l": "L2"}.items():
        table.alter(f"RENAME COLUMN {old} TO {new}")
    table.alter("RENAME COLUMN s.y.z TO Z2")
    table.alter("RENAME COLUMN s TO S2")
    table.alter("DROP COLUMN gone")

    log = unmap(table)

    (add,) = log.actions("add")
    expected = stats.replace(',"gone":4', "").replace(',"gone":1e400', "").replace(',"gone":0', "")
    for name in "idftsxzl":
        expected = expected.replace(f'"{name}":', f'"{name.upper()}2":')
    assert exact(add["stats"]) == exact(expected)
    numbers = ("9223372036854775807", "12345678901234567890.123456789012345678", "-0.0", "1.0E-300")
    assert all(f":{number}," in add["stats"] for number in numbers)


@pytest.mark.without("deletion-vectors")
@since_delta_4_1("ignores statistics that are stored only as structs")
@pytest.mark.parametrize("policy", ["classic", *in_matrix("v2")])
def test_statistics_in_a_checkpoint_only_are_renamed(table: Table, policy: str) -> None:
    table.create(
        "a INT, b STRING, s STRUCT<x: DECIMAL(10, 2)>",
        TRACKED,
        NAME_MODE,
        "'delta.checkpoint.writeStatsAsJson' = 'false'",
        "'delta.checkpoint.writeStatsAsStruct' = 'true'",
        f"'delta.checkpointPolicy' = '{policy}'",
    )
    insert_one_file(table, "(1, 'x', named_struct('x', 1.25)), (2, NULL, NULL)")
    table.alter("RENAME COLUMN a TO c")
    table.alter("RENAME COLUMN s.x TO y")
    table.cut_log(table.log.version)

    table.remove_mapping()

    (add,) = table.log.actions("add")
    assert exact(add["stats"]) == exact(
        '{"numRecords":2,"minValues":{"c":1,"b":"x","s":{"y":1.25}},'
        '"maxValues":{"c":2,"b":"x","s":{"y":1.25}},'
        '"nullCount":{"c":0,"b":1,"s":{"y":1}}}'
    )


def test_partition_values_as_a_struct_in_a_checkpoint_are_renamed(table: Table) -> None:
    table.create(
        "a INT, p INT",
        TRACKED,
        NAME_MODE,
        "'delta.checkpoint.writeStatsAsStruct' = 'true'",
        "'delta.checkpointInterval' = '1'",
        partitioned_by="p",
    )
    insert_one_file(table, "(1, 7)")
    table.alter("RENAME COLUMN p TO q")
    renamed = partition_values_as_structs(table)
    forget_logs(table.spark)

    table.remove_mapping()
    forget_logs(table.spark)

    assert (renamed, partition_values_as_structs(table)) == ([{"p": 7}], [{"q": 7}])
    assert [add["partitionValues"] for add in table.log.actions("add")] == [{"q": "7"}]
    assert table.spark.sql(f"SELECT a FROM {table.name} WHERE q = 7").collect() == [(1,)]


def partition_values_as_structs(table: Table) -> list[Action]:
    """Returns `partitionValues_parsed` of each added file in the newest checkpoint."""
    file = table.path / "_delta_log" / f"{table.log.version:020}.checkpoint.parquet"
    adds = pyarrow.parquet.read_table(file).column("add").to_pylist()
    return [add["partitionValues_parsed"] for add in adds if add]


def test_inline_deletion_vector_is_kept(table: Table) -> None:
    table.create("a INT", TRACKED, NAME_MODE, VECTORS)
    insert_one_file(table, "(1), (2), (3)")
    table.spark.sql(f"DELETE FROM {table.name} WHERE a = 2")
    table.alter("RENAME COLUMN a TO c")
    (inline,) = with_inline_vectors(table)
    (file,) = table.path.rglob("deletion_vector_*.bin")
    file.unlink()

    (add,) = unmap(table).actions("add")

    assert add["deletionVector"] == inline


@pytest.mark.without("auto-compact")
@pytest.mark.every_variant
@pytest.mark.parametrize(
    "statement", [Table.remove_mapping, pytest.param(Table.purge, marks=PURGES)]
)
def test_rows_keep_their_ids_and_versions(
    table: Table, statement: Callable[[Table], object]
) -> None:
    properties = TRACKED, NAME_MODE, VECTORS, ROW_TRACKING
    table.create("a INT, b STRING, p INT", *properties, partitioned_by="p")
    insert_one_file(table, "(1, 'x', 1), (2, 'y', 1), (3, 'z', 1)")
    insert_one_file(table, "(4, 'v', 1), (5, 'w', 2)")
    table.spark.sql(f"UPDATE {table.name} SET b = 'u' WHERE a = 2")
    table.spark.sql(f"OPTIMIZE {table.name} WHERE p = 1")
    insert_one_file(table, "(6, 'u', 1)")
    table.alter("RENAME COLUMN a TO c")
    table.alter("DROP COLUMN b")
    row_ids = "_metadata.row_id, _metadata.row_commit_version, c, p"
    before = table.selected(row_ids)

    statement(table)

    log = table.log
    assert files_of(log) == "0 3 0"
    assert table.selected(row_ids) == before
    assert len({row_id for row_id, *_ in before}) == 6
    if statement is Table.remove_mapping:
        assert log.actions("commitInfo")[0]["tags"]["delta.rowTracking.preserved"] == "true"
    assert any("row-id-col" in column for column in log.parquet_columns())
    table.spark.sql(f"UPDATE {table.name} SET p = 3 WHERE c = 6")
    insert_one_file(table, "(7, 1)")
    after = {row_id for row_id, *_ in table.selected(row_ids)}
    assert len(after) == 7
    assert {row_id for row_id, *_ in before} < after


def test_commit_has_the_actions_of_deltas_own_removal(table: Table) -> None:
    """Compares commit info, metadata and protocol. Files, row ids, times and metrics may differ."""
    table.create("a INT, b STRING", TRACKED, NAME_MODE, VECTORS, ROW_TRACKING)
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    twin = by_delta(table)

    log = unmap(table)

    def commit_of(of: TableLog) -> Any:
        info = of.actions("commitInfo")[0]
        for own in ("timestamp", "txnId", "operationMetrics"):
            info.pop(own)
        return info, of.actions("metaData"), of.actions("protocol")

    assert commit_of(log) == commit_of(twin.log)


# Paths and names.

ODD = "sp ce %20 a=b +#?&{}[]'\"\\ Übergröße 𝄞"
"""A name of a folder on the local disk. Hadoop takes `:` for the end of a scheme."""


@pytest.mark.parametrize("name", [ODD, *in_matrix("a%2Fb", "..c", "-", "a:b")])
def test_table_path_may_have_any_character(spark: SparkSession, tmp_path: Path, name: str) -> None:
    table = Table(spark, tmp_path / name / f"t{name}")
    table.name = f"delta.`{str(table.path).replace('`', '``')}`"
    rows = spark.sql("SELECT 1 AS a, 'x' AS p UNION ALL SELECT 2, 'ä%:/='").coalesce(1)
    writer = rows.write.format("delta").partitionBy("p")
    writer.option("delta.columnMapping.mode", "name").save(str(table.path))
    table.alter(f"SET TBLPROPERTIES ({TRACKED})")
    table.alter("RENAME COLUMN a TO b")

    assert files_of(unmap(table)) == "0 2 0"

    read = spark.read.format("delta").load(str(table.path))
    assert sorted(map(tuple, read.collect())) == [(1, "x"), (2, "ä%:/=")]
    assert [row["b"] for row in rows_in_files(table.log)] == [1, 2]


@pytest.mark.broken_table("file_columns")
@pytest.mark.parametrize("flag", ["true", "false"])
def test_names_in_a_file_are_ignored_in_id_mode(table: Table, flag: str) -> None:
    """A file that was converted from Iceberg has the names of its writer."""
    table.create("a INT, b INT, c INT", TRACKED, "'delta.columnMapping.mode' = 'id'")
    insert_one_file(table, "(3, 4, 5)")
    (add,) = table.log.actions("add")
    file = table.path / "data file.parquet"
    fields = [
        pyarrow.field(name, pyarrow.int32(), metadata={"PARQUET:field_id": id})
        for name, id in {"b": "1", "a": "2", "z": "99"}.items()
    ]
    pyarrow.parquet.write_table(pyarrow.table([[1], [2], [9]], schema=pyarrow.schema(fields)), file)
    new = {"path": "data%20file.parquet", "size": file.stat().st_size, "stats": '{"numRecords":1}'}
    table.log.append_foreign({"add": {**add, **new}})
    assert table.selected() == [(1, 2, None), (3, 4, 5)]
    if flag == "true":
        table.alter("RENAME COLUMN c TO d")
    assert table.log.flag == flag
    kept = int(flag == "false")
    (step, *_) = table.usage.remove_column_mapping(dry_run=True, exact=True)
    assert [each and each.num_files for each in (step.kept, step.copied)] == [kept, 2 - kept]

    log = unmap(table)

    assert counts(log) == (kept, 2 - kept, 0)
    assert log.parquet_columns() == (["a", "b"] if kept else ["a", "b", "d"])
    assert table.selected() == [(1, 2, None), (3, 4, 5)]


# Generated tables, which are compared with Delta's own rewrite.


@pytest.mark.without("auto-compact")
@pytest.mark.parametrize("seed", [0, *in_matrix(*range(1, 40))])
def test_generated_table_is_the_same_as_after_deltas_rewrite(table: Table, seed: int) -> None:
    twin = by_delta(generated(table, seed))
    before = table.log.version

    log = unmap(table)

    assert sum(counts(log)[:2]) > counts(log)[2]
    assert log.fields == twin.log.fields
    was = table.frame(before).orderBy("id")
    assert_df_equality(table.frame().orderBy("id"), was, allow_nan_equality=True)
    for vectorized in ("true", "false"):
        with session_conf(table.spark, {"spark.sql.parquet.enableVectorizedReader": vectorized}):
            ours, theirs = (frame.orderBy("id") for frame in (table.frame(), twin.frame()))
            assert_df_equality(ours, theirs, allow_nan_equality=True)
            assert_filters_find_all_rows(table)
    for action in log.actions("add"):
        file = local(log.path, action["path"])
        assert list(problems(ParquetFile.of(file), whole=True)) == []
        assert DROPPED.encode() not in file.read_bytes()
        assert DROPPED not in str(action)


def assert_filters_find_all_rows(table: Table) -> None:
    """Asserts that filters, which skip files by statistics, find all rows."""
    rows = table.frame().collect()
    for column in {"id", "whole"} & {*table.frame().columns}:
        values = {row[column] for row in rows} - {None}
        for value in sorted(values)[:3]:
            found = table.frame().where(f"`{column}` = {value}").count()
            assert found == sum(row[column] == value for row in rows)
