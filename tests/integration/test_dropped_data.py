# SPDX-License-Identifier: Apache-2.0
"""Compares the verdicts about dropped columns with the bytes on the disk, before and after steps.

`certificate` of `erasures.py` searches all bytes below the table's folder in every call.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import UsageTracking
from spark_ext.__main__ import main
from tests.integration.erasures import (
    GONE,
    MARKER,
    SHORT,
    certificate,
    clean_up_log,
    erase,
    found_in,
    remaining,
    steps,
    top_level,
    verdict,
)
from tests.integration.held_bytes import holders
from tests.support.delta_table import ID_MODE, NAME_MODE, TRACKED, Table
from tests.support.pages import commands
from tests.support.releases import PURGES
from tests.support.session_conf import session_conf

pytestmark = pytest.mark.without("parquet")

MAPPED = (TRACKED, NAME_MODE, *SHORT)
OFTEN = "'delta.checkpointInterval' = '1'"
FEED = "'delta.enableChangeDataFeed' = 'true'"
VECTORS = "'delta.enableDeletionVectors' = 'true'"


@pytest.fixture(autouse=True)
def _uncompressed(spark: SparkSession) -> Any:
    with session_conf(spark, {"spark.sql.parquet.compression.codec": "uncompressed"}):
        yield


def usage(table: Table) -> UsageTracking:
    return UsageTracking.forName(table.spark, table.name)


def align(table: Table) -> None:
    usage(table).align_names(progress=None)


def unmap(table: Table) -> None:
    usage(table).remove_column_mapping(progress=None)


def dropped(
    column: str = "ssn STRING",
    value: str = f"'{MARKER}'",
    path: str = "ssn",
    properties: tuple[str, ...] = MAPPED,
) -> Callable[[Table], None]:
    """Returns a function that makes a table of two rows and drops the column."""

    def make(table: Table) -> None:
        table.create(f"id INT, {column}", *properties)
        table.insert(f"(1, {value}), (2, {value})")
        table.alter(f"DROP COLUMN {path}")

    return make


def renamed(table: Table) -> None:
    table.create("id INT, ssn STRING", NAME_MODE, *SHORT)
    table.insert(f"(1, '{MARKER}')")
    table.alter("RENAME COLUMN ssn TO plain")
    table.alter("DROP COLUMN plain")


def mapped_again(table: Table) -> None:
    table.create("id INT, ssn STRING", *MAPPED)
    table.insert(f"(1, '{MARKER}')")
    unmap(table)
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    table.insert(f"(2, '{MARKER}')")
    table.alter("DROP COLUMN ssn")


def with_vectors_and_feed(table: Table) -> None:
    table.create("id INT, ssn STRING", *MAPPED, FEED, VECTORS, OFTEN)
    table.insert(f"(1, '{MARKER}'), (2, '{MARKER}')")
    table.spark.sql(f"UPDATE {table.name} SET id = 3 WHERE ssn = '{MARKER}' AND id = 1")
    table.alter("DROP COLUMN ssn")


STRUCT = f"named_struct('x', 1, 'ssn', '{MARKER}')"
DROPPED = {
    "top level": dropped(),
    "by uuid": dropped(properties=(NAME_MODE, *SHORT)),
    "by id": dropped(properties=(TRACKED, ID_MODE, *SHORT)),
    "in an array": dropped(
        "a ARRAY<STRUCT<x: INT, ssn: STRING>>", f"array({STRUCT})", "a.element.ssn"
    ),
    "in a map by id": dropped(
        "m MAP<STRING, STRUCT<x: INT, ssn: STRING>>",
        f"map('k', {STRUCT})",
        "m.value.ssn",
        (TRACKED, ID_MODE, *SHORT),
    ),
    "renamed": renamed,
    "mapped again": mapped_again,
    "with vectors and a feed": with_vectors_and_feed,
    "v2 checkpoints": dropped(properties=(*MAPPED, OFTEN, "'delta.checkpointPolicy' = 'v2'")),
    "statistics as structs": dropped(
        properties=(
            *MAPPED,
            OFTEN,
            "'delta.checkpoint.writeStatsAsJson' = 'false'",
            "'delta.checkpoint.writeStatsAsStruct' = 'true'",
        )
    ),
}


@PURGES
@pytest.mark.parametrize("make", DROPPED.values(), ids=DROPPED)
def test_erasure_ends_after_its_steps(table: Table, make: Callable[[Table], None]) -> None:
    make(table)
    assert (
        steps(found_in(table))
        == ["PURGE", "VACUUM", "LOG CLEANUP"][:: 1 if len(list(table.path.rglob("*.bin"))) else 2]
    )
    table.purge()
    assert steps(found_in(table)) == ["VACUUM", "LOG CLEANUP"]
    table.spark.sql(f"VACUUM {table.name}")
    assert steps(found_in(table)) == ["LOG CLEANUP"]
    erase(table)
    assert holders(table.path, MARKER).total() == 0


def test_erasure_works_without_column_mapping_and_for_partition_columns(table: Table) -> None:
    table.create("id INT, ssn STRING", *SHORT, partitioned_by="ssn")
    table.insert(f"(1, '{MARKER}'), (2, '{MARKER} a:b%c')")
    table.overwrite("SELECT CAST(id AS INT) FROM range(2)")

    assert found_in(table).found is not None
    assert steps(found_in(table)) == ["VACUUM", "LOG CLEANUP"]
    assert [each.paths for each in found_in(table).places if each.paths] == [("ssn",)]
    erase(table)


# The verdict is never too early.


def take_again_by_drop(table: Table) -> None:
    table.alter("DROP COLUMN ssn")


def take_again_by_rename(table: Table) -> None:
    table.alter("RENAME COLUMN ssn TO other")
    align(table)
    table.alter("DROP COLUMN other")


def take_again_by_overwrite(table: Table) -> None:
    unmap(table)
    table.overwrite("SELECT 5 AS id")


@PURGES
@pytest.mark.every_variant
@pytest.mark.parametrize(
    "again", [take_again_by_drop, take_again_by_rename, take_again_by_overwrite]
)
def test_a_name_taken_again_hides_no_file(table: Table, again: Callable[[Table], None]) -> None:
    table.create("id INT, ssn STRING", *MAPPED)
    table.insert(f"(1, '{MARKER}')")
    table.alter("RENAME COLUMN ssn TO tax_number")
    table.alter("DROP COLUMN tax_number")
    proof = certificate(table)
    table.purge()
    align(table)
    table.alter("ADD COLUMN ssn STRING")
    table.insert("(2, 'x')")
    clean_up_log(table)

    again(table)

    assert holders(table.path, MARKER).total() > 0
    for options in ({}, {"certificate": proof}, {"column": None}):
        assert verdict(table, **options) == "STILL_PRESENT"
    erase(table)


def test_a_column_that_was_renamed_is_live(table: Table) -> None:
    table.create("id INT, ssn STRING", NAME_MODE, *SHORT)
    table.insert(f"(1, '{MARKER}')")
    before = certificate(table)
    table.alter("RENAME COLUMN ssn TO tax_number")
    (live,) = found_in(table).found.live_columns  # type: ignore[union-attr]
    assert live.path == "tax_number"
    after = certificate(table)
    for _ in range(2):
        clean_up_log(table)

    assert not (table.path / "_delta_log" / f"{1:020}.json").exists()
    # Nothing shows that it was dropped, and versions after the certificate are missing.
    assert {verdict(table), verdict(table, certificate=after)}.isdisjoint(GONE)

    after = certificate(table, column="tax_number")
    assert before.verdict == after.verdict == "LIVE"
    table.restore(table.log.version)
    assert verdict(table, column="tax_number", certificate=after) == "LIVE"


@PURGES
def test_restore_of_old_files_begins_the_moment_anew(table: Table) -> None:
    dropped(properties=(TRACKED, NAME_MODE))(table)
    table.insert("(2)")
    version = table.log.version
    table.purge()
    proof = certificate(table)
    assert proof.tables[0].found.moment_version == table.log.version  # type: ignore[union-attr]

    table.restore(version)
    assert verdict(table, certificate=proof) == "STILL_PRESENT"
    table.purge()

    for options in ({}, {"certificate": proof}):
        found = found_in(table, **options)
        assert found.found is not None
        assert found.found.moment_version == table.log.version


@PURGES
def test_a_table_that_is_written_all_day_becomes_clean(table: Table) -> None:
    dropped(properties=(*MAPPED, OFTEN))(table)
    table.insert("(3)")
    table.purge()
    table.spark.sql(f"VACUUM {table.name}")
    proof = certificate(table)
    for number in range(3):  # each removes files that were written before the moment
        table.spark.sql(f"UPDATE {table.name} SET id = id + 1 WHERE id > {number}")
        proof = certificate(table, certificate=proof)
        assert steps(proof.tables[0]) == ["LOG CLEANUP"]
    table.spark.sql(f"VACUUM {table.name}")
    proof = certificate(table, certificate=proof)
    table.age_log()
    table.insert("(9)")

    found = found_in(table, certificate=proof)

    assert (found.verdict, remaining(found)) == ("ERASED", {})


def test_orphans_of_aborted_writers_are_found_whatever_their_age(table: Table) -> None:
    top_level(table)
    (live,) = table.log.live_files
    orphan = table.path / "orphan.parquet"
    content = (table.path / live).read_bytes()
    erase(table)
    orphan.write_bytes(content)

    found = found_in(table)

    assert (found.verdict, remaining(found)) == ("STILL_PRESENT", {"older files": 1})
    orphan.unlink()
    hidden = table.path / "_of_nobody" / "x.parquet"
    hidden.parent.mkdir()
    hidden.write_bytes(content)
    assert steps(found_in(table)) == ["BY HAND"]


# What is not known is not erased.


def test_files_that_cannot_be_read_are_unknown(table: Table) -> None:
    top_level(table)
    assert verdict(table, column="other") == "NEVER_HAD"
    erase(table)
    (table.path / "notes.txt").write_text("x")
    found = found_in(table)
    assert (found.verdict, remaining(found)) == ("UNKNOWN", {"unreadable": 1})
    (table.path / "notes.txt").unlink()

    backup = table.path / "_delta_log" / "00000000000000000001.json.bak"
    backup.write_text("x")
    found = found_in(table)
    assert (found.verdict, steps(found)) == ("UNKNOWN", ["BY HAND"])
    assert found.places[-1].statement is not None
    assert backup.name in found.places[-1].statement
    backup.unlink()

    (live,) = table.log.live_files
    content = (table.path / live).read_bytes()
    (table.path / live).unlink()
    assert verdict(table) == "UNKNOWN"
    (table.path / live).write_bytes(b"x" * len(content))
    (table.path / live).with_name(f".{Path(live).name}.crc").unlink(missing_ok=True)
    assert verdict(table) == "UNKNOWN"
    (table.path / live).write_bytes(content)


# Tables of others.


def test_another_table_in_the_folder_is_left_out_and_named(
    table: Table, spark: SparkSession
) -> None:
    top_level(table)
    nested = Table(spark, table.path / "people").create_tracked("a INT, ssn STRING")
    nested.insert("(1, 'y')")
    rows = nested.rows()
    (old,) = table.log.live_files
    table.purge()

    found = found_in(table)

    assert found.found is not None
    assert [Path(path).name for path in found.found.other_tables] == ["people"]
    # VACUUM would delete the files of the other table.
    assert steps(found) == ["BY HAND", "LOG CLEANUP"]
    (table.path / old).unlink()
    assert steps(found_in(table)) == ["LOG CLEANUP"]
    assert nested.rows() == rows


def test_shallow_clone_below_a_folder_with_an_equals_sign_is_erased(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = Table(spark, tmp_path / "env=prod" / "source")
    source.create("id INT, ssn STRING, day INT", *MAPPED, partitioned_by="day")
    source.insert(f"(1, '{MARKER}', 1)")
    clone = source.clone(tmp_path / "clone")
    clone.alter("DROP COLUMN ssn")

    found = found_in(clone)

    assert remaining(found)["source files"] == 1
    assert steps(found)[:2] == ["PURGE", "SOURCE"]
    assert found.found is not None
    assert [Path(path).name for path in found.found.sources] == ["source"]
    assert found.places[0].paths == ("ssn",)
    erase(clone)
    assert verdict(source) == "LIVE"


# Certificates and the command.


def test_sql_returns_the_places(table: Table) -> None:
    top_level(table)

    frame = table.spark.sql(f"SELECT * FROM column_mapping_dropped('{table.name}')")

    rows = [(row.place, row.numFiles, row.step) for row in frame.collect()]
    found = usage(table).dropped_columns(progress=None)
    assert rows == [(each.place, each.num_files, each.step) for each in found.places]
    assert dict(row[::2] for row in rows)["live files"] == "PURGE"
    assert f"REORG TABLE {table.name}".split("`")[0] in repr(found)
    assert MARKER not in repr(found) + found._repr_html_()


def test_command_certifies_and_continues(table: Table, tmp_path: Path, capsys: Any) -> None:
    top_level(table)
    file = tmp_path / "ssn.json"
    call = ["dropped", str(table.path), "--column", "ssn", "--certificate", str(file)]

    assert main([*call, "--json"]) == 1
    first = json.loads(file.read_text())
    assert json.loads(capsys.readouterr().out) == first
    (of_table,) = first["tables"]
    assert (first["verdict"], of_table["found"]["momentVersion"]) == ("STILL_PRESENT", None)
    for time in (first["time"], of_table["found"]["timestamp"]):
        assert time.endswith("+00:00")

    erase(table).write(file)
    moment = json.loads(file.read_text())["tables"][0]["found"]["momentVersion"]
    assert main(call) == 0
    assert "ERASED" in capsys.readouterr().out
    second = json.loads(file.read_text())
    assert second["tables"][0]["found"]["momentVersion"] == moment < table.log.version
    assert main(["dropped", str(table.path), "--column", "other", "--certificate", str(file)]) == 2
    assert "USAGE_TRACKING_NOT_A_CERTIFICATE" in capsys.readouterr().err
    assert main(["dropped", "nothing", "--column", "ssn"]) == 2
    assert "SCHEMA_NOT_FOUND" in capsys.readouterr().err


def test_commands_of_the_page_run(named_table: Table, tmp_path: Path) -> None:
    named_table.create_tracked()
    places = {
        "db.patients": named_table.name,
        "/data/patients": str(named_table.path),
        "sales": named_table.name,
        "ssn.json": str(tmp_path / "ssn.json"),
    }
    codes = [
        main([places.get(word, word) for word in words])
        for words in commands("docs/erasure.md", "The command")
    ]
    assert codes == [0] * len(codes) != []


def test_tables_that_cannot_be_read_have_their_error(
    table: Table, named_table: Table, spark: SparkSession
) -> None:
    named_table.create_tracked()
    top_level(table)
    commit = table.path / "_delta_log" / f"{1:020}.json"
    text = commit.read_text()
    commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
    commit.write_text(text[:-9])

    found = spark_ext.dropped_columns(
        spark, named_table.name, table.path, column="ssn", progress=None
    )

    commit.write_text(text)
    assert found.verdicts == {"UNREADABLE": 1, "NEVER_HAD": 1}
    (broken,) = [each for each in found.tables if each.found is None]
    assert broken.error == "USAGE_TRACKING_UNREADABLE_LOG"
