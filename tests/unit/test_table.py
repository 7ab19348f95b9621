# SPDX-License-Identifier: Apache-2.0
"""Tests that `UsageTracking` reads the rows of the table functions and runs SQL."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import pytest
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import Row

import spark_ext
from spark_ext import (
    ColumnChange,
    ColumnMappingStatus,
    FlagChange,
    UsageTracking,
)
from spark_ext.errors import (
    DifferentVersionsError,
    MalformedMessageError,
    SessionWithoutExtensionError,
)
from spark_ext.model.rows import as_row
from spark_ext.removal.reasons import Reason
from spark_ext.removal.stages import STAGES, SurveyedTable
from spark_ext.tables.sql import Statements
from tests.unit.connect import ConnectSession

TABLE = {
    "name": "t",
    "sqlName": "t",
    "tracked": True,
    "hasDroppedOrRenamed": "false",
    "jarVersion": spark_ext.__version__,
    "version": 3,
}


class Answer:
    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def collect(self) -> list[Row]:
        return self._rows


class Conf(dict[str, str]):
    set = dict.__setitem__
    unset = dict.__delitem__


class Session(ConnectSession):
    """Answers every query with the rows of its function."""

    def __init__(self, **answers: list[Row]) -> None:
        self.conf = Conf()
        self.statements: list[str] = []
        self._answers = {"column_mapping_named_table": [Row(**TABLE)], **answers}

    def sql(self, text: str) -> Answer:
        self.statements.append(text)
        if not text.startswith("SELECT"):
            return Answer([])
        function = text.removeprefix("SELECT * FROM ").split("(")[0]
        return Answer(self._answers[function])


def stage_row(name: str, **changes: Any) -> Row:
    reason = Row(reason="R", name=None, detail="d")
    columns = {
        "stage": name,
        "meaning": "m",
        "reached": False,
        "cost": "BLOCKED",
        "reasons": [reason],
        "numFiles": 1,
        "sizeInBytes": 2,
        "exact": True,
        "kept": Row(numFiles=3, sizeInBytes=4),
        "copied": None,
        "rewritten": None,
        "statements": ["S"],
    }
    return Row(**(columns | changes))


def tracking(session: Any) -> UsageTracking:
    return UsageTracking.forName(session, "t")


class TestVersion:
    @pytest.mark.parametrize("jar", ["0.0.9", "99.0.0", None])
    def test_jar_of_another_version_is_refused(self, jar: str | None) -> None:
        columns = {key: value for key, value in TABLE.items() if key != "jarVersion"}
        row = Row(**columns, jarVersion=jar) if jar else Row(**columns)

        with pytest.raises(DifferentVersionsError) as refused:
            tracking(Session(column_mapping_named_table=[row]))

        jar = jar or "(unknown version)"
        assert refused.value.params == {"package": spark_ext.__version__, "jar": jar}

    def test_version_is_read_without_a_further_statement(self) -> None:
        session = Session()
        tracking(session)

        assert len(session.statements) == 1


class TestStages:
    def test_columns_are_found_by_name_and_unknown_columns_are_ignored(self) -> None:
        reason = Row(severity=3, reason="R", name=None, detail="d", link="l")
        whole = [stage_row(name, reasons=[reason], since="v").asDict() for name in STAGES]
        rows = [Row(**dict(reversed(columns.items()))) for columns in whole]

        stages = tracking(Session(column_mapping_removal=rows)).remove_column_mapping(dry_run=True)

        assert [stage.stage for stage in stages] == list(STAGES)
        assert {stage.reasons for stage in stages} == {(Reason("R", None, "d"),)}
        assert {(stage.num_files, stage.size_in_bytes, stage.statements) for stage in stages} == {
            (1, 2, ("S",))
        }

    def test_stages_are_refused_when_one_is_missing(self) -> None:
        rows = [stage_row(name) for name in STAGES[1:]]

        with pytest.raises(MalformedMessageError, match="and not"):
            tracking(Session(column_mapping_removal=rows)).remove_column_mapping(dry_run=True)


class TestStatus:
    CHANGE: ClassVar[dict[str, Any]] = {
        "version": 3,
        "timestamp": datetime(2026, 1, 2),
        "operation": "RENAME COLUMN",
        "userName": None,
    }
    ROW: ClassVar[dict[str, Any]] = {
        "mode": "name",
        "tracked": True,
        "hasDroppedOrRenamed": True,
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping"],
        "writerFeatures": None,
        "trueSince": Row(**CHANGE),
        "droppedOrRenamed": [Row(**CHANGE, change="rename", id=2, oldName="a", newName="b")],
        "historyFrom": 0,
    }

    def test_columns_are_found_by_name(self) -> None:
        row = Row(later="x", **dict(reversed(self.ROW.items())))

        status = tracking(Session(column_mapping_status=[row])).status()

        when = datetime(2026, 1, 2)
        assert status == ColumnMappingStatus(
            table="t",
            mode="name",
            tracked=True,
            has_dropped_or_renamed=True,
            true_since=FlagChange(3, when, "RENAME COLUMN", None),
            min_reader_version=3,
            min_writer_version=7,
            reader_features=("columnMapping",),
            writer_features=(),
            dropped_or_renamed=(
                ColumnChange(3, when, "RENAME COLUMN", None, "rename", 2, "a", "b"),
            ),
            history_from=0,
        )

    def test_true_since_is_none_when_the_flag_is_false(self) -> None:
        row = Row(**(self.ROW | {"hasDroppedOrRenamed": False, "trueSince": None}))

        assert tracking(Session(column_mapping_status=[row])).status().true_since is None

    @pytest.mark.parametrize("missing", sorted(ROW))
    def test_row_is_refused_when_an_older_jar_lacks_a_column(self, missing: str) -> None:
        row = Row(**{key: value for key, value in self.ROW.items() if key != missing})

        with pytest.raises(MalformedMessageError, match=f"no column {missing}"):
            tracking(Session(column_mapping_status=[row])).status()

    def test_repr_runs_no_query(self) -> None:
        session = Session(column_mapping_status=[Row(**self.ROW)])
        usage = tracking(session)

        assert repr(usage) == "UsageTracking('t')"
        assert len(session.statements) == 1
        assert usage._repr_html_() == usage.status()._repr_html_()


COSTS: dict[str, Any] = dict.fromkeys(STAGES, "METADATA")
SURVEYED = SurveyedTable("t", "name", True, False, **COSTS, version=3)


class Thrown:
    """Imitates an exception of the JVM without a condition, which PySpark passes on."""

    _target_id = "o1"

    def getCondition(self) -> str:
        raise Py4JError("Method getCondition([]) does not exist")


class TestFailingStatement:
    class Session(Session):
        def __init__(self, condition: str | None) -> None:
            super().__init__(
                column_mapping_removal=[stage_row(name, cost="METADATA") for name in STAGES],
                column_mapping_survey=[Row(**as_row(SURVEYED))],
                column_mapping_commits=[],
            )
            self.failure: Exception = Py4JJavaError("failed", Thrown())
            if condition is not None:
                self.failure = AnalysisException("failed", condition, {})

        def sql(self, text: str) -> Answer:
            answered = super().sql(text)
            if text.startswith("ALTER"):
                raise self.failure
            return answered

    @pytest.mark.parametrize("condition", [None, "OTHER"])
    def test_error_is_raised_unchanged(self, condition: str | None) -> None:
        session = self.Session(condition)

        with pytest.raises((Py4JJavaError, AnalysisException)) as refused:
            tracking(session).remove_column_mapping(until="readers", progress=None)

        assert refused.value is session.failure

    def test_statement_of_a_removal_may_wait_for_the_retention_period(self) -> None:
        session = self.Session("DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD")

        stages = tracking(session).remove_column_mapping(until="readers", progress=None)

        assert not stages[0].reached
        with pytest.raises(AnalysisException) as refused:  # of an alignment
            Statements(session, "t", None).run("ALTER")  # type: ignore[arg-type]
        assert refused.value is session.failure


class TestName:
    @pytest.mark.parametrize("name", ["t", "it's \\ ${x} `;-- ", "é\n"])
    def test_name_is_encoded_in_queries(self, name: str) -> None:
        session = Session()

        UsageTracking.forName(session, name)  # type: ignore[arg-type]
        UsageTracking.forPath(session, name)  # type: ignore[arg-type]

        text = f"CAST(X'{name.encode().hex()}' AS STRING)"
        assert session.statements == [
            f"SELECT * FROM column_mapping_named_table({text})",
            f"SELECT * FROM column_mapping_named_table({text}, true)",
        ]

    def test_statements_have_the_sql_name(self) -> None:
        session = Session(column_mapping_named_table=[Row(**(TABLE | {"sqlName": "`as` . `sql`"}))])

        tracking(session).disable()

        assert session.statements[-1].startswith("ALTER TABLE `as` . `sql` DROP FEATURE ")


class Refusing:
    """Refuses every query."""

    def __init__(self, condition: str) -> None:
        self.refusal = AnalysisException("refused", errorClass=condition, messageParameters={})

    def sql(self, _: str) -> Answer:
        raise self.refusal


class TestSessionWithoutExtension:
    def test_missing_extension_is_reported_and_other_refusals_are_raised_unchanged(self) -> None:
        session: Any = Refusing("UNRESOLVABLE_TABLE_VALUED_FUNCTION")
        for ask in (UsageTracking.forName, UsageTracking.forPath):
            with pytest.raises(SessionWithoutExtensionError) as refused:
                ask(session, "t")
            assert refused.value.params == {"function": "column_mapping_named_table"}
            assert refused.value.__cause__ is session.refusal

        other = Refusing("TABLE_OR_VIEW_NOT_FOUND")
        with pytest.raises(AnalysisException) as unchanged:
            tracking(other)
        assert unchanged.value is other.refusal
