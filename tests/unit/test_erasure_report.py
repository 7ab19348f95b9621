# SPDX-License-Identifier: Apache-2.0
"""Tests the report of an erasure and its certificates, as text, HTML and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row

from spark_ext import AppliedStep, Certificate, DroppedColumn, ErasureReport, TableErasure
from spark_ext.api.named_table import NamedTable
from spark_ext.erasure.column_erasure import column_erasure
from spark_ext.errors import NotACertificateError
from spark_ext.lakehouse import erasure_run
from spark_ext.lakehouse.certificate import earlier_certificate
from spark_ext.lakehouse.earlier import EarlierColumn, EarlierFinding
from spark_ext.lakehouse.erasure_report import reason
from spark_ext.lakehouse.erasure_results import due_steps
from spark_ext.lakehouse.erasure_run import _with_earlier
from spark_ext.log.actions import LIVE
from spark_ext.model.dropped import ErasureStep
from spark_ext.model.erasure import ColumnErasure, LiveColumn, NameInLog
from tests.unit.folders import data, folder

TIME = datetime(2026, 11, 27, 7, 0)
ODD = "<b>\n"


def erasure(**facts: Any) -> ColumnErasure:
    """Returns the erasure of a table in which a live file contains the dropped column `b`."""
    found = column_erasure(replace(folder(files=(data(LIVE, "a", "b"),)), column="b"))
    times = {"timestamp": TIME, "oldest_timestamp": TIME, "columns": ()}
    return replace(found, **{"table_id": "id-1", **times, **facts})


def dropped(path: str = "b", *steps: ErasureStep) -> DroppedColumn:
    (column,) = column_erasure(folder(files=(data(LIVE, "a", "b"),))).columns
    return replace(column, path=path, steps=steps, timestamp=TIME)


def report(*tables: TableErasure, column: str | None = "b") -> ErasureReport:
    return ErasureReport(column=column, tables=tables, version="1.0")


def of(verdict: str, **facts: Any) -> TableErasure:
    return TableErasure(table=verdict.lower(), erasure=erasure(verdict=verdict, **facts))


LATER, SOON = TIME + timedelta(days=9), TIME + timedelta(days=7)
VACUUM = ErasureStep("VACUUM", "VACUUM t", SOON)


def test_sums_come_first_with_the_worst_verdict_first() -> None:
    unreadable = TableErasure(table="u", error="SOME_CONDITION", message="text")
    found = report(of("NEVER_HAD"), of("ERASED"), unreadable, of("LIVE"), of("ERASED"))

    assert list(found.verdicts.items()) == [
        ("UNREADABLE", 1),
        ("LIVE", 1),
        ("ERASED", 2),
        ("NEVER_HAD", 1),
    ]
    assert repr(found).splitlines()[:3] == ["column:     b", "tables:     5", "UNREADABLE: 1"]
    assert "SOME_CONDITION" in repr(found)
    sums, *tables = found.as_objects()
    assert sums["verdicts"] == found.verdicts
    assert [table["verdict"] for table in tables][:2] == ["NEVER_HAD", "ERASED"]


@pytest.mark.parametrize(
    ("verdict", "complete"),
    [
        ("LIVE", False),
        ("STILL_PRESENT", False),
        ("UNKNOWN", False),
        ("ERASED", True),
        ("NEVER_HAD", True),
    ],
)
def test_report_is_complete_when_no_data_remains(verdict: str, complete: bool) -> None:
    assert report(of(verdict), of("ERASED")).complete == complete
    assert not report(TableErasure(table="u", message="m"), of("ERASED")).complete


@pytest.mark.parametrize("reason", ["OTHER_FORMAT", "INTERRUPTED"])
def test_report_with_a_table_that_was_not_read_is_not_a_proof(reason: str) -> None:
    found = replace(
        report(of("NEVER_HAD"), TableErasure(table="other", not_read=reason)),
        where=("s1", "/data"),
        num_views=2,
    )
    written = json.loads(Certificate.of(found).json())

    assert (found.complete, found.verdict) == (False, "NOT_READ")
    assert (written["verdict"], written["where"], written["views"]) == (
        *("NOT_READ", ["s1", "/data"]),
        2,
    )
    assert [table["verdict"] for table in written["tables"]] == ["NEVER_HAD", "NOT_READ"]
    assert list(report(*found.tables, of("UNKNOWN"), of("LIVE")).verdicts) == [
        *("LIVE", "NOT_READ", "UNKNOWN", "NEVER_HAD"),
    ]


def test_certificate_of_no_table_is_unknown() -> None:
    assert (report().complete, Certificate.of(report()).verdict) == (False, "UNKNOWN")


def test_step_of_several_columns_counts_once_with_its_latest_time() -> None:
    columns = (dropped("b", VACUUM), dropped("c", replace(VACUUM, earliest=LATER)))
    table = of("STILL_PRESENT", columns=columns)

    assert table.steps == (replace(VACUUM, earliest=LATER),)
    assert report(table, of("STILL_PRESENT", columns=columns[:1])).due == SOON
    assert report(of("ERASED")).due is None


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"oldest_version": 0}, "the log is whole, from version 0"),
        (
            {"oldest_version": 7, "forgotten_ids": 0},
            "the log goes back to version 7 of 2026-11-27 07:00:00",
        ),
        (
            {"oldest_version": 7, "oldest_timestamp": None, "forgotten_ids": 2},
            "the log goes back to version 7; 2 column ids were dropped before",
        ),
    ],
)
def test_report_has_the_versions_that_the_verdict_covers(facts: dict[str, Any], words: str) -> None:
    assert words in repr(report(of("NEVER_HAD", **facts)))


def test_certificate_has_everything_in_each_form(tmp_path: Path) -> None:
    step = AppliedStep("PURGE", "REORG", 3, 4, 0.5)
    table = replace(of("STILL_PRESENT", columns=(dropped("b", VACUUM),)), applied=(step,))
    certificate = Certificate.of(report(table, replace(of("ERASED"), table=ODD)))

    written = json.loads(certificate.json())

    assert (written["column"], written["verdict"], written["sparkExt"]) == (
        "b",
        "STILL_PRESENT",
        "1.0",
    )
    first = written["tables"][0]
    assert first["erasure"]["filesRead"] == [{"kind": "live", "numFiles": 1, "sizeInBytes": 10}]
    assert first["applied"][0]["versionAfter"] == 4
    utc = datetime.fromisoformat(first["erasure"]["columns"][0]["steps"][0]["earliest"])
    assert utc == SOON.astimezone(timezone.utc)
    assert any("backups" in text for text in written["outOfReach"])
    for name in ("c.json", "c.html"):
        certificate.write(tmp_path / name)
        found = earlier_certificate(tmp_path / name, "b")
        assert [column.path for column in found.findings["id-1"].columns] == ["b"]
    page = (tmp_path / "c.html").read_text()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert sorted(file.name for file in tmp_path.iterdir()) == ["c.html", "c.json"]


def test_certificate_is_about_one_column() -> None:
    with pytest.raises(ValueError, match="column"):
        Certificate.of(report(of("ERASED"), column=None))


def test_certificate_continues_the_findings_of_earlier_ones() -> None:
    first = Certificate.of(report(of("STILL_PRESENT", columns=(dropped("b"),))))
    second = replace(of("ERASED"), earlier=findings(first)["id-1"])

    found = findings(Certificate.of(report(second)))

    assert [(each.path, each.id) for each in found["id-1"].columns] == [("b", 2)]
    assert findings(Certificate.of(report(of("NEVER_HAD")))) == {}
    assert findings(None) == {}


SSN = EarlierColumn("ssn", (), "`col-1`", 2, None, live=True)
DROPPED = replace(SSN, live=False)
# An older file of the log has only the name.
OLDER = replace(SSN, physical_path=None, id=None, version=0)


@pytest.mark.parametrize(
    ("columns", "only_live"),
    [
        ((SSN,), (SSN,)),
        ((DROPPED, SSN), ()),
        # RESTORE restored the column after its drop.
        ((SSN, DROPPED), (SSN,)),
        # Another column got the name after the drop.
        ((replace(DROPPED, physical_path="ssn"), SSN), (SSN,)),
        # The commit of a drop has no physical name.
        ((replace(DROPPED, physical_path=None, version=3), SSN), ()),
        ((DROPPED,), ()),
        # A column of the same physical path has another id.
        ((replace(DROPPED, id=3), SSN), (SSN,)),
        ((DROPPED, OLDER), (OLDER,)),
        # After a removal of column mapping, a later column has the name.
        ((replace(DROPPED, id=None), SSN), (SSN,)),
        ((DROPPED, replace(SSN, id=None)), ()),
    ],
)
def test_column_that_no_newer_certificate_found_as_dropped_may_be_renamed(
    columns: tuple[EarlierColumn, ...], only_live: tuple[EarlierColumn, ...]
) -> None:
    assert EarlierFinding("now", 1, columns).only_live == only_live


def test_certificate_of_a_live_column_has_it_as_live() -> None:
    live = (LiveColumn("ssn", (), "`col-1`", 2),)
    older = NameInLog("ssn", 0, None, "SCHEMA")
    drop = NameInLog("ssn", 3, TIME, "DROP COLUMNS")

    first = findings(Certificate.of(report(of("LIVE", live_columns=live))))["id-1"]
    second = Certificate.of(report(replace(of("ERASED", names_in_log=(drop,)), earlier=first)))
    third = Certificate.of(report(of("UNKNOWN", names_in_log=(older,))))

    assert first.only_live == first.columns == (SSN,)
    assert findings(second)["id-1"].only_live == ()
    assert [each.path for each in findings(third)["id-1"].only_live] == ["ssn"]
    unknown = replace(of("UNKNOWN"), earlier=first)
    assert reason(unknown).endswith("the log does not say whether it was dropped or renamed")
    assert "older file of the log has ssn" in reason(of("UNKNOWN", names_in_log=(older,)))


class Columns:
    """The answers of `column_mapping` for a table without the name `ssn`."""

    def answer(self, *_: str) -> Columns:
        return self

    def collect(self) -> list[Row]:
        return [Row(name="id", physicalName=None), Row(name="s", physicalName="col-9")]


@pytest.mark.parametrize(
    ("live", "oldest", "verdict"),
    [
        # The log shows every rename since the certificate of version 5.
        (SSN, 5, "ERASED"),
        (SSN, 6, "UNKNOWN"),
        # The name is older than the certificate.
        (OLDER, 5, "UNKNOWN"),
        # The log shows the drop of this column.
        (replace(SSN, id=8), 6, "ERASED"),
        # The column is in the schema under another name.
        (replace(SSN, id=8, physical_path="`col-9`"), 6, "UNKNOWN"),
    ],
)
def test_drop_in_the_log_may_be_that_of_a_later_column(
    live: EarlierColumn, oldest: int, verdict: str
) -> None:
    own = replace(dropped("ssn"), physical_path="`col-1`", id=8)
    found = of("ERASED", columns=(own,), oldest_version=oldest, version=9)
    first = Certificate.of(report(replace(found, earlier=EarlierFinding("now", 5, (live,)))))
    earlier = findings(first)["id-1"]
    assert earlier.version == 5
    known = replace(earlier, columns=(live,))

    checked = _with_earlier(Columns(), replace(found, earlier=known))  # type: ignore[arg-type]

    assert checked.verdict == verdict


def test_live_column_is_newer_than_a_dropped_column_of_the_same_physical_path() -> None:
    live = (LiveColumn("b", (), "b", 3),)
    both = Certificate.of(report(of("LIVE", columns=(dropped("b"),), live_columns=live)))

    assert [each.id for each in findings(both)["id-1"].only_live] == [3]


def test_report_and_certificate_have_the_options_that_chose_tables() -> None:
    found = replace(report(of("ERASED")), filters=("exclude hr_*", "only: a function"))
    certificate = Certificate.of(found)

    assert next(found.as_objects())["filters"] == list(found.filters)
    assert json.loads(certificate.json())["filters"] == list(found.filters)
    for text in (repr(found), repr(certificate), certificate.html()):
        assert "exclude hr_*, only: a function" in text
    assert "filters" not in repr(report(of("ERASED")))


def findings(certificate: Certificate | None) -> Mapping[str, EarlierFinding]:
    return earlier_certificate(certificate, "b").findings


def continued(before: Certificate, *tables: TableErasure) -> Certificate:
    """Returns the certificate of a run that continues an earlier one, as read from its JSON."""
    earlier = earlier_certificate(before, "b").not_replaced_by(
        {each.table: each.erasure for each in tables}
    )
    return Certificate.of(replace(report(*tables), earlier=earlier))


@pytest.mark.parametrize(
    "others",
    [
        (),
        (TableErasure(table="still_present", error="SOME_CONDITION", message="text"),),
        (TableErasure(table="still_present", not_read="INTERRUPTED"),),
        (of("NEVER_HAD", table_id="id-2"),),
        (of("NEVER_HAD", location="file:/copy"),),
    ],
)
def test_certificate_keeps_entries_that_no_table_of_the_run_replaces(
    others: tuple[TableErasure, ...],
) -> None:
    first = Certificate.of(report(of("STILL_PRESENT", columns=(dropped("b"),))))
    unread = TableErasure(table="u", message="text")

    before = replace(first.report, tables=(*first.report.tables, unread))
    second = continued(Certificate.of(before), *others)
    third = continued(second)

    for certificate in (second, third):
        assert [(each["table"], each["verdict"]) for each in certificate.report.earlier][-2:] == [
            ("still_present", "STILL_PRESENT"),
            ("u", "UNREADABLE"),
        ]
        assert [column.path for column in findings(certificate)["id-1"].columns] == ["b"]
        assert "still_present" in certificate.html()
    replaced = continued(third, replace(of("ERASED"), table="renamed"), unread)
    assert "STILL_PRESENT" not in [each["verdict"] for each in replaced.report.earlier]
    assert "u" not in [each["table"] for each in replaced.report.earlier]


def test_error_after_the_first_reading_keeps_the_earlier_results() -> None:
    failed = replace(of("STILL_PRESENT", columns=(dropped("b"),)), error="LOST", message="text")

    assert (failed.verdict, reason(failed)) == ("UNREADABLE", "LOST")
    assert [each.path for each in findings(Certificate.of(report(failed)))["id-1"].columns] == ["b"]


def test_error_after_the_reading_keeps_what_an_earlier_certificate_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = EarlierFinding("now", 0, (SSN,))

    def fail(*_: object) -> None:
        raise RuntimeError("lost")

    monkeypatch.setattr(erasure_run, "_name", lambda spark, place: place)
    monkeypatch.setattr(erasure_run, "_read", lambda *_: of("NEVER_HAD").erasure)
    monkeypatch.setattr(NamedTable, "answer", fail)

    found = erasure_run.read_table(None, "t", "ssn", lambda _: known)  # type: ignore[arg-type]

    assert (found.verdict, found.earlier) == ("UNREADABLE", known)


# Steps that `--apply` runs.


def due(found: ColumnErasure, known: EarlierFinding | None = None) -> list[str]:
    return [step.step for step in due_steps(TableErasure(table="t", erasure=found, earlier=known))]


def test_only_steps_of_columns_with_the_name_are_applied() -> None:
    unnamed = replace(dropped("b", VACUUM), path=None, physical_path="`col-1`")
    nameless = replace(unnamed, physical_path=None)
    matched = replace(unnamed, physical_path="ssn")
    found = erasure(verdict="UNKNOWN", columns=(unnamed, nameless), unnamed_columns=("`col-1`",))

    assert due(found) == []
    assert due(replace(found, columns=(dropped("b", VACUUM), unnamed))) == ["VACUUM"]
    # The column is only in data files, and its physical name matches.
    assert due(replace(found, columns=(matched,))) == ["VACUUM"]
    earlier = EarlierFinding("now", 1, (EarlierColumn("b", (), "`col-1`", 2, 1),))
    assert due(found, earlier) == ["VACUUM"]
    by_catalog = replace(VACUUM, by_catalog=True)
    assert due(replace(found, columns=(dropped("b", by_catalog),))) == []


WRITTEN = json.loads(Certificate.of(report(of("ERASED"))).json())


@pytest.mark.parametrize(
    ("content", "column"),
    [
        (b"no JSON", "b"),
        (b"\xff", "b"),
        ({}, "b"),
        ([], "b"),
        (WRITTEN, "c"),
        (WRITTEN, None),
        ({**WRITTEN, "format": 2}, "b"),
        ({key: WRITTEN[key] for key in WRITTEN if key != "tables"}, "b"),
        ({**WRITTEN, "tables": [{**WRITTEN["tables"][0], "erasure": {}}]}, "b"),
        ({**WRITTEN, "earlier": ["table"]}, "b"),
    ],
)
def test_file_that_is_not_a_certificate_of_the_column_is_refused(
    tmp_path: Path, content: Any, column: str | None
) -> None:
    file = tmp_path / "c.json"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())

    with pytest.raises(NotACertificateError):
        earlier_certificate(file, column)
