# SPDX-License-Identifier: Apache-2.0
"""Tests removal and purge of tables with data files of other writers."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow.parquet
import pytest

import spark_ext
from tests.support.compact_thrift import BINARY, I32, I64
from tests.support.delta_table import ID_MODE, TRACKED, Table, refusal
from tests.support.parquet_file import (
    COLUMN_INDEX,
    COLUMN_INDEX_LENGTH,
    CREATED_BY,
    OFFSET_INDEX,
    OFFSET_INDEX_LENGTH,
    ParquetFile,
)
from tests.support.releases import PURGES
from tests.support.removal import (
    PURGE_SETTING,
    counts,
    data_files,
    files_of,
    insert_one_file,
    live,
    local,
    unmap,
)
from tests.support.session_conf import SetConf, session_conf

pytestmark = pytest.mark.without("auto-compact")

EXTENSION = -16384  # the bytes of field 32767 in BinaryProtocolExtensions.md, as Thrift reads them
SECRET = b"a footer of another form, with the column d"

Change = Callable[[ParquetFile], None]


def written_by(writer: bytes) -> Change:
    return lambda file: file.footer.put(CREATED_BY, BINARY, writer)


def extended(file: ParquetFile) -> None:
    """Changes the footer as a recent Photon writes it."""
    file.footer.put(CREATED_BY, BINARY, b"parquet-mr compatible Photon version 0.2 (build 16.4)")
    file.footer.put(EXTENSION, BINARY, SECRET)


def misplaced(place: int, length: int) -> Change:
    """Uses an index of the second column for the first column as well."""

    def change(file: ParquetFile) -> None:
        first, second, *_ = file.chunks
        first.put(place, I64, second[place])
        first.put(length, I32, second[length])

    return change


COPIED: list[Change] = [
    written_by(b"parquet-mr compatible Photon version 0.2 (build unknown)"),
    written_by(b"parquet-mr-trino version 480-e.5 (build n/a)"),
    extended,
]
REWRITTEN: list[Change] = [
    written_by(b"parquet-mr version 1.2.8 (build x)"),
    misplaced(OFFSET_INDEX, OFFSET_INDEX_LENGTH),
    misplaced(COLUMN_INDEX, COLUMN_INDEX_LENGTH),
]


def with_files_of_others(table: Table) -> Table:
    """Makes a table of seven files with a dropped column. Spark wrote one of the files."""
    table.create_tracked("a INT, b STRING, d INT")
    insert_one_file(table, "(1, 'x', 7), (2, 'y', 8)")
    (add,) = live(table.log).values()
    source = ParquetFile.of(local(table.path, add["path"])).bytes()
    actions = []
    for number, change in enumerate([*COPIED, *REWRITTEN]):
        file = ParquetFile.of(source)
        change(file)
        path = table.path / f"{number}.parquet"
        path.write_bytes(file.bytes())
        actions.append({"add": {**add, "path": path.name, "size": path.stat().st_size}})
    table.log.append_foreign(*actions)
    table.alter("DROP COLUMN d")
    return table


def footers(table: Table) -> list[ParquetFile]:
    return [ParquetFile.of(local(table.path, path)) for path in live(table.log)]


def test_exact_dry_run_returns_the_counts_of_the_removal(table: Table) -> None:
    with_files_of_others(table)

    (first, *_) = table.usage.remove_column_mapping(dry_run=True, exact=True)
    log = unmap(table)

    counted = [each and each.num_files for each in (first.kept, first.copied, first.rewritten)]
    assert counted == list(counts(log)) == [0, 4, 3]
    written = footers(table)
    writers = {file.footer[CREATED_BY].split(b" version")[0] for file in written}
    assert {b"parquet-mr compatible Photon", b"parquet-mr-trino"} < writers
    assert not any(EXTENSION in file.footer or SECRET in file.bytes() for file in written)
    assert table.selected() == sorted([(1, "x"), (2, "y")] * 7)


@PURGES
def test_purge_copies_the_same_files(table: Table) -> None:
    with_files_of_others(table)

    table.purge()

    assert files_of(table.log) == "0 4 3"
    names = [file.footer[CREATED_BY] for file in footers(table)]
    assert sum(b"Photon" in name for name in names) == 2


# Files without field ids in mode id.


def with_a_file_without_ids(table: Table) -> str:
    """Makes a table with a renamed and a dropped column, and returns the file of another writer."""
    table.create("a INT, b INT, d INT", TRACKED, ID_MODE)
    insert_one_file(table, "(1, 2, 3)")
    (add,) = live(table.log).values()
    path = table.path / "foreign.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": [4], "b": [5], "d": [6]}), path)
    size, stats = path.stat().st_size, '{"numRecords":1}'
    table.log.append_foreign({"add": {**add, "path": path.name, "size": size, "stats": stats}})
    table.alter("RENAME COLUMN a TO c")
    table.alter("DROP COLUMN d")
    return path.name


@pytest.mark.every_variant
@pytest.mark.broken_table("file_columns", "file_unreadable")
@pytest.mark.parametrize(
    ("statement", "settings"),
    [
        (Table.remove_mapping, {}),
        (Table.remove_mapping, {"spark.sql.parquet.fieldId.read.ignoreMissing": "true"}),
        (lambda table: table.usage.remove_column_mapping(dry_run=True, exact=True), {}),
        (lambda table: table.usage.align_names(to_name_mode=True), {}),
        pytest.param(Table.purge, {}, marks=PURGES),
        pytest.param(Table.purge, {PURGE_SETTING: "rewrite"}, marks=PURGES),
    ],
)
def test_file_without_field_ids_is_named_in_id_mode(
    table: Table, conf: SetConf, statement: Callable[[Table], object], settings: dict[str, str]
) -> None:
    path = with_a_file_without_ids(table)
    for key, value in settings.items():
        conf(key, value)
    before = data_files(table.path)

    with refusal("USAGE_TRACKING_UNREADABLE_DATA_FILE") as refused:
        statement(table)

    assert refused.value.getMessageParameters()["path"].endswith(path)
    if PURGE_SETTING not in settings:  # Delta begins to write
        assert data_files(table.path) == before


@pytest.mark.broken_table("file_columns")
def test_rows_of_a_file_without_field_ids_are_inserted_again_as_the_finding_says(
    table: Table,
) -> None:
    path = with_a_file_without_ids(table)
    (finding,) = spark_ext.audit(table.spark, table.path).findings
    assert (finding.check, finding.file, finding.column) == ("file_unreadable", path, None)
    rows = table.spark.read.parquet(str(table.path / path)).selectExpr("a AS c", "b").collect()

    keys = re.findall(r"`(spark[.\w]+)`", finding.remedy)
    with session_conf(table.spark, dict.fromkeys(keys, "true")):
        (statement,) = re.findall(r"INSERT OVERWRITE t SELECT \* FROM t\b", finding.remedy)
        table.spark.sql(re.sub(r"\bt\b", table.name, statement))
    table.spark.createDataFrame(rows, "c INT, b INT").writeTo(table.name).append()

    assert not spark_ext.audit(table.spark, table.path).findings
    unmap(table)
    assert table.selected() == [(1, 2), (4, 5)]
