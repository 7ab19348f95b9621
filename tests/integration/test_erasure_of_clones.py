# SPDX-License-Identifier: Apache-2.0
"""Erases a column in tables whose files shallow clones read, and reads the rows of the clones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_ext import TableErasure
from spark_ext.__main__ import main
from tests.integration.erasures import MARKER, SHORT, report, steps_of, top_level
from tests.integration.held_bytes import holders
from tests.support.delta_table import NAME_MODE, TRACKED, Table, forget_logs
from tests.support.releases import PURGES

pytestmark = [pytest.mark.without("parquet"), PURGES]

MAPPED = (TRACKED, NAME_MODE)


def source_and_clone(
    spark: SparkSession,
    source: Path,
    clone: Path,
    *properties: str,
    partitioned_by: str = "",
) -> tuple[Table, Table]:
    """Makes a table whose column is dropped, and a shallow clone of the version before."""
    made = Table(spark, source)
    made.create("id INT, ssn STRING, day INT", *properties, *SHORT, partitioned_by=partitioned_by)
    made.insert(f"(1, '{MARKER}', 1)")
    made.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    cloned = made.clone(clone)
    made.alter("DROP COLUMN ssn")
    return made, cloned


def files_of(table: Table) -> list[Path]:
    """Returns the paths of live files, of which a clone has URIs."""
    paths = [unquote(urlparse(path).path) for path in table.log.live_files]
    return [table.path / path for path in paths]


def assert_whole(clone: Table) -> None:
    """Asserts that the clone has its row, as Spark and pyarrow read it."""
    assert clone.selected("id, ssn") == [(1, MARKER)]
    (file,) = files_of(clone)
    (row,) = pq.read_table(file, partitioning=None).to_pylist()
    assert (row["id"], row["ssn"]) == (1, MARKER)


def applied(table: TableErasure) -> list[str]:
    assert all(step.error is None for step in table.applied)
    return [step.step for step in table.applied]


def vacuum_of(table: TableErasure) -> str:
    (statement,) = (step.statement for step in table.steps if step.step == "VACUUM")
    return statement


def test_vacuum_does_not_run_while_a_clone_of_the_call_reads_files_of_the_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, clone = source_and_clone(spark, tmp_path / "s", tmp_path / "c", *MAPPED)

    for steps in (["PURGE"], []):
        first, second = report(source, clone, apply=True).tables

        assert_whole(clone)
        assert applied(first) == steps
        assert steps_of(first)[0] == "VACUUM"
        assert first.read_by == (second.table,)
        assert str(clone.path) in vacuum_of(first)
        assert vacuum_of(first).endswith(f"VACUUM {first.table}")
        assert (first.verdict, second.verdict) == ("STILL_PRESENT", "LIVE")
    assert holders(source.path, MARKER)["removed_files"] == 1

    clone.alter("DROP COLUMN ssn")
    first, second = report(source, clone, apply=True).tables

    assert (applied(first), applied(second)) == (["VACUUM"], ["PURGE"])
    assert first.read_by == ()
    assert set(holders(source.path, MARKER)) <= {"commits", "checkpoints", "other_log_files"}
    assert clone.selected("id, day") == [(1, 1)]
    assert all(clone.path in file.parents for file in files_of(clone))


@pytest.mark.every_variant
@pytest.mark.parametrize("in_order", [lambda *tables: tables, lambda *tables: tables[::-1]])
def test_one_call_erases_the_column_in_a_clone_and_then_in_its_source(
    spark: SparkSession, tmp_path: Path, in_order: Callable[..., tuple[Any, ...]]
) -> None:
    source, clone = source_and_clone(spark, tmp_path / "s", tmp_path / "c", *MAPPED)
    clone.alter("DROP COLUMN ssn")

    found = report(*in_order(source, clone), apply=True, parallel=1)

    first, second = in_order(*found.tables)
    assert (applied(first), applied(second)) == (["PURGE", "VACUUM"], ["PURGE"])
    assert clone.rows() == [(1, 1)]
    for each in (source, clone):
        assert set(holders(each.path, MARKER)) <= {"commits", "checkpoints", "other_log_files"}


def test_vacuum_waits_for_a_clone_that_reads_other_files_of_the_table_without_the_column(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, clone = source_and_clone(spark, tmp_path / "s", tmp_path / "c", *MAPPED)
    source.insert("(2, 2)")
    other = source.clone(tmp_path / "other")
    other.purge()
    clone.alter("DROP COLUMN ssn")

    first, *others = report(source, clone, other, apply=True).tables

    assert (applied(first), first.read_by) == (["PURGE"], (others[1].table,))
    assert other.rows() == [(1, 1), (2, 2)]

    spark.sql(f"INSERT OVERWRITE {other.name} SELECT * FROM {other.name}")
    first, *_ = report(source, clone, other, apply=True).tables

    assert applied(first) == ["VACUUM"]
    assert other.rows() == [(1, 1), (2, 2)]


def test_clone_does_not_hold_back_a_neighbour_whose_path_begins_alike(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, clone = source_and_clone(spark, tmp_path / "t2", tmp_path / "c", *MAPPED)
    neighbour = Table(spark, tmp_path / "t")
    top_level(neighbour)

    found = report(neighbour, source, clone, apply=True)

    assert [applied(each) for each in found.tables] == [["PURGE", "VACUUM"], ["PURGE"], []]
    assert [len(each.read_by) for each in found.tables] == [0, 1, 0]
    assert_whole(clone)


def absolute(clone: Table, before: str, after: str) -> None:
    """Writes the URIs in the first commit of a clone in another form."""
    log = clone.path / "_delta_log"
    for file in [*log.glob(f".{0:020}.*"), log / f"{0:020}.crc"]:
        file.unlink(missing_ok=True)
    commit = log / f"{0:020}.json"
    text = commit.read_text()
    assert f'"path":"{before}' in text
    commit.write_text(text.replace(f'"path":"{before}', f'"path":"{after}'))
    forget_logs(clone.spark)


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("folder", "partitioned_by", "form"),
    [
        ("a b%20é+#", "", "file:///"),
        ("a b%20é+#", "day", "file:/"),
        ("country=de/t", "day", "/"),
        ("country=de", "", "file:///"),
        ("country=de", "day", "file:/"),
    ],
)
def test_clone_is_found_by_each_form_of_the_path_of_its_source(
    spark: SparkSession, tmp_path: Path, folder: str, partitioned_by: str, form: str
) -> None:
    source, clone = source_and_clone(
        spark, tmp_path / folder, tmp_path / "c", partitioned_by=partitioned_by
    )
    # A table without column mapping has no folders with random names.
    (file,) = files_of(clone)
    assert file.parent == source.path / ("day=1" if partitioned_by else "")
    absolute(clone, "file:/", form)

    first, second = report(source, clone, apply=True).tables

    assert second.erasure is not None
    assert second.erasure.sources == (f"file:{source.path}",)
    assert (applied(first), first.read_by) == (["PURGE"], (second.table,))
    assert_whole(clone)


@pytest.mark.broken_table("file_missing")
def test_clone_that_is_not_in_the_call_holds_nothing_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, clone = source_and_clone(spark, tmp_path / "s", tmp_path / "c", *MAPPED)

    (found,) = report(source, apply=True).tables

    assert (applied(found), found.read_by) == (["PURGE", "VACUUM"], ())
    (file,) = files_of(clone)
    assert not file.exists()


def test_command_lists_the_vacuum_of_a_table_that_a_clone_reads(
    spark: SparkSession, tmp_path: Path, capsys: Any
) -> None:
    source, clone = source_and_clone(spark, tmp_path / "s", tmp_path / "c", *MAPPED)
    call = ["dropped", str(source.path), str(clone.path), "--column", "ssn", "--apply"]
    file = tmp_path / "ssn.json"

    assert main([*call, "--certificate", str(file)]) == 1

    assert_whole(clone)
    certified, _ = json.loads(file.read_text())["tables"]
    assert [str(clone.path) in name for name in certified["readBy"]] == [True]
    steps = {step["step"]: step for step in certified["erasure"]["columns"][0]["steps"]}
    assert str(clone.path) in steps["VACUUM"]["statement"]
    assert steps["VACUUM"]["statement"] in capsys.readouterr().out

    clone.alter("DROP COLUMN ssn")
    # Log files still have the statistics.
    assert main([*call, "--json"]) == 1

    _, first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["readBy"], [step["step"] for step in first["applied"]]) == ([], ["VACUUM"])
    assert [step["step"] for step in second["applied"]] == ["PURGE"]
    assert clone.rows() == [(1, 1)]
