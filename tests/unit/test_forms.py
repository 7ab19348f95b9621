# SPDX-License-Identifier: Apache-2.0
"""Tests text and HTML of status, stages, alignment and the other results."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from spark_ext import (
    AuditResult,
    Certificate,
    ColumnChange,
    ColumnMappingStatus,
    DroppedColumns,
    Finding,
    FlagChange,
    LakehouseReport,
    NameAlignment,
    Survey,
    SurveyedTable,
    TableResult,
)
from spark_ext.auditing.check import DAMAGE, RISK
from spark_ext.model.dropped import VERDICTS
from spark_ext.model.metadata import FileCount, TableFacts
from spark_ext.removal.stages import (
    BLOCKED,
    COPY,
    HISTORY,
    METADATA,
    NOTHING,
    REWRITE,
    stages,
    sums,
)
from spark_ext.show import STATES, Rendered
from spark_ext.tables.report import OUTCOMES, StatementResult
from spark_ext.tables.table import RemovalStages
from tests.unit.tables import protocol, table

TIME = datetime(2026, 11, 22, 17, 0)
RENAMED = ColumnChange(3, TIME, "RENAME COLUMN", "anna", "rename", 2, "city", "`to wn`")
DROPPED = ColumnChange(5, TIME, "DROP COLUMNS", None, "drop", 1, "id", None)
STATUS = ColumnMappingStatus(
    table="spark_catalog.default.trips",
    mode="name",
    tracked=True,
    has_dropped_or_renamed=True,
    true_since=FlagChange(3, TIME, "RENAME COLUMN", "anna"),
    min_reader_version=2,
    min_writer_version=7,
    reader_features=(),
    writer_features=("columnMapping", "columnMappingUsageTracking"),
    dropped_or_renamed=(RENAMED, DROPPED),
    history_from=0,
)
FACTS = TableFacts(
    table({"a": "1 x", "b": "2 <b>"}, "name", "true"),
    protocol(),
    "db.t",
    FileCount(4, 5000),
    copies=True,
)


class TestStatus:
    def test_text_has_facts_and_changes(self) -> None:
        assert repr(STATUS) == (
            "table:                      spark_catalog.default.trips\n"
            "mode:                       name\n"
            "tracked:                    true\n"
            "has dropped or renamed:     true since version 3"
            " (RENAME COLUMN, by anna, at 2026-11-22 17:00:00)\n"
            "protocol:                   reader 2, writer 7\n"
            "features:                   columnMapping, columnMappingUsageTracking\n"
            "history:                    whole\n"
            "columns dropped or renamed: 2\n"
            "\n"
            "version  timestamp            operation      user  change  old name  new name\n"
            "-------  -------------------  -------------  ----  ------  --------  --------\n"
            "      3  2026-11-22 17:00:00  RENAME COLUMN  anna  rename  city      `to wn`\n"
            "      5  2026-11-22 17:00:00  DROP COLUMNS         drop    id\n"
            "\n"
            "Next, see the cost of readable names, or of the removal:\n"
            "  UsageTracking.align_names(dry_run=True)\n"
            "  UsageTracking.remove_column_mapping(dry_run=True)"
        )

    @pytest.mark.parametrize("changed", [{"has_dropped_or_renamed": False}, {"mode": "none"}])
    def test_text_has_no_next_call_when_the_names_are_readable(
        self, changed: dict[str, Any]
    ) -> None:
        assert "Next" not in repr(replace(STATUS, **changed))

    @pytest.mark.parametrize(
        ("flag", "since", "words"),
        [
            (None, None, ""),
            (False, None, "false"),
            (True, None, "true, since a version that the log no longer has"),
            (True, FlagChange(7, None, None, None), "true since version 7"),
        ],
    )
    def test_flag_is_described_in_words(
        self, flag: bool | None, since: FlagChange | None, words: str
    ) -> None:
        status = replace(STATUS, has_dropped_or_renamed=flag, true_since=since)

        lines = dict(line.split(":", 1) for line in repr(status).splitlines()[:8])
        assert lines["has dropped or renamed"].strip() == words

    def test_text_has_the_first_version_when_the_log_starts_later(self) -> None:
        lines = repr(replace(STATUS, history_from=7, dropped_or_renamed=())).splitlines()

        assert "history:                    from version 7" in lines
        assert "columns dropped or renamed: 0" in lines

    def test_text_has_the_newest_changes_when_there_are_many(self) -> None:
        changes = tuple(replace(DROPPED, version=number) for number in range(1000))
        status = replace(STATUS, dropped_or_renamed=changes)

        assert "1,000, the newest 20:" in repr(status)
        assert len(repr(status).splitlines()) == 8 + 1 + 2 + 20 + 4
        assert "    999  " in repr(status).splitlines()[8 + 1 + 2 + 20 - 1]
        assert status._repr_html_().count("<tr>") == 8 + 1 + 20


class TestStages:
    STAGES = RemovalStages(stages(FACTS))

    def test_text_has_costs_reasons_and_statements(self) -> None:
        assert repr(self.STAGES).splitlines() == [
            "stage     reached  cost      files      bytes",
            "--------  -------  --------  ---------  -------------",
            "unmapped  false    COPY      at most 4  at most 5,000",
            "readers   false    METADATA  0          0",
            "writers   false    HISTORY   0          0",
            "",
            "unmapped: HAS_DROPPED_OR_RENAMED, PHYSICAL_NAME_DIFFERS (a, x),"
            " PHYSICAL_NAME_DIFFERS (b, <b>)",
            "  ALTER TABLE db.t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')",
            "",
            "readers:",
            "  ALTER TABLE db.t DROP FEATURE columnMapping",
            "",
            "writers: RETENTION_PERIOD (checkpointProtection, interval 24 hours), OTHER_SESSIONS",
            "  ALTER TABLE db.t DROP FEATURE columnMappingUsageTracking",
            "  ALTER TABLE db.t DROP FEATURE checkpointProtection TRUNCATE HISTORY",
        ]

    def test_text_has_the_result_of_each_statement(self) -> None:
        removed = StatementResult("REMOVE <b>", 3, 4, 0.5, kept=FileCount(2, 7))
        waited = StatementResult("WAIT", 4, 5, 1.0, waits=True)
        done = RemovalStages(stages(FACTS), (removed, waited))

        assert repr(done).splitlines()[-3:] == [
            "done:",
            "  REMOVE <b>: version 3 to 4, 0.5 s, 2 kept (7 bytes)",
            "  WAIT: version 4 to 5, 1.0 s, waits for the retention period",
        ]
        assert "REMOVE &lt;b&gt;: version 3 to 4" in done._repr_html_()

    def test_text_has_three_reasons_when_a_table_is_wide(self) -> None:
        columns: dict[str, Any] = {f"c{id}": f"{id} p{id}" for id in range(1, 2001)}
        wide = replace(FACTS, table=table(columns, "name", "true"))

        for form in (repr, RemovalStages._repr_html_):
            text = form(RemovalStages(stages(wide)))
            assert "PHYSICAL_NAME_DIFFERS (c2, p2) and 1,998 more" in text
            assert "c3" not in text


class TestAlignment:
    FIRST = StatementResult("FIRST\n", 5, 6, 0.25)
    REMOVED = StatementResult(
        "SECOND", 6, 9, 1.5, kept=FileCount(1, 10), copied=FileCount(2, 5000), rewritten=FileCount()
    )
    LEFT = ("NEXT <b>\n", "LAST")
    ALIGNMENT = NameAlignment("t", False, "name", "COPY", 4, 5000, (FIRST,), LEFT)

    def test_text_has_facts_and_statements(self) -> None:
        assert repr(self.ALIGNMENT).splitlines() == [
            "table:    t",
            "aligned:  false",
            "mode:     name",
            "cost:     COPY",
            "files:    at most 4 (5,000 bytes)",
            "seconds:  0.2",
            "versions: 5 to 6",
            "",
            "done:",
            "  FIRST\\n: version 5 to 6, 0.2 s",
            "",
            "remaining:",
            "  NEXT <b>\\n",
            "  LAST",
        ]

    def test_text_has_the_files_of_the_removal(self) -> None:
        result = replace(
            self.ALIGNMENT, num_files=2, done=(self.FIRST, self.REMOVED), statements=()
        )

        lines = repr(result).splitlines()

        counts = "1 kept (10 bytes), 2 copied (5,000 bytes), 0 rewritten (0 bytes)"
        assert f"files:    {counts}" in lines
        assert "versions: 5 to 9" in lines
        assert lines[-1] == f"  SECOND: version 6 to 9, 1.5 s, {counts}"
        assert (result.kept, result.copied) == (FileCount(1, 10), FileCount(2, 5000))


ODD = "<b>\n"
UNREADABLE = SurveyedTable(ODD, error="<b>")  # line breaks of errors are not escaped
ERASURE = DroppedColumns(ODD, error=ODD, message=ODD)
RESULTS: dict[str, Rendered] = {
    "alignment": TestAlignment.ALIGNMENT,
    "audit": AuditResult(ODD, (Finding(3, "c", ODD, ODD, ODD, ODD),)),
    "certificate": Certificate(
        column=ODD,
        where=(ODD,),
        filters=(ODD,),
        tables=(ERASURE,),
        num_views=1,
        time=datetime.now(timezone.utc),
        version="1",
    ),
    "dropped columns": ERASURE,
    "lakehouse": LakehouseReport(
        ODD, (ODD,), (TableResult(table=ODD, outcome="FAILED", message="<b>"),)
    ),
    "stages": RemovalStages(stages(FACTS), (StatementResult(ODD, 3, 4, 0.5),)),
    "status": replace(STATUS, table=ODD, dropped_or_renamed=(replace(RENAMED, old_name=ODD),)),
    "survey": Survey((UNREADABLE,), sums((UNREADABLE,), num_views=1)),
}


STATE_WORDS = {
    *(NOTHING, METADATA, COPY, REWRITE, HISTORY, BLOCKED),
    *OUTCOMES,
    *VERDICTS,
    *(DAMAGE, RISK),
}


def test_every_state_has_a_colour_except_for_neutral_ones() -> None:
    assert STATE_WORDS - set(STATES) == {"PLANNED", "GONE"}
    assert set(STATES) - STATE_WORDS == set()


@pytest.mark.parametrize("name", RESULTS)
def test_html_has_the_names_of_the_text_and_escapes_them(name: str) -> None:
    result = RESULTS[name]
    text, html = repr(result), result._repr_html_()
    if isinstance(result, (LakehouseReport, Survey)):
        text = result.text(all_tables=True)

    assert html.count("&lt;b&gt;") == text.count("<b>") > 0
    assert html.count("&gt;\\n") == text.count(">\\n")
    assert ("<b>" in html, "\n" in html) == (False, False)
