# SPDX-License-Identifier: Apache-2.0
"""Tests rows and sums of a survey, its arguments, and its text, HTML, JSON and CSV."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Row

import spark_ext
from spark_ext import LakehouseProgress, Obstacle, Survey, SurveyedTable
from spark_ext.errors import MalformedMessageError
from spark_ext.model.rows import json_lines
from spark_ext.process.questions import ask
from spark_ext.removal.stages import STAGES, CostSum, ErrorSum, ObstacleSum, SurveySums, sums
from tests.unit.case_files import table_of
from tests.unit.fake_session import A, FakeSession, listed
from tests.unit.tables import TRACKED, wire_facts, wire_protocol


def request(text: str | None, **changes: Any) -> dict[str, Any]:
    """Returns what the JVM sends of a table: its facts, or an error."""
    known = {"name": "db.t", "facts": text, "version": 7, "location": "file:/t"}
    return {**known, "error": None, "message": None, **changes}


def facts(text: str, *features: str, reader: tuple[str, ...] | None = None) -> str:
    """Returns the facts of a table as the JVM sends them."""
    version = 2 if reader is None else 3
    protocol = wire_protocol(version, 7, reader, [*(features or TRACKED), *(reader or ())])
    return json.dumps(wire_facts(table_of(text), protocol))


def rows(*tables: dict[str, Any]) -> list[dict[str, Any]]:
    answer = json.loads(ask("column_mapping_survey", json.dumps({"tables": tables})))
    found: list[dict[str, Any]] = answer["rows"]
    return found


def row(text: str) -> dict[str, Any]:
    (found,) = rows(request(text))
    return found


# Rows.


def test_unreadable_table_has_its_error_only() -> None:
    error = {"name": "db.t", "error": "DELTA_X", "message": "what"}
    (found,) = rows(request(None, version=None, location=None, **error))

    filled = {key: value for key, value in found.items() if value is not None}
    assert filled == {"table": "db.t", "blockedBy": [], "error": "DELTA_X", "message": "what"}


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("{", "USAGE_TRACKING_MALFORMED_MESSAGE"),
        (facts("{a} {delta.columnMapping.mode: odd}"), "DELTA_MODE_NOT_SUPPORTED"),
        # The rules fail on this schema of another writer.
        (facts("{a}").replace('"long"', '{"type": "map"}'), "USAGE_TRACKING_RULE_FAILED"),
    ],
)
def test_table_with_invalid_facts_has_an_error_and_affects_no_other(
    text: str, condition: str
) -> None:
    sound = request(facts("{a}"))
    first, broken, last = rows(sound, request(text, name="db.b"), sound)

    assert (broken["table"], broken["error"], broken["unmapped"]) == ("db.b", condition, None)
    assert broken["message"]
    assert first == last
    assert (first["table"], first["error"], first["unmapped"]) == ("db.t", None, "NOTHING")


def test_tracked_table_needs_metadata_only() -> None:
    found = row(facts("name false {a: 1 a, s: {column: 2 s, struct: {x: 3 x}}}"))

    assert found == {
        "table": "db.t",
        "mode": "name",
        "tracked": True,
        "hasDroppedOrRenamed": False,
        "numColumns": 3,
        "numOtherNames": 0,
        "numFiles": 4,
        "sizeInBytes": 4096,
        "unmapped": "METADATA",
        "readers": "METADATA",
        "writers": "HISTORY",
        "blockedBy": [],
        "version": 7,
        "aligning": None,
        "location": "file:/t",
        "error": None,
        "message": None,
    }


@pytest.mark.parametrize("flag", ["true", "odd", ""])
def test_physical_names_that_differ_are_counted_at_every_level(flag: str) -> None:
    columns = "{a: 1 col-1, s: {column: 2 s, array: {x: 3 col-3, y: 4 y}}}"

    found = row(facts(f"{flag} {columns} {{delta.columnMapping.mode: ID}}"))

    assert (found["mode"], found["numColumns"], found["numOtherNames"]) == ("id", 4, 2)
    assert (found["hasDroppedOrRenamed"], found["unmapped"]) == (True, "COPY")


def test_untracked_table_has_no_flag() -> None:
    found = row(facts("name false {a: 1 a}", "columnMapping"))

    assert (found["tracked"], found["hasDroppedOrRenamed"]) == (False, None)
    assert found["unmapped"] == "REWRITE"


VECTORS = ("columnMapping", "deletionVectors")


@pytest.mark.parametrize(
    ("text", "reader", "blocked"),
    [
        # Reasons that only change the cost are omitted.
        ("true {a b: 1 col-1}", VECTORS, ["OTHER_FEATURE deletionVectors"] * 2),
        ("false {a b: 1 a}", None, ["EARLIER_STAGE unmapped"] * 2),
    ],
)
def test_stage_after_a_blocked_stage_is_blocked(
    text: str, reader: tuple[str, ...] | None, blocked: list[str]
) -> None:
    found = row(facts(f"name {text}", reader=reader))

    assert [found[stage] for stage in STAGES] == ["BLOCKED"] * 3
    assert [(why["stage"], f"{why['reason']} {why['name']}") for why in found["blockedBy"]] == [
        *zip(STAGES, ["INVALID_COLUMN_NAME `a b`", *blocked], strict=True)
    ]


# Arguments.


def session(**schemas: list[Row]) -> FakeSession:
    names = {row["table"] for rows in schemas.values() for row in rows} | set(PATHS.values())
    return FakeSession(rows={name: replace(A, table=name) for name in names}, listed=schemas)


def survey(session: Any, *where: Any, progress: Any = None) -> Survey:
    return spark_ext.survey(session, *where, progress=progress)


def named(found: Survey) -> list[tuple[str, str | None]]:
    return [(known.table, known.error) for known in found.tables]


def test_survey_without_a_name_reads_the_current_schema() -> None:
    spark = session(current=[listed("a"), listed("v", "VIEW"), listed("p", "OTHER")])
    spark.reads = lambda spark: settings.update(spark.settings)
    settings: dict[str, str] = {}

    found = survey(spark)

    assert named(found) == [("a", None)]
    assert (found.sums.num_views, found.sums.num_others) == (1, 1)
    assert (settings, spark.settings) == ({"spark.sparkext.columnMapping.removal": "copy"}, {})


def test_table_of_unknown_kind_keeps_its_place_with_its_error() -> None:
    spark = session(s=[listed("a"), listed("b", None, "DENIED"), listed("c")])

    assert named(survey(spark, "s")) == [("a", None), ("b", "DENIED"), ("c", None)]
    assert spark.asked == [["a", "c"]]


def test_table_that_is_named_twice_is_surveyed_once() -> None:
    spark = session(s=[listed("a"), listed("b")], t=[listed("b")])

    assert named(survey(spark, "s", "t", "/a", "/a")) == [("a", None), ("b", None), ("/a", None)]


PATHS: dict[Any, str] = {
    "/a": "/a",
    "s3://bucket/a": "s3://bucket/a",
    "./a": "./a",
    "delta.`/a`/b": "delta.`/a`/b",
    PurePosixPath("a"): "./a",
    PurePosixPath("/a"): "/a",
}


@pytest.mark.parametrize("where", PATHS)
def test_text_with_a_slash_is_a_path(where: Any) -> None:
    spark = session()

    survey(spark, where)

    assert spark.asked == [[PATHS[where]]]


@pytest.mark.parametrize("where", ["a", "a.b", "`a/b`", "c.`a``/b`"])
def test_text_with_a_slash_in_backticks_is_a_name(where: str) -> None:
    assert named(survey(session(**{where: [listed("t")]}), where)) == [("t", None)]


@pytest.mark.parametrize("where", [5, b"a"])
def test_place_is_refused_when_neither_text_nor_path(where: Any) -> None:
    with pytest.raises(TypeError):
        survey(session(), where)


@pytest.mark.parametrize("missing", ["TABLE_OR_VIEW_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE"])
def test_name_of_neither_schema_nor_table_is_refused_as_a_schema(missing: str) -> None:
    class Refusing(FakeSession):
        def sql(self, text: str) -> Any:
            is_schema = "column_mapping_tables" in text
            raise AnalysisException("no", "SCHEMA_NOT_FOUND" if is_schema else missing, {})

    with pytest.raises(AnalysisException) as refused:
        survey(Refusing(), "lost")

    assert refused.value.getCondition() == "SCHEMA_NOT_FOUND"


def test_progress_is_reported_after_each_hundred_tables() -> None:
    spark = session(current=[listed(f"t{number}") for number in range(230)])
    reports: list[LakehouseProgress] = []

    survey(spark, progress=reports.append)

    assert [len(names) for names in spark.asked] == [100, 100, 30]
    assert [(known.tables_done, known.tables) for known in reports] == [
        (done, 230) for done in (0, 100, 200, 230)
    ]
    assert all(known.seconds >= 0 for known in reports)


def test_callback_that_raises_ends_the_survey_and_unsets_the_setting() -> None:
    spark = session(current=[listed("t")])

    with pytest.raises(ZeroDivisionError):
        survey(spark, progress=lambda progress: 1 / progress.tables_done)

    assert spark.settings == {}


def test_older_jar_is_refused() -> None:
    class Older(FakeSession):
        def sql(self, text: str) -> Any:
            rows = [row.asDict() for row in super().sql(text).collect()]
            old = [Row(**{key: row[key] for key in row if key != "mode"}) for row in rows]
            return SimpleNamespace(collect=lambda: old)

    with pytest.raises(MalformedMessageError, match="mode"):
        survey(Older())


# Text and HTML.

ODD = SurveyedTable(
    'db.`<b>"&\n`',
    mode="name",
    tracked=True,
    has_dropped_or_renamed=True,
    num_columns=2,
    num_other_names=1,
    num_files=3,
    size_in_bytes=1234,
    unmapped="BLOCKED",
    readers="BLOCKED",
    writers="HISTORY",
    blocked_by=(
        Obstacle("unmapped", "INVALID_COLUMN_NAME", "`a b`", " "),
        Obstacle("unmapped", "INVALID_COLUMN_NAME", "`c d`", " "),
        Obstacle("readers", "OTHER_FEATURE", "deletionVectors"),
    ),
)
MISSING = SurveyedTable("db.u", error="DELTA_MISSING", message="gone")


def of(*tables: SurveyedTable) -> Survey:
    return Survey(tables, sums(tables, num_views=1))


def test_sums_count_a_table_once_in_each_group_most_frequent_first() -> None:
    other = replace(MISSING, error="DELTA_OTHER")
    vectors = replace(ODD, num_files=4, size_in_bytes=6, writers="COPY")
    vectors = replace(vectors, blocked_by=ODD.blocked_by[2:])

    found = sums([other, ODD, MISSING, vectors, MISSING], num_views=3, num_others=5)

    assert found == SurveySums(
        *(5, 3 + 4, 1234 + 6),
        costs=(
            CostSum("unmapped", "BLOCKED", 2, 7, 1240),
            CostSum("readers", "BLOCKED", 2, 7, 1240),
            CostSum("writers", "COPY", 1, 4, 6),
            CostSum("writers", "HISTORY", 1, 3, 1234),
        ),
        blocked_by=(
            ObstacleSum("readers", "OTHER_FEATURE", "deletionVectors", 2),
            ObstacleSum("unmapped", "INVALID_COLUMN_NAME", None, 1),
        ),
        errors=(ErrorSum("DELTA_MISSING", 2), ErrorSum("DELTA_OTHER", 1)),
        num_views=3,
        num_others=5,
    )
    assert found.cost("writers", "HISTORY") == found.costs[3]
    assert found.cost("writers", "REWRITE").num_tables == 0


def test_text_has_the_sums_and_the_tables_that_need_a_person() -> None:
    later = Obstacle("writers", "EARLIER_STAGE", "readers")
    odd = replace(ODD, blocked_by=(*ODD.blocked_by, later))
    free = replace(ODD, table="db.free", unmapped="COPY", readers="METADATA", blocked_by=())

    text = repr(of(odd, MISSING, free))

    lines = [re.split(" {2,}", line) for line in text.splitlines()]
    assert ["unmapped:", "1 COPY 1.2 kB, 1 BLOCKED"] in lines
    assert ["readers:", "1 METADATA, 1 BLOCKED"] in lines
    assert ["unmapped", "INVALID_COLUMN_NAME", "1"] in lines
    assert ["readers", "OTHER_FEATURE deletionVectors", "1"] in lines
    assert ["cannot be read:", "1 DELTA_MISSING"] in lines
    at = lines.index(["BLOCKED", 'db.`<b>"&\\n`'])
    assert [line[-1] for line in lines[at + 1 : at + 4]] == [
        "unmapped: INVALID_COLUMN_NAME (`a b`, blank)",
        "unmapped: INVALID_COLUMN_NAME (`c d`, blank)",
        "readers: OTHER_FEATURE (deletionVectors)",
    ]
    assert "Rename the columns" in text
    assert lines[lines.index(["UNREADABLE", "db.u"]) + 1] == ["", "[DELTA_MISSING] gone"]
    assert "db.free" not in text
    assert "EARLIER_STAGE" not in text + of(odd)._repr_html_()
    assert re.search(r"^views left out: +1$", text, re.M)


@pytest.mark.parametrize("columns", [80, 120])
def test_text_of_all_tables_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    tables = [replace(ODD, table="db." + letter * 150) for letter in "xyz"]

    text = of(*tables, MISSING).text(all_tables=True)

    assert max(map(len, text.splitlines())) <= columns
    joined = re.sub(r"\s", "", text)
    # The name of a blocked table, the statement that unblocks it, and its row.
    assert [joined.count(letter * 150) for letter in "xyz"] == [3, 3, 3]


def test_notebook_has_the_first_hundred_tables_and_text_none() -> None:
    found = of(*(replace(ODD, table=f"db.t{at}.", blocked_by=()) for at in range(102)))

    assert re.findall(r"db\.t\d+\.", found._repr_html_())[-1] == "db.t99."
    assert "(2 more tables)" in found._repr_html_()
    assert "db.t" not in repr(found)


def test_text_without_tables_has_the_sums() -> None:
    assert re.match(r"tables: +0\n", repr(of()))


# Output of the command.


def test_json_has_a_line_for_each_table_and_the_sums() -> None:
    first, second, last = map(json.loads, json_lines(of(ODD, MISSING).as_objects()))

    assert (first["table"], first["hasDroppedOrRenamed"]) == (ODD.table, True)
    assert first["blockedBy"][2] == {
        "stage": "readers",
        "reason": "OTHER_FEATURE",
        "name": "deletionVectors",
        "detail": None,
    }
    assert (second["table"], second["mode"], second["error"]) == ("db.u", None, "DELTA_MISSING")
    assert last.keys() == {"sums"}
    cost = {"stage": "writers", "cost": "HISTORY", "numTables": 1, "numFiles": 3}
    assert {**cost, "sizeInBytes": 1234} in last["sums"]["costs"]
    assert last["sums"]["errors"] == [{"error": "DELTA_MISSING", "numTables": 1}]
