# SPDX-License-Identifier: Apache-2.0
"""Compares the reported places of dropped columns' data with the bytes on the disk."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from spark_ext import DroppedColumn, DroppedColumns, FileCount, UsageTracking, audit
from spark_ext.__main__ import main
from tests.integration.erasures import MARKER, SHORT, clean_up_log
from tests.integration.foreign_lines import (
    Lines,
    joined,
    rewrite,
    statistics_as_objects,
    with_statistics,
    written,
)
from tests.integration.held_bytes import holders
from tests.support.delta_table import ID_MODE, NAME_MODE, TRACKED, Table, refusal
from tests.support.odd_disk import OddDisk
from tests.support.pages import commands
from tests.support.prepared import made_once
from tests.support.releases import PURGES
from tests.support.removal import local
from tests.support.session_conf import session_conf

pytestmark = pytest.mark.without("parquet")

UNCOMPRESSED = {"spark.sql.parquet.compression.codec": "uncompressed"}
COUNTED = ("live_files", "removed_files", "change_data_files", "untracked_files")
NUMBERED = ("commits", "checkpoints", "other_log_files")


@pytest.fixture(autouse=True)
def _uncompressed(spark: SparkSession) -> Any:
    with session_conf(spark, UNCOMPRESSED):
        yield


def dropped(table: Table) -> DroppedColumns:
    with table.no_commit():
        return UsageTracking.forName(table.spark, table.name).dropped_columns(progress=None)


def reported(column: DroppedColumn) -> Counter[str]:
    """Returns the reported places of a column, counted as `holders` does."""
    counts = {name: getattr(column, name).num_files for name in COUNTED}
    return Counter({name: number for name, number in counts.items() if number}) + Counter(
        {name: getattr(column, name) for name in NUMBERED}
    )


def column(table: Table, path: str | None) -> DroppedColumn:
    (found,) = [each for each in dropped(table).columns if each.path == path]
    return found


def assert_places_agree(table: Table, path: str | None) -> list[str]:
    """Asserts that the reported places are those on the disk. Returns the remaining steps."""
    found = column(table, path)
    on_disk = holders(table.path, MARKER)
    assert reported(found) == on_disk
    assert found.unknown_files == FileCount()
    assert found.gone == (not on_disk)
    return [step.step for step in found.steps]


def erase(table: Table, path: str) -> None:
    """Runs every step, and compares the reported places with the disk before each step."""
    # Columns in arrays and maps have no statistics.
    in_log = ["LOG CLEANUP"] * any(holders(table.path, MARKER)[kind] for kind in NUMBERED)
    assert assert_places_agree(table, path) == ["PURGE", "VACUUM", *in_log]
    table.purge()
    assert assert_places_agree(table, path) == ["VACUUM", *in_log]
    table.spark.sql(f"VACUUM {table.name}")
    assert assert_places_agree(table, path) == in_log
    assert_log_cleanup_erases(table)


def assert_log_cleanup_erases(table: Table) -> None:
    clean_up_log(table)
    assert holders(table.path, MARKER) == Counter()
    assert dropped(table).gone


def with_dropped(
    path: str = "secret",
    column: str = "secret STRING",
    value: str = f"'{MARKER}'",
    properties: tuple[str, ...] = (TRACKED, NAME_MODE),
) -> Callable[[Table], str]:
    """Returns a function that makes a table of one row, drops the column, and returns its path."""

    @made_once
    def changed(table: Table) -> None:
        table.create(f"id INT, {column}", *properties, *SHORT)
        table.insert(f"(1, {value})")
        table.alter(f"DROP COLUMN {path}")

    def make(table: Table) -> str:
        changed(table)
        return path

    return make


top_level = with_dropped()
by_uuid = with_dropped(properties=(NAME_MODE,))


def renamed(table: Table) -> str:
    table.create("id INT, secret STRING", TRACKED, NAME_MODE, *SHORT)
    table.insert(f"(1, '{MARKER}')")
    table.alter("RENAME COLUMN secret TO plain")
    table.alter("RENAME COLUMN plain TO hidden")
    table.insert(f"(2, '{MARKER}')")
    table.alter("DROP COLUMN hidden")
    return "hidden"


def mapped_again(table: Table) -> str:
    """Maps the table twice, drops a column, and adds its name again with a UUID physical name."""
    table.create("id INT, secret STRING", TRACKED, NAME_MODE, *SHORT)
    table.insert(f"(1, '{MARKER}')")
    UsageTracking.forName(table.spark, table.name).remove_column_mapping(progress=None)
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    table.alter("RENAME COLUMN id TO number")
    table.alter("ADD COLUMN more STRING")
    table.insert(f"(2, '{MARKER}', 'x')")
    table.alter("DROP COLUMN secret")
    table.alter("ADD COLUMN secret STRING")
    table.insert("(3, 'x', 'another')")
    return "secret"


STRUCT = f"named_struct('x', 1, 'secret', '{MARKER}')"
MAKERS = {
    "top level": top_level,
    "renamed": renamed,
    "by uuid": by_uuid,
    "by id": with_dropped(properties=(TRACKED, ID_MODE)),
    "in an array": with_dropped(
        "items.element.secret",
        "items ARRAY<STRUCT<x: INT, secret: STRING>>",
        f"array({STRUCT})",
    ),
    "in a map": with_dropped(
        "pairs.value.secret",
        "pairs MAP<STRING, STRUCT<x: INT, secret: STRING>>",
        f"map('k', {STRUCT})",
    ),
    "deep": with_dropped(
        "a.b.c.secret",
        "a STRUCT<b: STRUCT<c: STRUCT<x: INT, secret: STRING>>>",
        f"named_struct('b', named_struct('c', {STRUCT}))",
    ),
    "mapped again": mapped_again,
}


@PURGES
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_erasure_steps_delete_every_byte_and_each_place_is_reported_before_each_step(
    table: Table, make: Callable[[Table], str]
) -> None:
    erase(table, make(table))


# Places of data.


@pytest.mark.matrix
def test_removed_change_data_and_untracked_files_are_distinguished(table: Table) -> None:
    feed = "'delta.enableChangeDataFeed' = 'true'"
    table.create("id INT, secret STRING, n INT", TRACKED, NAME_MODE, feed, *SHORT)
    table.insert(f"(1, '{MARKER}', 1)")
    table.spark.sql(f"UPDATE {table.name} SET n = 2")
    (live,) = table.log.live_files
    folder = table.path / "left" / "behind"
    folder.mkdir(parents=True)
    shutil.copy(table.path / live, folder / "part-0.parquet")
    shutil.copy(table.path / live, table.path / "_of_nobody.parquet")
    table.alter("DROP COLUMN secret")

    steps = assert_places_agree(table, "secret")

    assert holders(table.path, MARKER) == Counter(
        live_files=1,
        removed_files=1,
        change_data_files=1,
        untracked_files=2,
        commits=2,
        other_log_files=holders(table.path, MARKER)["other_log_files"],
    )
    assert steps == ["PURGE", "VACUUM", "LOG CLEANUP", "BY HAND"]
    (table.path / "_of_nobody.parquet").unlink()
    erase(table, "secret")


def test_predicates_and_defaults_are_data_of_the_log(table: Table) -> None:
    defaults = "'delta.feature.allowColumnDefaults' = 'supported'"
    table.create("id INT, secret STRING", TRACKED, NAME_MODE, defaults, *SHORT)
    table.insert("(1, 'x')")
    table.spark.sql(f"DELETE FROM {table.name} WHERE secret = '{MARKER}' OR id = 1")
    table.alter(f"ALTER COLUMN secret SET DEFAULT '{MARKER}2'")
    table.alter("ALTER COLUMN secret DROP DEFAULT")
    table.alter("DROP COLUMN secret")

    found = column(table, "secret")

    on_disk = holders(table.path, MARKER)
    assert on_disk["commits"] == 2
    # The commit of the row has statistics without the bytes of the marker.
    assert found.commits == 3
    assert found.other_log_files >= on_disk["other_log_files"] > 0
    assert not found.gone


@pytest.mark.matrix
@pytest.mark.parametrize(
    "properties",
    [
        ("'delta.checkpointPolicy' = 'v2'",),
        (
            "'delta.checkpoint.writeStatsAsJson' = 'false'",
            "'delta.checkpoint.writeStatsAsStruct' = 'true'",
        ),
    ],
)
def test_checkpoints_of_each_kind_are_read(table: Table, properties: tuple[str, ...]) -> None:
    often = "'delta.checkpointInterval' = '1'"
    table.create("id INT, secret STRING", TRACKED, NAME_MODE, often, *properties, *SHORT)
    for _ in range(3):
        table.insert(f"(1, '{MARKER}')")
    table.alter("DROP COLUMN secret")

    found = column(table, "secret")

    on_disk = holders(table.path, MARKER)
    assert on_disk["checkpoints"] >= 3
    assert found.checkpoints == on_disk["checkpoints"]
    table.purge()
    table.spark.sql(f"VACUUM {table.name}")
    assert assert_places_agree(table, "secret") == ["LOG CLEANUP"]
    assert_log_cleanup_erases(table)


def test_erasure_works_when_column_was_dropped_without_column_mapping(table: Table) -> None:
    table.create("id INT, secret STRING", *SHORT)
    table.insert(f"(1, '{MARKER}')")
    table.overwrite("SELECT CAST(id AS INT) FROM range(2)")

    assert assert_places_agree(table, "secret") == ["VACUUM", "LOG CLEANUP"]
    assert column(table, "secret").operation == "WRITE"
    table.spark.sql(f"VACUUM {table.name}")
    assert assert_places_agree(table, "secret") == ["LOG CLEANUP"]
    assert_log_cleanup_erases(table)


@pytest.mark.matrix
@pytest.mark.parametrize("mapping", [(), (NAME_MODE,)])
def test_partition_column_is_found_in_paths_and_in_the_log(
    table: Table, mapping: tuple[str, ...]
) -> None:
    table.create("id INT, secret STRING", *mapping, *SHORT, partitioned_by="secret")
    table.insert(f"(1, '{MARKER}'), (2, '{MARKER} a:b%c')")
    table.overwrite("SELECT CAST(id AS INT) FROM range(2)")

    found = column(table, "secret")

    on_disk = holders(table.path, MARKER)
    assert on_disk["commits"] == 2
    assert reported(found) == on_disk
    table.spark.sql(f"VACUUM {table.name}")
    assert reported(column(table, "secret")) == holders(table.path, MARKER)
    assert_log_cleanup_erases(table)


def test_empty_partition_folder_is_counted(table: Table) -> None:
    table.create("id INT, secret STRING", *SHORT, partitioned_by="secret")
    table.insert(f"(1, '{MARKER}')")
    file = local(table.path, next(iter(table.log.live_files)))
    table.overwrite("SELECT CAST(id AS INT) FROM range(2)")

    for each in file.parent.iterdir():
        each.unlink()

    assert column(table, "secret").untracked_files.num_files == 1


@PURGES
def test_source_files_of_shallow_clone_are_named_and_not_counted(
    table: Table, tmp_path: Path
) -> None:
    top_level(table)
    clone = table.clone(tmp_path / "clone")

    (found,) = dropped(clone).columns
    assert (found.path, found.physical_path) == (None, "secret")
    assert (found.live_files, found.gone) == (FileCount(), False)
    (source,) = found.source_files
    assert source.removeprefix("file:") == str(table.path) or str(table.path) in source
    assert [step.step for step in found.steps] == ["PURGE", "LOG CLEANUP", "SOURCE"]

    clone.purge()
    (found,) = dropped(clone).columns
    assert found.source_files == (source,)
    assert [step.step for step in found.steps] == ["LOG CLEANUP", "SOURCE"]


@pytest.mark.every_variant
@pytest.mark.parametrize("partitioned_by", ["", "day"])
def test_source_of_shallow_clone_is_named_once(
    table: Table, tmp_path: Path, partitioned_by: str
) -> None:
    """Files are in folders with random names. Each folder was once reported as a table."""
    table.create(
        "id INT, secret STRING, day INT",
        *(TRACKED, NAME_MODE, *SHORT, "'delta.randomizeFilePrefixes' = 'true'"),
        partitioned_by=partitioned_by,
    )
    table.spark.sql(
        f"INSERT INTO {table.name} SELECT /*+ REPARTITION(4) */ *"
        f" FROM VALUES {', '.join(f'({day}, {MARKER!r}, {day})' for day in range(4))}"
    )
    table.alter("DROP COLUMN secret")
    assert len({Path(path).parent for path in table.log.live_files}) > 1
    clone = table.clone(tmp_path / "clone")

    (found,) = dropped(clone).columns
    assert found.source_files == (f"file:{table.path}",)

    shutil.rmtree(table.path / "_delta_log")
    (found,) = dropped(clone).columns
    assert len(found.source_files) > 1


def test_column_is_found_by_files_when_no_schema_contains_it(table: Table, tmp_path: Path) -> None:
    top_level(table)
    copy = tmp_path / "copy"
    shutil.copytree(table.path, copy)
    log = copy / "_delta_log"
    # The log of the copy starts at a checkpoint after the drop.
    of_copy = Table(table.spark, copy)
    of_copy.cut_log(of_copy.log.version)

    (found,) = dropped(of_copy).columns

    assert (found.path, found.physical_path, found.type) == (None, "secret", None)
    assert (found.version, found.live_files.num_files) == (None, 1)
    assert found.versions == 0
    assert log.is_dir()


@pytest.mark.parametrize("name", ["day", "Day"])
def test_purge_removes_a_column_from_partitioned_live_files(table: Table, name: str) -> None:
    table.create(f"id INT, secret STRING, {name} INT", NAME_MODE, *SHORT, partitioned_by=name)
    table.insert(f"(1, '{MARKER}', 1), (2, '{MARKER}', 2)")
    table.alter("DROP COLUMN secret")
    (found,) = dropped(table).columns
    assert [step.step for step in found.steps][:2] == ["PURGE", "VACUUM"]

    table.purge()

    (found,) = dropped(table).columns
    assert found.live_files.num_files == 0
    assert "PURGE" not in [step.step for step in found.steps]


@pytest.mark.broken_table("file_unreadable")
def test_files_with_unreadable_footers_are_unknown(table: Table) -> None:
    table.create_tracked("id INT, kept STRING")
    table.insert("(1, 'x')")
    assert dropped(table).columns == ()

    (live,) = table.log.live_files
    file = table.path / live
    file.with_name(f".{file.name}.crc").unlink()
    file.write_bytes(b"x" * file.stat().st_size)
    (table.path / "notes.txt").write_text(MARKER)

    result = dropped(table)
    (found,) = result.columns
    assert (found.path, found.physical_path) == (None, None)
    assert found.unknown_files.num_files == 2
    assert (found.gone, result.gone) == (False, False)
    assert [step.step for step in found.steps] == ["REWRITE", "VACUUM"]
    assert repr(result).startswith(f"{result.table}: no dropped column, (unreadable files)\n")


@made_once
def with_deleted_row(table: Table) -> None:
    table.create("id INT", TRACKED, NAME_MODE, "'delta.enableDeletionVectors' = 'true'")
    table.spark.sql(
        f"INSERT INTO {table.name} SELECT /*+ COALESCE(1) */ CAST(id AS INT) FROM range(4)"
    )
    table.spark.sql(f"DELETE FROM {table.name} WHERE id = 1")


def with_vector(table: Table) -> Path:
    """Creates a table with a deleted row and no dropped column. Returns the vector's file."""
    with_deleted_row(table)
    (file,) = table.path.rglob("deletion_vector_*.bin")
    return file


@pytest.mark.without("auto-compact")
@pytest.mark.broken_table("file_unreadable")
def test_unreadable_deletion_vector_is_unknown(table: Table) -> None:
    file = with_vector(table)
    assert dropped(table).columns == ()

    file.with_name(f".{file.name}.crc").unlink()
    file.write_bytes(file.read_bytes()[:-1])

    (found,) = dropped(table).columns
    assert (found.unknown_files.num_files, found.gone) == (1, False)
    assert [step.step for step in found.steps] == ["REWRITE", "VACUUM"]


@pytest.mark.without("auto-compact")
@PURGES
def test_unreadable_deletion_vector_needs_vacuum_only_when_no_longer_live(table: Table) -> None:
    file = with_vector(table)
    table.purge()
    assert dropped(table).columns == ()

    file.with_name(f".{file.name}.crc").unlink()
    file.write_bytes(file.read_bytes()[:-1])

    (found,) = dropped(table).columns
    assert (found.unknown_files.num_files, found.gone) == (1, False)
    assert [step.step for step in found.steps] == ["VACUUM"]


@pytest.mark.parametrize("text", [MARKER, "x"])
def test_untracked_file_with_name_of_deletion_vector_is_unknown(table: Table, text: str) -> None:
    table.create_tracked("id INT")
    (table.path / f"deletion_vector_{uuid4()}.bin").write_text(text)

    (found,) = dropped(table).columns

    assert (found.unknown_files.num_files, found.gone) == (1, False)


def test_vacuum_ignores_a_hidden_folder_of_a_former_partition_column(table: Table) -> None:
    table.create("id INT, _p STRING", *SHORT, partitioned_by="_p")
    table.insert(f"(1, '{MARKER}')")
    (folder,) = table.path.glob("_p=*")
    table.overwrite("SELECT 2 AS id")
    table.vacuum_at_once()

    steps = [step.step for step in column(table, "_p").steps]

    assert list(folder.glob("*.parquet"))
    assert "VACUUM" not in steps
    assert steps[-1] == "BY HAND"


def test_folder_that_vacuum_deletes_meanwhile_is_omitted(
    spark: SparkSession, tmp_path: Path, disk: OddDisk
) -> None:
    table = Table(spark, tmp_path / "t", f"delta.`odd:{tmp_path / 't'}`")
    top_level(table)
    folder = table.path / "secret=1"
    folder.mkdir()
    (folder / "part-0.parquet").write_text(MARKER)
    disk.delete_after_listing(folder)

    assert column(table, "secret").unknown_files == FileCount()
    assert not folder.exists()


def test_checkpoint_that_log_cleanup_deletes_meanwhile_is_omitted(table: Table) -> None:
    table.create("id INT", TRACKED, NAME_MODE, "'delta.checkpointInterval' = '1'")
    table.insert("(1)")
    table.insert("(2)")
    log = table.path / "_delta_log"

    for read in (in_folder, lambda reading: reading.liveFiles(None)):
        listed = listed_log(table)
        for file in log.glob(f"*{1:020}.checkpoint*"):
            file.unlink()
        assert read(listed).lastVersion() == 2
        shutil.copy(*(log / f"{version:020}.checkpoint.parquet" for version in (2, 1)))


def listed_log(table: Table) -> Any:
    """Returns the reading of a log, which the JVM has listed."""
    session: Any = table.spark._jsparkSession
    jvm: Any = table.spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(str(table.path))
    hadoop = session.sessionState().newHadoopConf()
    return jvm.sparkext.log.TableReading(session, hadoop, place, jvm.java.util.List.of())


def in_folder(reading: Any) -> Any:
    """Returns the log with all files of the folder, if VACUUM ignores none of them."""
    jvm: Any = SparkSession.active()._jvm
    return reading.folder(jvm.java.util.function.Predicate.isEqual("hidden")).log()


def test_other_files_in_the_log_are_unknown(table: Table) -> None:
    top_level(table)
    (table.path / "_delta_log" / "00000000000000000001.json.bak").write_text(MARKER)

    found = column(table, "secret")

    assert (found.unknown_log_files, found.gone) == (1, False)
    assert found.steps[-1].step == "BY HAND"


@pytest.mark.parametrize(
    "info",
    [
        {"note": f"secret was {MARKER}"},
        {"operationParameters": {"matched": [{"predicate": f"secret = '{MARKER}'"}]}},
    ],
)
def test_texts_of_other_writers_in_commits_are_searched(table: Table, info: dict[str, Any]) -> None:
    table.create("id INT, secret STRING", TRACKED, NAME_MODE)
    commit = table.path / "_delta_log" / f"{1:020}.json"
    commit.write_text(json.dumps({"commitInfo": {"operation": "WRITE", **info}}) + "\n")
    table.alter("DROP COLUMN secret")

    assert assert_places_agree(table, "secret") == ["LOG CLEANUP"]


def test_predicate_is_unknown_when_commit_is_older_than_every_schema(table: Table) -> None:
    table.create("id INT, secret STRING", TRACKED, NAME_MODE)
    table.insert("(1, NULL)")
    table.spark.sql(f"DELETE FROM {table.name} WHERE secret = '{MARKER}' OR id = 1")
    table.alter("DROP COLUMN secret")
    table.cut_log(1)

    row = column(table, None)

    assert holders(table.path, MARKER) == Counter(commits=1)
    assert (row.unknown_log_files, row.gone) == (1, False)
    assert "LOG CLEANUP" in [step.step for step in row.steps]


def test_columns_of_a_clone_hide_no_dropped_column(table: Table, tmp_path: Path) -> None:
    """Columns of the other table have the ids and names of the dropped columns."""
    top_level(table)
    source = Table(table.spark, tmp_path / "source").create_tracked("id INT, secret STRING")
    table.spark.sql(f"DELETE FROM {table.name}")

    table.spark.sql(f"CREATE OR REPLACE TABLE {table.name} SHALLOW CLONE {source.name}")

    assert table.log.columns["secret"] == source.log.columns["secret"]
    assert assert_places_agree(table, "secret") == ["VACUUM", "LOG CLEANUP"]


def align(table: Table) -> None:
    UsageTracking.forName(table.spark, table.name).align_names(progress=None)


def map_anew(table: Table) -> None:
    UsageTracking.forName(table.spark, table.name).remove_column_mapping(progress=None)
    table.alter("DROP FEATURE columnMappingUsageTracking")
    table.alter(f"SET TBLPROPERTIES ({TRACKED}, {NAME_MODE})")


@pytest.mark.parametrize(("again", "id"), [(align, 3), (map_anew, 2)])
def test_column_added_again_hides_no_dropped_column(
    table: Table, again: Callable[[Table], None], id: int
) -> None:
    """The new column has the physical name of the dropped column and, if mapped again, its id."""
    top_level(table)
    assert table.log.at(0).columns["secret"] == (2, "secret")
    again(table)
    table.alter("ADD COLUMN secret STRING")
    table.insert("(2, 'x')")

    assert table.log.columns["secret"] == (id, "secret")
    assert assert_places_agree(table, "secret") == ["VACUUM", "LOG CLEANUP"]


@pytest.mark.broken_table("checkpoint_differs")
def test_log_file_is_unknown_when_its_checksum_differs(table: Table) -> None:
    top_level(table)
    log = table.path / "_delta_log"
    compaction = log / f"{0:020}.{1:020}.compacted.json"
    compaction.write_text((log / f"{1:020}.json").read_text())
    shutil.copy(log / f".{0:020}.json.crc", log / f".{compaction.name}.crc")

    row = column(table, "secret")

    assert (row.unknown_log_files, row.other_log_files, row.gone) == (1, 0, False)
    assert row.steps[-1].step == "BY HAND"
    commit = log / f"{0:020}.json"
    text = commit.read_text()
    commit.write_text(text.replace("secret", "terces"))
    with refusal("USAGE_TRACKING_UNREADABLE_LOG") as refused:
        dropped(table)
    assert commit.name in str(refused.value)
    commit.write_text(text)


def test_column_is_erased_when_the_log_contains_its_name_only(table: Table) -> None:
    table.create("id INT, secret STRING", TRACKED, NAME_MODE, *SHORT)
    table.alter("DROP COLUMN secret")
    table.insert("(1)")

    (found,) = dropped(table).columns

    assert (found.path, found.gone, found.steps) == ("secret", True, ())
    assert (found.versions, found.first_version, found.last_version) == (1, 0, 0)


def test_column_is_not_dropped_when_restore_restored_it(table: Table) -> None:
    table.create("id INT, secret STRING", TRACKED, NAME_MODE)
    table.insert(f"(1, '{MARKER}')")
    table.alter("DROP COLUMN secret")
    assert [each.path for each in dropped(table).columns] == ["secret"]

    table.restore(1)

    assert dropped(table).columns == ()
    table.alter("DROP COLUMN secret")
    assert assert_places_agree(table, "secret") == ["PURGE", "VACUUM", "LOG CLEANUP"]


def test_statistics_that_are_objects_are_found(table: Table) -> None:
    path = top_level(table)
    rewrite(table, 1, statistics_as_objects)

    erase(table, path)


@pytest.mark.every_variant
@pytest.mark.parametrize("statistics", [5, [MARKER], f'["{MARKER}"]'])
def test_statistics_of_other_types_are_unknown(table: Table, statistics: Any) -> None:
    top_level(table)

    with written(table, 1, lambda lines: with_statistics(lines, lambda text: statistics)):
        found = column(table, "secret")

    assert found.unknown_log_files == 1
    assert not found.gone


# Calls of users.


def test_sql_and_python_return_the_same(table: Table) -> None:
    renamed(table)

    frame = table.spark.sql(f"SELECT * FROM column_mapping_dropped('{table.name}')")
    result = dropped(table)

    (row,) = frame.collect()
    (found,) = result.columns
    assert frame.columns[:6] == ["path", "formerPaths", "physicalPath", "id", "type", "version"]
    assert (row.path, row.formerPaths, row.gone) == ("hidden", ["secret", "plain"], False)
    assert row.liveFiles.asDict() == {
        "numFiles": found.live_files.num_files,
        "sizeInBytes": found.live_files.size_in_bytes,
    }
    assert sum(holders(table.path, MARKER).values()) > 0
    assert MARKER not in str(row) + repr(result) + result._repr_html_()


def test_text_and_html_contain_columns_and_steps(table: Table) -> None:
    path = by_uuid(table)

    result = dropped(table)

    assert repr(result).splitlines()[0].endswith(": 1 dropped, 1 not gone")
    assert f"REORG TABLE delta.`file:{table.path}` APPLY (PURGE)" in repr(result)
    assert f">{path}</td>" in result._repr_html_()
    assert result._repr_html_().count("<table>") == 2


def test_command_has_the_documented_exit_code(
    table: Table, named_table: Table, capsys: Any
) -> None:
    named_table.create_tracked()
    top_level(table)

    assert main(["dropped", "named"]) == 0
    assert "NEVER_HAD" in capsys.readouterr().out
    assert main(["dropped", "named", str(table.path), "--json"]) == 1
    sums, _, of_table = map(json.loads, capsys.readouterr().out.splitlines())
    assert sums["verdicts"] == {"STILL_PRESENT": 1, "NEVER_HAD": 1}
    (as_json,) = of_table["erasure"]["columns"]
    assert (as_json["path"], as_json["gone"]) == ("secret", False)
    assert as_json["liveFiles"]["numFiles"] == 1
    assert [step["step"] for step in as_json["steps"]] == ["PURGE", "VACUUM", "LOG CLEANUP"]
    assert main(["dropped", "nothing", str(table.path)]) == 2
    assert "SCHEMA_NOT_FOUND" in capsys.readouterr().err


def test_commands_of_the_page_run(named_table: Table, tmp_path: Path, capsys: Any) -> None:
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
    assert json.loads((tmp_path / "ssn.json").read_text())["verdict"] == "NEVER_HAD"


# The audit reads the same files in the same way.


def test_audit_and_erasure_read_the_same_statistics_when_a_checkpoint_has_structs_only(
    table: Table,
) -> None:
    structs = (
        "'delta.checkpoint.writeStatsAsJson' = 'false'",
        "'delta.checkpoint.writeStatsAsStruct' = 'true'",
        "'delta.checkpointInterval' = '2'",
    )
    table.create("id INT, secret STRING", TRACKED, NAME_MODE, *structs, *SHORT)
    table.insert(f"(1, '{MARKER}')")
    table.insert(f"(2, '{MARKER}')")
    table.alter("DROP COLUMN secret")
    reading = listed_log(table)

    audited = reading.liveFiles(None).files()
    erased = [file for file in in_folder(reading).files() if file.kind() == "live"]

    for files in (audited, erased):
        assert sum(file.numFiles() for file in files) == 2
        found = [[list(path) for path in file.statistics()] for file in files]
        assert all(paths == [["id"], ["secret"]] for paths in found)
    assert column(table, "secret").live_statistics == 2


@pytest.mark.parametrize("also_last", [False, True])
def test_audit_and_erasure_refuse_a_commit_with_a_broken_line(
    table: Table, also_last: bool
) -> None:
    top_level(table)
    commit = table.path / "_delta_log" / f"{1:020}.json"
    commit.with_name(f".{commit.name}.crc").unlink()
    first, *rest = whole = commit.read_text().splitlines()
    commit.write_text("\n".join([first, "no JSON", *rest, *["no JSON"] * also_last]))

    refused = []
    for function in ("column_mapping_audit", "column_mapping_dropped"):
        with refusal("USAGE_TRACKING_UNREADABLE_LOG") as error:
            table.spark.sql(f'SELECT * FROM {function}("{table.name}")').collect()
        refused.append(error.value.getMessageParameters())

    commit.write_text("\n".join(whole))
    assert refused[0] == refused[1]
    assert refused[0]["path"].endswith(commit.name)


def test_erasure_refuses_a_commit_whose_last_line_is_incomplete(table: Table) -> None:
    """The audit reads the other lines. A certificate must know them all."""
    top_level(table)

    def cut(lines: Lines) -> str:
        return joined(*lines)[:-9]

    with written(table, 1, cut):
        audited = audit(table.spark, table.name).findings
        with refusal("USAGE_TRACKING_UNREADABLE_LOG") as refused:
            table.spark.sql(f'SELECT * FROM column_mapping_dropped("{table.name}")').collect()

    assert [finding.check for finding in audited] == ["commit_truncated"]
    assert refused.value.getMessageParameters()["path"].endswith(f"{1:020}.json")
