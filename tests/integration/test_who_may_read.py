# SPDX-License-Identifier: Apache-2.0
"""Tests that table functions show nothing of a table that the user may not read.

A check rule, a resolution rule, a rule of the optimizer or a catalog refuses the user. The tests
add all four.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import UsageTracking
from spark_ext.process import table_functions
from tests.integration.session_log import session_log
from tests.support.custom_sessions import resolved_jars
from tests.support.delta_table import Table, refusal
from tests.support.denying import CATALOG, CONDITION, DENIED, EXTENSION, HIDDEN, USER, denying_jar
from tests.support.java_sources import with_jar
from tests.support.releases import VIEWS_TAKE_OUR_FUNCTIONS

SCHEMA = "guarded"
Login = Callable[..., SparkSession]

# The functions of one table, whose name is the first argument.
FUNCTIONS = sorted(
    {
        *table_functions.FUNCTIONS,
        *("column_mapping_commits", "column_mapping_copies", "column_mapping_named_table"),
    }
    - {"column_mapping_survey"}
)
# {f} is a call of a function.
STATEMENTS = [
    "SELECT * FROM {f}",
    "SELECT count(*) FROM {f}",
    "SELECT 1 FROM {f} LIMIT 1",
    "EXPLAIN SELECT * FROM {f}",
    "EXPLAIN EXTENDED SELECT * FROM {f}",
    "WITH q AS (SELECT * FROM {f}) SELECT * FROM q a, q b",
    "SELECT (SELECT count(*) FROM {f})",
    "SELECT 1 WHERE EXISTS (SELECT * FROM {f})",
    "SELECT 1 AS a WHERE 1 IN (SELECT id FROM {f})",
    "SELECT * FROM (VALUES (1)) t, LATERAL (SELECT * FROM {f})",
    "SELECT * FROM {f} a JOIN {f} b ON a.path = b.path",
    "SELECT * FROM {f} UNION ALL SELECT * FROM {f}",
    "CREATE TABLE guarded.copied USING delta AS SELECT * FROM {f}",
    "CACHE TABLE kept AS SELECT * FROM {f}",
]
# The part of Spark in which eve is refused.
STAGES = ["check", "optimizer", "catalog"]


@pytest.fixture(scope="module")
def warehouse(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Creates the tables `secret` and `open`, and rules that deny `secret` to eve."""
    home = tmp_path_factory.mktemp("guarded")
    jar = denying_jar(home, resolved_jars(spark))
    extension = with_jar(spark, jar).loadClass(EXTENSION).newInstance()
    # Later sessions have the extension. It denies nothing to users other than eve.
    extension.apply(spark._jsparkSession.extensions())
    spark.sql(f"CREATE SCHEMA {SCHEMA} LOCATION '{home / 'tables'}'")
    for name in ("secret", "open"):
        table = Table(spark, home / "tables" / name, f"{SCHEMA}.{name}")
        table.create_tracked(f"id INT, {HIDDEN} INT")
        table.insert("(1, 2)")
    yield home / "tables"
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.fixture
def login(spark: SparkSession, warehouse: Path) -> Login:
    """Opens a new session for a user."""

    def open_session(user: str, denied: str = "check") -> SparkSession:
        session = spark.newSession()
        if denied == "catalog":
            session.conf.set("spark.sql.catalog.spark_catalog", CATALOG)
        session.conf.set(USER, user)
        session.conf.set(DENIED, denied)
        return session

    return open_session


# Only the matrix runs the rule of the optimizer, which sees less than a check rule.
@pytest.fixture(
    params=[
        pytest.param(stage, marks=pytest.mark.matrix if stage == "optimizer" else ())
        for stage in STAGES
    ]
)
def eve(request: pytest.FixtureRequest, login: Login) -> SparkSession:
    return login("eve", request.param)


def by_name(table: str = "secret") -> str:
    return f"{SCHEMA}.{table}"


def by_path(warehouse: Path, table: str = "secret") -> str:
    return f"delta.`{warehouse / table}`"


def jobs_of(spark: SparkSession, action: Callable[[], object]) -> int:
    context = spark.sparkContext
    context.setJobGroup("denied", "of a test")
    before = len(context.statusTracker().getJobIdsForGroup("denied"))
    try:
        action()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    return len(context.statusTracker().getJobIdsForGroup("denied")) - before


def analyzed(frame: Any) -> str:
    """Returns the relations of the analyzed plan, as a listener sees them."""
    return str(frame._jdf.queryExecution().analyzed().collectLeaves().toString())


def optimized(frame: Any) -> str:
    return str(frame._jdf.queryExecution().optimizedPlan().toString())


# Refusals.


@pytest.mark.every_variant
def test_every_function_is_refused_by_name_and_by_path(eve: SparkSession, warehouse: Path) -> None:
    for function in FUNCTIONS:
        for name in (by_name(), f"spark_catalog.{by_name()}", by_path(warehouse)):
            with refusal(CONDITION) as refused:
                eve.sql(f'SELECT * FROM {function}("{name}")').collect()
            assert HIDDEN not in str(refused.value)
        for name in (by_name("open"), by_path(warehouse, "open")):
            eve.sql(f'SELECT * FROM {function}("{name}")').collect()


def test_audit_is_refused_by_a_rule_that_refuses_known_columns(
    login: Login, warehouse: Path
) -> None:
    """A relation without columns passes the rule, so the relation of an audit has the columns."""
    eve = login("eve", "resolution")

    for name in (by_name(), by_path(warehouse)):
        with refusal(CONDITION):
            eve.sql(f'SELECT * FROM column_mapping_audit("{name}")').collect()
    assert not eve.sql(f"SELECT * FROM column_mapping_audit('{by_name('open')}')").collect()


@pytest.mark.parametrize("function", ["column_mapping_audit", "column_mapping_dropped"])
def test_check_rule_refuses_before_anything_is_read(
    login: Login, warehouse: Path, function: str
) -> None:
    eve = login("eve")

    def ask() -> None:
        for name in (by_name(), by_path(warehouse)):
            with refusal(CONDITION):
                eve.sql(f'SELECT * FROM {function}("{name}")')

    assert jobs_of(eve, ask) == 0


@pytest.mark.every_variant
def test_every_statement_around_a_function_is_refused(eve: SparkSession, warehouse: Path) -> None:
    for name in (by_name(), by_path(warehouse)):
        for statement in STATEMENTS:
            text = statement.format(f=f'column_mapping("{name}")')
            if text.startswith("EXPLAIN"):
                # If a query is refused, Spark shows the error instead of the plan.
                shown = " ".join(row.plan for row in eve.sql(text).collect())
                assert CONDITION in shown
                assert HIDDEN not in shown
                continue
            for _ in range(2):
                with refusal(CONDITION) as refused:
                    eve.sql(text).collect()
                assert HIDDEN not in str(refused.value)
    assert not (warehouse / "copied").exists()


@pytest.mark.every_variant
def test_python_calls_are_refused(eve: SparkSession, warehouse: Path) -> None:
    calls: list[Callable[[], object]] = [
        lambda: UsageTracking.forName(eve, by_name()),
        lambda: UsageTracking.forPath(eve, warehouse / "secret"),
        lambda: spark_ext.audit(eve, by_name(), progress=None),
        lambda: spark_ext.audit(eve, warehouse / "secret", progress=None),
        lambda: UsageTracking(eve, by_name()).columns().collect(),
        lambda: UsageTracking(eve, by_name()).history().collect(),
        lambda: UsageTracking(eve, by_name()).status(),
        lambda: UsageTracking(eve, by_name()).dropped_columns(progress=None),
        lambda: UsageTracking(eve, by_name()).remove_column_mapping(dry_run=True),
    ]
    for call in calls:
        with refusal(CONDITION):
            call()


@pytest.mark.every_variant
@pytest.mark.broken_table("log_without_start")
def test_audit_of_a_broken_table_is_refused(
    spark: SparkSession, eve: SparkSession, warehouse: Path, tmp_path: Path
) -> None:
    """Delta cannot load the table, so its columns are unknown."""
    path = tmp_path / "secret"
    (path / "_delta_log").mkdir(parents=True)
    (path / "_delta_log" / f"{0:020}.json").write_text('{"commitInfo":{}}\n')

    with refusal(CONDITION):
        spark_ext.audit(eve, path, progress=None)
    with suppress(AnalysisException):
        spark_ext.audit(spark, path, progress=None)


@pytest.mark.parametrize("stage", ["check", "optimizer"])
def test_results_of_another_user_are_refused(login: Login, stage: str) -> None:
    """Eve gets no rows by the cached plan of the same call.

    The check rule also refuses another user's global view, which is not tried with the optimizer.
    """
    bob, eve = login("bob"), login("eve", stage)
    answer = bob.sql(f"SELECT * FROM column_mapping('{by_name()}')").cache()
    assert answer.count() == 2
    answer.createOrReplaceGlobalTempView("asked")
    try:
        with refusal(CONDITION):
            eve.sql(f"SELECT * FROM column_mapping('{by_name()}')").collect()
        if stage == "check":
            with refusal(CONDITION):
                eve.table("global_temp.asked").collect()
    finally:
        answer.unpersist()
        bob.catalog.dropGlobalTempView("asked")


@pytest.mark.skipif(not VIEWS_TAKE_OUR_FUNCTIONS, reason="Spark refuses such a view")
def test_view_of_a_function_is_refused(spark: SparkSession, eve: SparkSession) -> None:
    spark.sql(f"USE {SCHEMA}")
    spark.sql("CREATE VIEW v AS SELECT * FROM column_mapping('secret')")
    try:
        for statement in (f"SELECT * FROM {SCHEMA}.v", f"SELECT (SELECT count(*) FROM {SCHEMA}.v)"):
            with refusal(CONDITION):
                eve.sql(statement).collect()
            assert spark.sql(statement).collect()
    finally:
        spark.sql("USE default")
        spark.sql(f"DROP VIEW {SCHEMA}.v")


def test_only_info_lines_of_a_refused_call_may_show_a_column(eve: SparkSession) -> None:
    """Delta logs the snapshot at INFO, also if a SELECT is refused."""
    with session_log(eve, "org.apache.spark") as log, session_log(eve, "sparkext") as ours:
        for function in FUNCTIONS:
            with refusal(CONDITION):
                eve.sql(f"SELECT * FROM {function}('{by_name()}')").collect()

    assert not [line for line in log() if HIDDEN in line and not line.startswith("INFO")]
    assert ours() == []


# A survey.


def test_survey_has_only_an_error_for_a_table_that_the_user_may_not_read(
    eve: SparkSession, warehouse: Path
) -> None:
    names = f"array('{by_name()}', '{warehouse}/secret', '{by_name('open')}')"
    for argument, count in ((f"'{SCHEMA}'", 2), (names, 3)):
        rows = eve.sql(f"SELECT * FROM column_mapping_survey({argument})").collect()
        assert len(rows) == count
        for row in rows:
            denied = "secret" in row.table
            assert (row.error, row.numFiles) == ((CONDITION, None) if denied else (None, 1))
    found = spark_ext.survey(eve, SCHEMA, progress=None)
    assert {table.error for table in found.tables} == {CONDITION, None}


def test_plan_of_a_survey_contains_the_surveyed_tables(login: Login) -> None:
    bob, eve = login("bob"), login("eve")
    call = f"SELECT * FROM column_mapping_survey('{SCHEMA}')"

    assert f"spark_catalog.{SCHEMA}.open[" in analyzed(eve.sql(call))
    assert f"spark_catalog.{SCHEMA}.secret[" not in analyzed(eve.sql(call))
    assert f"spark_catalog.{SCHEMA}.secret[" in analyzed(bob.sql(call))


# Plans and rows.


@pytest.mark.parametrize("function", FUNCTIONS)
def test_analyzed_plan_has_the_relation_and_optimized_plan_has_the_rows(
    login: Login, function: str
) -> None:
    frame = login("bob").sql(f"SELECT * FROM {function}('{by_name()}')")

    assert f"Relation spark_catalog.{SCHEMA}.secret[id#" in analyzed(frame)
    assert optimized(frame).startswith("LocalRelation")
    assert "secret[" not in optimized(frame)


def test_answer_is_read_once_and_starts_no_job(login: Login, table: Table) -> None:
    """A column that was added after the first query is in no later query of the same frame."""
    bob = login("bob")
    table.create_tracked("id INT, b INT")
    frame = bob.sql(f'SELECT path, id FROM column_mapping("{table.name}") WHERE id > 1')

    def ask() -> None:
        assert frame.collect() == [("b", 2)]
        assert frame.select("path").collect() == [("b",)]

    assert jobs_of(bob, ask) == 0
    table.alter("ADD COLUMN c INT")
    assert jobs_of(bob, ask) == 0
    joined = frame.alias("a").join(frame.alias("b"), "path")
    assert joined.select("a.id", "b.id").collect() == [(2, 2)]


def test_function_has_no_hidden_columns_of_the_table(login: Login) -> None:
    with refusal("UNRESOLVED_COLUMN.WITH_SUGGESTION"):
        login("bob").sql(f"SELECT _metadata FROM column_mapping('{by_name()}')")


def test_rows_of_a_function_can_be_written_into_its_table(
    spark: SparkSession, warehouse: Path, table: Table
) -> None:
    table.create("path STRING, id BIGINT", "'delta.enableRowTracking' = 'true'")

    spark.sql(f'INSERT INTO {table.name} SELECT path, id FROM column_mapping("{table.name}")')
    spark.sql(f'INSERT OVERWRITE {table.name} SELECT path, id FROM column_mapping("{table.name}")')

    assert sorted(table.selected()) == [("id", None), ("path", None)]
