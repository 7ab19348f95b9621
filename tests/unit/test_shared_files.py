# SPDX-License-Identifier: Apache-2.0
"""Tests which tables of a call read files in the folders of others, and when `VACUUM` is due."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from spark_ext import Certificate, ErasureReport, TableErasure
from spark_ext.lakehouse.erasure_results import due_steps
from spark_ext.lakehouse.next_call import Call
from spark_ext.lakehouse.shared_files import with_readers
from spark_ext.model.dropped import ErasureStep
from tests.unit.test_erasure_report import dropped, erasure

PURGE = ErasureStep("PURGE", "REORG TABLE t APPLY (PURGE)", None)
VACUUM = ErasureStep("VACUUM", "VACUUM t", None)


def table(location: str, *sources: str) -> TableErasure:
    found = erasure(
        location=location,
        sources=sources,
        verdict="STILL_PRESENT",
        columns=(dropped("b", PURGE, VACUUM), dropped("c", VACUUM)),
    )
    return TableErasure(table=f"delta.`{location}`", erasure=found)


def read_by(*tables: TableErasure) -> list[tuple[str, ...]]:
    """Returns the names of the tables that read files of each table."""
    found = with_readers({f"place {number}": each for number, each in enumerate(tables)})
    return [each.read_by for each in found.values()]


def due(found: TableErasure) -> list[str]:
    return [step.step for step in due_steps(found)]


@pytest.mark.parametrize(
    ("location", "source", "is_read"),
    [
        ("file:/t", "file:/t", True),
        # Without a visible log, the source is the folder of the files.
        ("file:/t", "file:/t/Xy/z", True),
        ("file:/t", "file:/t2", False),
        ("file:/t2", "file:/t", False),
        ("file:/a/t", "file:/a", False),
        ("file:/a b/day=1", "file:/a b/day=1", True),
        ("file:/a b/day=1", "file:/a b/day=2", False),
        # A literal percent sign.
        ("file:/a%20b", "file:/a b", False),
        ("s3a://bucket/t", "s3a://bucket/t", True),
        ("s3a://bucket/t", "s3://bucket/t", True),
        ("s3a://bucket/t", "s3a://other/t", False),
        ("s3a://bucket/t", "file:/bucket/t", False),
        ("s3a://bucket/", "s3a://bucket/t", True),
    ],
)
def test_table_is_read_by_another_table_with_live_files_in_its_folder(
    location: str, source: str, is_read: bool
) -> None:
    clone = table("file:/clone", source)
    expected = (clone.table,) if is_read else ()

    assert read_by(table(location), clone) == [expected, ()]
    assert read_by(clone, table(location)) == [(), expected]


def test_vacuum_is_due_only_in_tables_that_no_other_table_reads() -> None:
    source, clone, unread = table("file:/s"), table("file:/c", "file:/s"), table("file:/u")

    found = with_readers({"s": source, "c": clone, "u": unread, "error": TableErasure(table="e")})

    assert [due(each) for each in found.values()] == [
        ["PURGE"],
        *[["PURGE", "VACUUM", "VACUUM"]] * 2,
        [],
    ]
    assert (found["c"], found["u"]) == (clone, unread)
    assert [step.step for step in found["s"].steps] == ["PURGE", "VACUUM"]


def test_table_with_an_error_after_it_was_read_is_a_reader() -> None:
    failed = replace(table("file:/c", "file:/s"), message="text")

    assert read_by(table("file:/s"), failed) == [(failed.table,), ()]


def test_table_does_not_read_itself_when_its_log_has_another_scheme() -> None:
    assert read_by(table("s3a://bucket/t", "s3://bucket/t")) == [()]


def test_clone_of_a_clone_may_read_both() -> None:
    tables = table("file:/a"), table("file:/b", "file:/a"), table("file:/c", "file:/a", "file:/b")
    second, third = (each.table for each in tables[1:])

    assert read_by(*tables) == [(second, third), (third,), ()]


def test_every_form_of_the_result_names_the_readers() -> None:
    clones = {f"c{number}": table(f"file:/c{number}", "file:/s") for number in range(5)}
    found = with_readers({"s": table("file:/s"), **clones})
    report = ErasureReport(column="b", tables=tuple(found.values()), version="1")
    certificate = Certificate.of(report)

    source = found["s"]
    assert source.read_by == tuple(each.table for each in clones.values())
    purge, vacuum = source.steps
    assert purge == PURGE
    assert vacuum.statement.endswith("Then: VACUUM t")
    assert "delta.`file:/c2` and 2 more" in vacuum.statement
    for text in (repr(report), report._repr_html_(), repr(certificate), certificate.html()):
        assert vacuum.statement in text
    _, written, *_ = report.as_objects()
    for each in (written, json.loads(certificate.json())["tables"][0]):
        assert each["readBy"] == list(source.read_by)
        assert each["erasure"]["columns"][0]["steps"][1]["statement"] == vacuum.statement


def test_next_call_waits_for_the_user_when_only_a_vacuum_with_readers_is_due() -> None:
    source = table("file:/s")
    assert source.erasure is not None
    columns = (dropped("b", VACUUM),)
    source = replace(source, erasure=replace(source.erasure, columns=columns))
    clone = replace(table("file:/c", "file:/s"), erasure=erasure(sources=("file:/s",)))
    call = Call(function="dropped_columns", command="dropped", options={"apply": True})

    def words(**tables: TableErasure) -> str:
        made = with_readers(tables)
        report = ErasureReport(column="b", tables=tuple(made.values()), version="1", call=call)
        assert not report.complete
        assert report.next_call is not None
        return report.next_call.words

    assert words(s=source, c=clone) == "do what the tables need, and then the same call again"
