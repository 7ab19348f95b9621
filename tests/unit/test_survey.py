# SPDX-License-Identifier: Apache-2.0
"""Tests rows and sums of a survey, its arguments, and its text, HTML, JSON and CSV."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import AnalysisException
from pyspark.sql import Row

import spark_ext
from spark_ext import LakehouseProgress, Obstacle, Survey, SurveyedTable
from spark_ext.errors import MalformedMessageError
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.rows import json_lines
from spark_ext.process.questions import ask
from spark_ext.removal.row import sums
from tests.unit.connect import ConnectSession
from tests.unit.tables import table, wire_facts, wire_protocol

TRACKED = ["columnMapping", "columnMappingUsageTracking"]
COSTS = ["NOTHING", "METADATA", "COPY", "REWRITE", "HISTORY", "BLOCKED"]


def facts(metadata: TableMetadata, *features: str, reader: list[str] | None = None) -> str:
    """Returns the facts of a table as the JVM sends them."""
    version = 2 if reader is None else 3
    protocol = wire_protocol(version, 7, reader, [*features, *(reader or ())])
    return json.dumps(wire_facts(metadata, protocol))


def rows(*tables: dict[str, Any]) -> list[dict[str, Any]]:
    request = json.dumps({"tables": list(tables)})
    found: list[dict[str, Any]] = json.loads(ask("column_mapping_survey", request))["rows"]
    return found


def row(text: str) -> dict[str, Any]:
    (found,) = rows(
        {
            "name": "given",
            "facts": text,
            "version": 7,
            "location": "file:/t",
            "error": None,
            "message": None,
        }
    )
    return found


# Rows.


def test_unreadable_table_has_its_error_only() -> None:
    (found,) = rows(
        {
            "name": "db.t",
            "facts": None,
            "version": None,
            "location": None,
            "error": "DELTA_X",
            "message": "what",
        }
    )

    filled = {key: value for key, value in found.items() if value is not None}
    assert filled == {"table": "db.t", "blockedBy": [], "error": "DELTA_X", "message": "what"}


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("{", "USAGE_TRACKING_MALFORMED_MESSAGE"),
        (facts(table({"a": ""}, mode="odd")), "DELTA_MODE_NOT_SUPPORTED"),
        # The rules fail on this schema of another writer.
        (
            facts(table({"a": {"type": "int"}})).replace('"int"', '{"type": "map"}'),
            "USAGE_TRACKING_RULE_FAILED",
        ),
    ],
)
def test_table_with_invalid_facts_has_an_error_and_affects_no_other(
    text: str, condition: str
) -> None:
    sound = {
        "name": "db.t",
        "facts": facts(table({"a": ""})),
        "version": 7,
        "location": "file:/t",
        "error": None,
        "message": None,
    }
    first, broken, last = rows(sound, {**sound, "name": "db.b", "facts": text}, sound)

    assert (broken["table"], broken["error"], broken["unmapped"]) == ("db.b", condition, None)
    assert broken["message"]
    assert first == last
    assert (first["table"], first["error"], first["unmapped"]) == ("db.t", None, "NOTHING")


def test_tracked_table_needs_metadata_only() -> None:
    columns = {"a": "1 a", "s": {"column": "2 s", "struct": {"x": "3 x"}}}

    found = row(facts(table(columns, "name", "false"), *TRACKED))

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


@pytest.mark.parametrize("flag", ["true", "odd", None])
def test_physical_names_that_differ_are_counted_at_every_level(flag: str | None) -> None:
    columns = {"a": "1 col-1", "s": {"column": "2 s", "array": {"x": "3 col-3", "y": "4 y"}}}

    found = row(facts(table(columns, "ID", flag), *TRACKED))

    assert (found["mode"], found["numColumns"], found["numOtherNames"]) == ("id", 4, 2)
    assert (found["hasDroppedOrRenamed"], found["unmapped"]) == (True, "COPY")


def test_untracked_table_has_no_flag() -> None:
    found = row(facts(table({"a": "1 a"}, "name", "false"), "columnMapping"))

    assert (found["tracked"], found["hasDroppedOrRenamed"]) == (False, None)
    assert found["unmapped"] == "REWRITE"


def test_blocked_by_omits_reasons_that_only_change_the_cost() -> None:
    metadata = table({"a b": "1 col-1"}, "name", "true")

    found = row(facts(metadata, *TRACKED, reader=["columnMapping", "deletionVectors"]))

    assert [found[stage] for stage in ("unmapped", "readers", "writers")] == ["BLOCKED"] * 3
    assert [(why["stage"], why["reason"], why["name"]) for why in found["blockedBy"]] == [
        ("unmapped", "INVALID_COLUMN_NAME", "`a b`"),
        ("readers", "OTHER_FEATURE", "deletionVectors"),
        ("writers", "OTHER_FEATURE", "deletionVectors"),
    ]


def test_stage_after_a_blocked_stage_is_blocked() -> None:
    found = row(facts(table({"a b": "1 a"}, "name", "false"), *TRACKED))

    assert [found[stage] for stage in ("unmapped", "readers", "writers")] == ["BLOCKED"] * 3
    assert [(why["stage"], why["reason"], why["name"]) for why in found["blockedBy"]] == [
        ("unmapped", "INVALID_COLUMN_NAME", "`a b`"),
        ("readers", "EARLIER_STAGE", "unmapped"),
        ("writers", "EARLIER_STAGE", "unmapped"),
    ]


# Sums.

UNREADABLE = st.builds(SurveyedTable, st.text(), error=st.sampled_from(["DELTA_A", "DELTA_B"]))
OBSTACLES = st.builds(
    Obstacle,
    st.sampled_from(["unmapped", "readers", "writers"]),
    st.sampled_from(["OTHER_FEATURE", "INVALID_COLUMN_NAME"]),
    st.sampled_from(["deletionVectors", "icebergCompatV2"]),
)
READABLE = st.builds(
    SurveyedTable,
    st.text(),
    num_files=st.integers(0, 9),
    size_in_bytes=st.integers(0, 999),
    unmapped=st.sampled_from(COSTS),
    readers=st.sampled_from(COSTS),
    writers=st.sampled_from(COSTS),
    blocked_by=st.lists(OBSTACLES, max_size=4).map(tuple),
)
TABLES = st.lists(UNREADABLE | READABLE, max_size=8)


@given(TABLES)
def test_readable_tables_are_in_one_sum_of_each_stage(tables: list[Any]) -> None:
    found = sums(tables, num_views=3, num_others=5)

    for stage in ("unmapped", "readers", "writers"):
        for cost in COSTS:
            files, sizes = [], []
            for surveyed in tables:
                if surveyed.error is None and vars(surveyed)[stage] == cost:
                    files.append(surveyed.num_files)
                    sizes.append(surveyed.size_in_bytes)
            known = found.cost(stage, cost)
            counts = (known.num_tables, known.num_files, known.size_in_bytes)
            assert counts == (len(files), sum(files), sum(sizes))
            assert (known in found.costs) == bool(files)
    assert (found.num_tables, found.num_views, found.num_others) == (len(tables), 3, 5)
    errors = Counter(surveyed.error for surveyed in tables if surveyed.error is not None)
    assert {known.error: known.num_tables for known in found.errors} == errors


@given(TABLES)
def test_table_counts_once_for_each_blocking_reason_or_feature_of_a_stage(
    tables: list[Any],
) -> None:
    expected: Counter[object] = Counter()
    for surveyed in tables:
        about = set()
        for why in surveyed.blocked_by:
            is_feature = why.reason == "OTHER_FEATURE"
            about.add((why.stage, why.reason, why.name if is_feature else None))
        expected.update(about)

    found = sums(tables).blocked_by

    assert {(why.stage, why.reason, why.name): why.num_tables for why in found} == expected
    numbers = [why.num_tables for why in found]
    assert numbers == sorted(numbers, reverse=True)


# Arguments.


def survey_row(name: str) -> Row:
    columns = {"table": name.upper(), "mode": "none", "tracked": False, "hasDroppedOrRenamed": None}
    numbers = dict.fromkeys(("numColumns", "numOtherNames", "numFiles", "sizeInBytes"), 1)
    costs = dict.fromkeys(("unmapped", "readers", "writers"), "NOTHING")
    others = dict.fromkeys(("version", "aligning", "location", "error", "message"))
    return Row(**columns, **numbers, **costs, blockedBy=[], **others, ofANewerJar=1)


class Session(ConnectSession):
    """Lists the given tables."""

    def __init__(self, **schemas: list[Row]) -> None:
        self.conf: Any = self
        self.schemas = schemas
        self.asked: list[list[str]] = []
        self.settings: dict[str, str] = {}

    def get(self, key: str, default: str | None) -> str | None:
        return self.settings.get(key, default)

    def set(self, key: str, value: str) -> None:
        self.settings[key] = value

    def unset(self, key: str) -> None:
        del self.settings[key]

    def sql(self, text: str) -> Session:
        (function,) = re.findall(r"^SELECT \* FROM (\w+)\(", text)
        names = [bytes.fromhex(name).decode() for name in re.findall("X'(.*?)'", text)]
        if function == "column_mapping_tables":
            self.rows = self.schemas["".join(names) or "current"]
        else:
            assert function == "column_mapping_survey"
            assert self.settings == {"spark.sparkext.columnMapping.removal": "copy"}
            self.asked.append(names)
            self.rows = [survey_row(name) for name in names]
        return self

    def collect(self) -> list[Row]:
        return self.rows


def listed(name: str, kind: str | None = "DELTA", error: str | None = None) -> Row:
    return Row(table=name, kind=kind, error=error, message=error)


def survey(session: Any, *where: Any, progress: Any = None) -> Survey:
    return spark_ext.survey(session, *where, progress=progress)


def test_survey_without_a_name_reads_the_current_schema() -> None:
    session = Session(current=[listed("a"), listed("v", "VIEW"), listed("p", "OTHER")])

    found = survey(session)

    assert [surveyed.table for surveyed in found.tables] == ["A"]
    assert (found.sums.num_views, found.sums.num_others) == (1, 1)
    assert session.settings == {}


def test_table_of_unknown_kind_keeps_its_place_with_its_error() -> None:
    session = Session(s=[listed("a"), listed("b", None, "DENIED"), listed("c")])

    found = survey(session, "s")

    assert [(known.table, known.error) for known in found.tables] == [
        ("A", None),
        ("b", "DENIED"),
        ("C", None),
    ]
    assert session.asked == [["a", "c"]]


def test_table_that_is_named_twice_is_surveyed_once() -> None:
    session = Session(s=[listed("a"), listed("b")], t=[listed("b")])

    found = survey(session, "s", "t", "/x/y", "/x/y")

    assert [known.table for known in found.tables] == ["A", "B", "/X/Y"]


@pytest.mark.parametrize(
    ("where", "path"),
    [
        ("/a", "/a"),
        ("s3://bucket/a", "s3://bucket/a"),
        ("./a", "./a"),
        ("delta.`/a`/b", "delta.`/a`/b"),
        (PurePosixPath("a"), "./a"),
        (PurePosixPath("/a"), "/a"),
    ],
)
def test_text_with_a_slash_is_a_path(where: Any, path: str) -> None:
    session = Session()

    survey(session, where)

    assert session.asked == [[path]]


@pytest.mark.parametrize("where", ["a", "a.b", "`a/b`", "c.`a``/b`"])
def test_text_with_a_slash_in_backticks_is_a_name(where: str) -> None:
    session = Session(**{where: [listed("t")]})

    survey(session, where)

    assert session.asked == [["t"]]


@pytest.mark.parametrize("where", [5, b"a"])
def test_place_is_refused_when_neither_text_nor_path(where: Any) -> None:
    with pytest.raises(TypeError):
        survey(Session(), where)


@pytest.mark.parametrize("missing", ["TABLE_OR_VIEW_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE"])
def test_name_of_neither_schema_nor_table_is_refused_as_a_schema(missing: str) -> None:
    class Refusing(Session):
        def sql(self, text: str) -> Session:
            is_schema = "column_mapping_tables" in text
            raise AnalysisException("no", "SCHEMA_NOT_FOUND" if is_schema else missing, {})

    with pytest.raises(AnalysisException) as refused:
        survey(Refusing(), "lost")

    assert refused.value.getCondition() == "SCHEMA_NOT_FOUND"


def test_progress_is_reported_after_each_hundred_tables() -> None:
    session = Session(current=[listed(f"t{number}") for number in range(230)])
    reports: list[LakehouseProgress] = []

    survey(session, progress=reports.append)

    assert [len(names) for names in session.asked] == [100, 100, 30]
    assert [(known.tables_done, known.tables) for known in reports] == [
        (0, 230),
        (100, 230),
        (200, 230),
        (230, 230),
    ]
    assert all(known.seconds >= 0 for known in reports)


def test_callback_that_raises_ends_the_survey_and_unsets_the_setting() -> None:
    session = Session(current=[listed("t")])

    def fail(progress: LakehouseProgress) -> None:
        raise KeyError(progress.tables)

    with pytest.raises(KeyError):
        survey(session, progress=fail)

    assert session.settings == {}


def test_older_jar_is_refused() -> None:
    class Older(Session):
        def collect(self) -> list[Row]:
            columns = [row.asDict() for row in self.rows]
            return [Row(**{key: row[key] for key in row if key != "mode"}) for row in columns]

    with pytest.raises(MalformedMessageError, match="mode"):
        survey(Older(current=[listed("t")]))


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


def test_notebook_has_the_first_hundred_tables_and_text_all_if_wanted() -> None:
    tables = [replace(ODD, table=f"db.t{number}.", blocked_by=()) for number in range(150)]

    found = of(*tables)

    assert "db.t99." in found._repr_html_()
    assert "db.t100." not in found._repr_html_()
    assert "(50 more tables)" in found._repr_html_()
    assert all(known.table in found.text(all_tables=True) for known in tables)
    assert not any(known.table in repr(found) for known in tables)


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
