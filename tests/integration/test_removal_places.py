# SPDX-License-Identifier: Apache-2.0
"""Tests that the folders of copies agree with the partition values, for paths of any characters."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession

from tests.support.delta_table import NAME_MODE, TRACKED, Table, forget_logs
from tests.support.releases import TAKES_PARQUET, WRITES_PARTITION_COLUMNS, since_delta_4_1
from tests.support.removal import (
    counts,
    data_files,
    insert_one_file,
    local,
    unmap,
)
from tests.support.table_files import rows_in_files
from tests.support.table_log import TableLog
from tests.support.variants import in_matrix

MATRIX = pytest.mark.matrix
# A name of a folder on the local disk and a partition value. Hadoop takes `:` for the end of a
# scheme.
ODD = "sp ce %20 a=b +#?&{}[]'\"\\ Übergröße 𝄞"


def assert_folders_are_right(log: TableLog) -> None:
    """Asserts that the folders of each new file are its partition values in order."""
    partitions = log.metadata["partitionColumns"]
    for add in log.actions("add"):
        folders = unquote(add["path"]).split("/")[:-1]
        assert [unquote(folder.split("=")[0]) for folder in folders] == partitions
        for folder in folders:
            column, value = folder.split("=", 1)
            expected = add["partitionValues"][unquote(column)]
            assert unquote(value) == (expected or "__HIVE_DEFAULT_PARTITION__")


@pytest.mark.parametrize("name", [ODD, *in_matrix("a%2Fb", "..c", "-", "a:b")])
def test_table_path_may_have_any_character(spark: SparkSession, tmp_path: Path, name: str) -> None:
    table = Table(spark, tmp_path / name / f"t{name}")
    rows = spark.sql("SELECT 1 AS a, 'x' AS p UNION ALL SELECT 2, 'ä%:/='").coalesce(1)
    writer = rows.write.format("delta").partitionBy("p")
    writer.option("delta.columnMapping.mode", "name").save(str(table.path))
    at = spark.read.format("delta").load
    delta = f"delta.`{str(table.path).replace('`', '``')}`"
    spark.sql(f"ALTER TABLE {delta} SET TBLPROPERTIES ({TRACKED})")
    spark.sql(f"ALTER TABLE {delta} RENAME COLUMN a TO b")

    spark.sql(f"ALTER TABLE {delta} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')")

    assert counts(table.log) == (0, 2, 0)
    assert_folders_are_right(table.log)
    assert all(local(table.path, path).is_file() for path in table.log.live_files)
    assert sorted(map(tuple, at(str(table.path)).collect())) == [(1, "x"), (2, "ä%:/=")]
    assert [row["b"] for row in rows_in_files(table.log)] == [1, 2]


@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        (
            "STRING",
            [
                "'a b'",
                "'x/y=z'",
                f"'{ODD.replace(chr(92), '').replace(chr(39), '')}'",
                "''",
                "NULL",
            ],
        ),
        ("TIMESTAMP", ["timestamp'2024-02-29 01:02:03.004'", "NULL"]),
        pytest.param("DATE", ["date'2024-02-29'", "date'0001-01-01'"], marks=MATRIX),
        pytest.param("DECIMAL(20, 3)", ["-0.5", "12345678901234567.001"], marks=MATRIX),
        pytest.param("DOUBLE", ["0.1", "double('NaN')", "-1e300"], marks=MATRIX),
        pytest.param("BOOLEAN", ["true", "NULL"], marks=MATRIX),
        pytest.param("BINARY", ["X'6162'"], marks=MATRIX),
        pytest.param("TIMESTAMP_NTZ", ["timestamp_ntz'2024-02-29 01:02:03'"], marks=MATRIX),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_partition_values_are_kept_and_folders_agree_with_them(
    table: Table, data_type: str, values: list[str]
) -> None:
    table.create(f"a INT, p {data_type}", TRACKED, NAME_MODE, partitioned_by="p")
    rows = ", ".join(f"({number}, {value})" for number, value in enumerate(values))
    insert_one_file(table, rows)
    table.alter("RENAME COLUMN p TO `q:ü`")
    before = repr(table.selected())  # NaN does not equal itself
    values_before = partition_values(table.log.at(1))
    filters = [f"`q:ü` <=> CAST({value} AS {data_type})" for value in values]
    found = [table.frame().where(condition).count() for condition in filters]
    assert sum(found) >= len(values) - 1

    log = unmap(table)

    if WRITES_PARTITION_COLUMNS:  # otherwise a file without renamed columns is kept in its folder
        assert_folders_are_right(log)
    assert repr(table.selected()) == before
    assert [table.frame().where(condition).count() for condition in filters] == found
    assert partition_values(log) == values_before


@since_delta_4_1("makes a folder for each value of a mapped table too")
@pytest.mark.parametrize(
    ("data_type", "value"),
    [("STRING", "repeat('x', 300)"), ("STRING", "repeat('\u6f22', 120)"), ("BINARY", "X'6100'")],
    ids=["300 characters", "360 bytes", "a zero byte"],
)
def test_partition_value_that_is_not_a_folder_name_is_kept(
    table: Table, data_type: str, value: str
) -> None:
    table.create(f"a INT, p {data_type}", TRACKED, NAME_MODE, partitioned_by="p")
    table.spark.sql(f"INSERT INTO {table.name} SELECT 1, {value}")
    table.alter("RENAME COLUMN a TO b")

    unmap(table)

    (found,) = table.spark.sql(f"SELECT b, p = {value} FROM {table.name}").collect()
    assert tuple(found) == (1, True)


def partition_values(log: TableLog) -> list[str]:
    return sorted(str(list(add["partitionValues"].values())) for add in log.actions("add"))


@pytest.mark.skipif(not WRITES_PARTITION_COLUMNS, reason="clean files stay where they are")
def test_readers_of_folder_names_find_the_partitions(table: Table) -> None:
    table.create("a INT, p STRING, q INT", TRACKED, NAME_MODE, partitioned_by="p, q")
    insert_one_file(table, "(1, 'x y', 1), (2, 'x/y', 2)")
    table.alter("RENAME COLUMN p TO r")
    old = set(table.log.live_files)
    log = unmap(table)
    for path in old:
        local(table.path, path).unlink()

    assert_folders_are_right(log)
    read = pyarrow.dataset.dataset(
        [str(local(table.path, path)) for path in log.live_files],
        partitioning=pyarrow.dataset.HivePartitioning.discover(),
        partition_base_dir=str(table.path),
    ).to_table()
    assert read.sort_by("a").select(["a", "r", "q"]).to_pylist() == [
        {"a": 1, "r": "x y", "q": 1},
        {"a": 2, "r": "x/y", "q": 2},
    ]


def before_mapping(table: Table) -> Table:
    """Makes files in folders with the names that the columns had before mapping was enabled.

    The files contain no partition columns. Delta would write these columns for a mapped table.
    """
    rows = table.spark.sql("SELECT 1 AS a, 10 AS p, 20 AS q UNION ALL SELECT 2, 30, 30")
    rows.coalesce(1).write.partitionBy("p", "q").parquet(str(table.path))
    table.spark.sql(f"CONVERT TO DELTA parquet.`{table.path}` PARTITIONED BY (p INT, q INT)")
    table.alter(f"SET TBLPROPERTIES ({TRACKED}, {NAME_MODE})")
    return table


@MATRIX
def test_files_in_folders_from_before_mapping_are_kept(table: Table) -> None:
    before_mapping(table)
    table.alter("RENAME COLUMN a TO b")
    table.alter("RENAME COLUMN b TO a")

    log = unmap(table)

    assert counts(log) == (2, 0, 0)
    assert table.selected() == [(1, 10, 20), (2, 30, 30)]


@TAKES_PARQUET
@pytest.mark.parametrize("swapped", [False, True])
def test_file_in_a_folder_with_another_name_is_copied(table: Table, swapped: bool) -> None:
    """The file contains the right names already."""
    before_mapping(table)
    table.alter("RENAME COLUMN p TO other")
    if swapped:
        table.alter("RENAME COLUMN q TO p")
        table.alter("RENAME COLUMN other TO q")

    log = unmap(table)

    # The second file has equal values in both partitions, so its folders are right after the swap.
    assert counts(log) == ((1, 1, 0) if swapped else (0, 2, 0))
    assert_folders_are_right(log)
    assert table.selected() == [(1, 10, 20), (2, 30, 30)]


@pytest.mark.matrix
def test_copies_are_written_to_random_folders(table: Table) -> None:
    properties = ("'delta.randomizeFilePrefixes' = 'true'", "'delta.randomPrefixLength' = '5'")
    table.create("a INT, p INT", TRACKED, NAME_MODE, *properties, partitioned_by="p")
    insert_one_file(table, "(1, 1), (2, 2), (3, 3)")
    table.alter("RENAME COLUMN p TO q")

    log = unmap(table)

    assert counts(log) == (0, 3, 0)
    folders = [add["path"].split("/")[:-1] for add in log.actions("add")]
    assert all(len(folder) == 5 and "=" not in folder for (folder,) in folders)
    assert table.selected() == [(1, 1), (2, 2), (3, 3)]


@MATRIX
def test_name_of_a_copy_contains_its_compression(table: Table) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    table.alter("RENAME COLUMN a TO b")

    (add,) = unmap(table).actions("add")

    assert add["path"].startswith("part-00000-")
    assert add["path"].endswith(".snappy.parquet")
    assert "/" not in add["path"]


# Files outside of the table.


def test_shallow_clone_copies_every_file_of_its_source_into_its_own_folder(
    table: Table, tmp_path: Path
) -> None:
    source = Table(table.spark, tmp_path / "env=prod %" / "source")
    source.create("a INT, p STRING", TRACKED, NAME_MODE, partitioned_by="p")
    insert_one_file(source, "(1, 'x/y')")
    source.alter("ADD COLUMN b INT")
    insert_one_file(source, "(2, 'z', 3)")
    source.alter("DROP COLUMN b")
    files = {file: file.read_bytes() for file in data_files(source.path)}
    table.spark.sql(f"CREATE TABLE {table.name} SHALLOW CLONE {source.name}")

    log = unmap(table)

    assert counts(log) == (0, 2, 0)
    assert len(log.live_files) == 2
    for file in log.live_files:
        assert local(table.path, file).is_relative_to(table.path)
    assert {file: file.read_bytes() for file in data_files(source.path)} == files
    assert source.selected() == table.selected() == [(1, "x/y"), (2, "z")]
    table.spark.sql(f"DELETE FROM {table.name} WHERE a = 1")
    assert source.selected() == [(1, "x/y"), (2, "z")]


def test_relative_path_to_a_file_outside_of_the_table_is_copied(
    table: Table, tmp_path: Path
) -> None:
    source = Table(table.spark, tmp_path / "source").create("a INT, b INT", TRACKED, NAME_MODE)
    source.alter("DROP COLUMN b")
    insert_one_file(source, "(1)")
    table.spark.sql(f"CREATE TABLE {table.name} SHALLOW CLONE {source.name}")
    commit = table.path / "_delta_log" / f"{0:020}.json"
    text, count = re.subn('"path":"[^"]*/source/', '"path":"../source/', commit.read_text())
    commit.write_text(text)
    commit.with_name(f".{commit.name}.crc").unlink()
    for checkpoint in commit.parent.glob("*checkpoint*"):
        checkpoint.unlink()
    forget_logs(table.spark)
    assert (count, table.selected()) == (1, [(1,)])

    log = unmap(table)

    assert counts(log) == (0, 1, 0)
    assert all(local(table.path, file).is_file() for file in log.live_files)
    assert not any(".." in file for file in log.live_files)
    assert table.selected() == [(1,)]


@MATRIX
def test_clone_of_a_table_in_id_mode_is_copied(table: Table, tmp_path: Path) -> None:
    source = Table(table.spark, tmp_path / "source")
    source.create("a INT, b INT", TRACKED, "'delta.columnMapping.mode' = 'id'")
    insert_one_file(source, "(1, 2)")
    source.alter("RENAME COLUMN a TO c")
    table.spark.sql(f"CREATE TABLE {table.name} SHALLOW CLONE {source.name}")

    log = unmap(table)

    assert counts(log) == (0, 1, 0)
    assert log.parquet_field_ids() == {}
    assert table.selected("c, b") == source.selected("c, b") == [(1, 2)]


@pytest.mark.broken_table("file_columns")
@pytest.mark.parametrize("flag", ["true", "false"])
def test_names_in_a_file_are_ignored_in_id_mode(table: Table, flag: str) -> None:
    """A file that was converted from Iceberg has the names of its writer."""
    table.create("a INT, b INT, c INT", TRACKED, "'delta.columnMapping.mode' = 'id'")
    insert_one_file(table, "(3, 4, 5)")
    schema = pyarrow.schema(
        [
            pyarrow.field("b", pyarrow.int32(), metadata={"PARQUET:field_id": "1"}),
            pyarrow.field("a", pyarrow.int32(), metadata={"PARQUET:field_id": "2"}),
            pyarrow.field("z", pyarrow.int32(), metadata={"PARQUET:field_id": "99"}),
        ]
    )
    file = table.path / "data file.parquet"
    pyarrow.parquet.write_table(pyarrow.table([[1], [2], [9]], schema=schema), file)
    add = {
        "path": "data%20file.parquet",
        "partitionValues": {},
        "size": file.stat().st_size,
        "modificationTime": 0,
        "dataChange": True,
        "stats": '{"numRecords":1}',
    }
    table.log.append_foreign({"add": add})
    assert table.selected() == [(1, 2, None), (3, 4, 5)]
    if flag == "true":
        table.alter("RENAME COLUMN c TO d")
    assert table.log.flag == flag
    kept = int(flag == "false")
    stages = f"column_mapping_removal('{table.name}', true)"
    step = table.spark.sql(f"SELECT * FROM {stages} WHERE stage = 'unmapped'").collect()[0]
    assert (step["cost"], step["kept"][0], step["copied"][0]) == ("COPY", kept, 2 - kept)

    log = unmap(table)

    assert counts(log) == (kept, 2 - kept, 0)
    assert log.parquet_columns() == (["a", "b"] if kept else ["a", "b", "d"])
    assert table.selected() == [(1, 2, None), (3, 4, 5)]


@MATRIX
def test_converted_table_is_copied(table: Table) -> None:
    before_mapping(table)
    insert_one_file(table, "(3, 7, 8)")
    table.alter("RENAME COLUMN a TO b")

    log = unmap(table)

    assert counts(log) == (0, 3, 0)
    assert_folders_are_right(log)
    assert table.selected() == [(1, 10, 20), (2, 30, 30), (3, 7, 8)]
