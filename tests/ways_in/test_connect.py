# SPDX-License-Identifier: Apache-2.0
"""Tests a Spark Connect server without Delta's Connect plugin, and its clients.

The commands and the program are those of docs/install.md.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import LakehouseInterrupted, LakehouseProgress, Progress, UsageTracking
from spark_ext.errors import SessionNotAttachableError
from spark_ext.tables import progress
from tests.support.delta_table import NAME_MODE, Table, refusal
from tests.support.environments import environment_for, run
from tests.support.install_page import blocks
from tests.support.releases import STATIC_SETTING
from tests.support.sessions import small_session
from tests.support.table_log import FLAG, TableLog
from tests.support.waiting import wait_until
from tests.ways_in.connect_server import connect_server, connected, user_environment

CHECKOUT = Path(__file__).parents[2]
WHEELS = Path(sys.prefix) / "wheels"
Connect = Callable[..., SparkSession]
SECTION = "Spark Connect"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yields the address of a server whose first session has ended."""
    home = tmp_path_factory.mktemp("server")
    often = {"spark.connect.progress.reportInterval": "20ms"}
    with connect_server(blocks(SECTION, "bash")[0], home, user_environment(), **often) as address:
        first = connected(address)
        Table(first, home / "t").create_tracked().alter("ADD COLUMN c INT")
        first.stop()
        yield address


@pytest.fixture(scope="module")
def sessions(server: str) -> Iterator[list[SparkSession]]:
    """Yields sessions that stop together: in PySpark 4.0, one `stop` ends the threads of all."""
    opened: list[SparkSession] = []
    yield opened
    for session in opened:
        session.stop()


@pytest.fixture
def connect(server: str, sessions: list[SparkSession]) -> Connect:
    """Returns a function that opens sessions."""

    def new(**options: str) -> SparkSession:
        sessions.append(connected(server, options))
        return sessions[-1]

    return new


@pytest.fixture
def spark(connect: Connect) -> SparkSession:
    return connect()


def put(spark: SparkSession, path: Path) -> Table:
    """Writes an unmapped table without SQL text."""
    spark.createDataFrame([(1,)], "a INT").write.format("delta").save(str(path))
    return Table(spark, path)


# Refusals.


@pytest.mark.parametrize(
    ("statement", "condition", "sql_state", "parameters"),
    [
        (
            f"ALTER TABLE {{t}} SET TBLPROPERTIES ('{FLAG}' = 'false')",
            "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
            "42939",
            {"prop": FLAG},
        ),
        (
            "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'None')",
            "USAGE_TRACKING_INCOMPLETE_REMOVAL",
            "22023",
            {"property": "delta.columnMapping.mode", "value": "none"},
        ),
        (
            "SELECT * FROM column_mapping('no name')",
            "USAGE_TRACKING_INVALID_TABLE_NAME",
            "42602",
            {"name": "no name"},
        ),
    ],
)
def test_refusal_is_the_same_as_in_a_classic_session(
    spark: SparkSession,
    tmp_path: Path,
    statement: str,
    condition: str,
    sql_state: str,
    parameters: dict[str, str],
) -> None:
    table = Table(spark, tmp_path / "t").create_tracked()
    table.alter("RENAME COLUMN a TO c")

    with table.refusal(condition) as refused:
        spark.sql(statement.format(t=table.name))

    assert isinstance(refused.value, AnalysisException)
    assert refused.value.getSqlState() == sql_state
    assert refused.value.getMessageParameters() == parameters


def test_session_without_the_functions_raises_a_helpful_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server does not know the functions that this session calls."""
    sql = spark.sql
    monkeypatch.setattr(spark, "sql", lambda text: sql(text.replace("(", "_none(", 1)))

    for call in (UsageTracking.forPath, spark_ext.audit):
        with pytest.raises(spark_ext.SparkExtError) as refused:
            call(spark, tmp_path)

        assert refused.value.condition == "USAGE_TRACKING_NOT_IN_SESSION"
        assert isinstance(refused.value.__cause__, AnalysisException)


def test_session_of_a_server_is_not_attached(connect: Connect) -> None:
    with pytest.raises(SessionNotAttachableError) as refused:
        spark_ext.attach(connect())

    assert refused.value.condition == "USAGE_TRACKING_SESSION_NOT_ATTACHABLE"


@pytest.mark.parametrize("setting", ["worker.python", "worker.timeout"])
def test_session_does_not_change_settings_of_the_rule_process(
    spark: SparkSession, setting: str
) -> None:
    name = f"spark.sparkext.{setting}"

    for change in (lambda: spark.conf.set(name, "1s"), lambda: spark.sql(f"SET {name}=1s")):
        with refusal(STATIC_SETTING) as refused:
            change()
        assert refused.value.getMessageParameters()["key"] == f'"{name}"'


def test_client_does_not_choose_the_interpreter(connect: Connect, tmp_path: Path) -> None:
    """Spark drops options that a session may not set, with a warning."""
    ran = tmp_path / "ran"
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    program.chmod(0o755)
    names = ["sparkext.worker.python", "pyspark.driver.python", "pyspark.python"]
    with pytest.warns(UserWarning, match="Failed to set spark") as warned:
        spark = connect(**{f"spark.{name}": str(program) for name in names})

    table = Table(spark, tmp_path / "t").create_tracked()
    table.alter("ADD COLUMN c INT")

    assert len(warned) == len(names)
    assert not ran.exists()
    assert table.log.physical_names == {"a": "a", "b": "b", "c": "c"}


# Successful calls.


def test_python_functions_return_the_facts_of_a_table(spark: SparkSession, tmp_path: Path) -> None:
    untracked = Table(spark, tmp_path / "t").create("a INT, b STRING", NAME_MODE)
    assert untracked.usage.has_dropped_or_renamed is None
    table = Table(spark, tmp_path / "tracked").create_tracked()
    table.insert("(1, 'x')")
    assert table.usage.has_dropped_or_renamed is False

    table.alter("RENAME COLUMN a TO d")
    table.alter("ADD COLUMN a INT")

    assert table.usage.has_dropped_or_renamed is True
    assert table.selected() == [(1, "x", None)]
    found = [(c.path, c.physicalName, c.id) for c in table.usage.columns().collect()]
    assert found == [(path, f.physical_name, f.id) for path, f in table.log.fields.items()]
    status = table.usage.status()
    assert status.true_since is not None
    assert (status.true_since.version, status.true_since.operation) == (2, "RENAME COLUMN")
    last = table.usage.history().collect()[-2:]
    assert [(row.version, row.change, row.newName) for row in last] == [
        (2, "rename", "d"),
        (3, "add", "a"),
    ]
    (finding,) = spark_ext.audit(spark, table.path, progress=None).findings
    assert finding.check == "misleading_name"


def test_names_are_aligned(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path / "t").create("a INT, b STRING", NAME_MODE)
    table.insert("(1, 'x')")

    assert table.usage.align_names(progress=None).aligned

    assert table.log.flag == "false"
    assert table.selected() == [(1, "x")]


def test_dropped_columns_of_many_tables_are_reported(spark: SparkSession, tmp_path: Path) -> None:
    had, never = (Table(spark, tmp_path / name).create_tracked() for name in ("had", "never"))
    had.insert("(1, 'x')")
    had.alter("DROP COLUMN b")

    found = spark_ext.dropped_columns(
        spark, had.path, never.path, tmp_path / "nothing", column="b", progress=None
    )

    first, second, third = found.tables
    assert first.places[0].step == "PURGE"
    assert (first.verdict, second.verdict) == ("STILL_PRESENT", "LIVE")
    assert (third.verdict, third.error) == ("UNREADABLE", "DELTA_MISSING_DELTA_TABLE")
    certificate = json.loads(found.json())
    assert [table["verdict"] for table in certificate["tables"]][:1] == ["STILL_PRESENT"]


def test_path_may_have_any_characters(spark: SparkSession, tmp_path: Path) -> None:
    table = put(
        spark, tmp_path / '${spark.app.name} it\'s "so" a\\b\\n `tick` é ü; DROP TABLE t --'
    )
    quoted = str(table.path).replace("`", "``")

    UsageTracking.forName(spark, f"delta.`{quoted}`").enable()
    assert table.log.is_tracked
    tracking = UsageTracking.forPath(spark, table.path)
    assert [column.name for column in tracking.columns().collect()] == ["a"]
    tracking.disable()

    assert not table.log.is_tracked


def test_removal_reports_the_tasks_of_the_server(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path / "t").create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    calls: list[Progress] = []

    stages = UsageTracking.forPath(spark, table.path).remove_column_mapping(progress=calls.append)

    assert stages[0].reached
    assert (calls[0].tasks, calls[0].finished) == (0, False)
    assert 0 < calls[-1].tasks_done <= calls[-1].tasks
    assert [each.finished for each in calls].count(True) == 1
    assert table.log.configuration["delta.columnMapping.mode"] == "none"
    assert table.log.parquet_columns() == ["b", "c"]
    assert table.selected() == [(1, "x")]


def test_removal_can_be_cancelled(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "INTERVAL_SECONDS", 0.001)
    table = Table(spark, tmp_path / "t").create_tracked("a BIGINT, b STRING")
    # Many files, so that the removal has not ended when the server gets the interrupt.
    files = 30
    rows = f"SELECT /*+ REPARTITION({files}) */ id, 'x' FROM range({files})"
    spark.sql(f"INSERT INTO {table.name} {rows}")
    table.alter("RENAME COLUMN a TO c")
    spark.addTag("mine")

    def cancel(report: Progress) -> None:
        if not report.finished:
            spark.interruptTag("mine")

    # PySpark 4.0 sometimes has the condition in the text only.
    cancelled = pytest.raises(PySparkException, match=r"\[OPERATION_CANCELED\]")
    with table.no_commit(), cancelled:
        UsageTracking.forPath(spark, table.path).remove_column_mapping(progress=cancel)

    spark.removeTag("mine")
    stages = UsageTracking.forPath(spark, table.path).remove_column_mapping(progress=None)
    assert stages[0].reached
    assert sorted(table.selected()) == [(number, "x") for number in range(files)]


@pytest.mark.matrix
def test_drop_feature_before_the_retention_period_raises_deltas_condition(
    spark: SparkSession, tmp_path: Path
) -> None:
    """`remove_column_mapping` recognizes the retention period by the condition."""
    table = Table(spark, tmp_path / "t").create_tracked("a INT")

    with refusal("DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD"):
        table.alter("DROP FEATURE columnMapping TRUNCATE HISTORY")


# Several clients.


def test_each_session_has_its_own_settings(connect: Connect, tmp_path: Path) -> None:
    tracked, plain = connect(), connect()
    tracked.conf.set("spark.sparkext.usageTracking.enabledByDefault", "true")

    ours = Table(tracked, tmp_path / "ours").create("a INT", NAME_MODE)
    theirs = Table(plain, tmp_path / "theirs").create("a INT", NAME_MODE)

    assert (ours.log.is_tracked, theirs.log.is_tracked) == (True, False)


def test_each_session_has_its_own_schema(connect: Connect, tmp_path: Path) -> None:
    sessions = {"one": connect(), "two": connect()}
    for schema, session in sessions.items():
        session.sql(f"CREATE SCHEMA {schema}")
        session.sql(f"USE {schema}")
        session.sql(f"CREATE TABLE t ({schema} INT) USING delta LOCATION '{tmp_path / schema}'")

    UsageTracking.forName(sessions["two"], "t").enable()

    assert TableLog(tmp_path / "two").is_tracked
    assert not TableLog(tmp_path / "one").is_tracked
    for schema, session in sessions.items():
        (column,) = UsageTracking.forName(session, "t").columns().collect()
        assert column.name == schema
        session.sql(f"DROP SCHEMA {schema} CASCADE")


def test_sessions_continue_when_one_ends(connect: Connect, tmp_path: Path) -> None:
    tables = [Table(connect(), tmp_path / name).create_tracked() for name in ("a", "b")]
    ended, other = tables

    ended.alter("ADD COLUMN c INT")
    ended.spark.stop()
    other.alter("RENAME COLUMN a TO c")

    assert other.log.flag == "true"
    table = Table(connect(), ended.path)
    table.alter("DROP COLUMN c")
    assert table.log.flag == "true"


# Other ways in.

TELL = """
import importlib.util, json
import spark_ext
absent = [name for name in ("py4j", "delta", "pyspark.core") if not importlib.util.find_spec(name)]
columns = [(column.name, column.physicalName) for column in trips.columns().collect()]
print(json.dumps([spark_ext.__file__, absent, columns, trips.has_dropped_or_renamed]))
"""


@pytest.mark.matrix
def test_commands_of_the_page_make_a_client(server: str, tmp_path: Path) -> None:
    """The environment contains Spark's client only, and pip takes packages from a folder."""
    run(
        *(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps"),
        *("-w", tmp_path, CHECKOUT),
        cwd=tmp_path,
    )
    (client_wheel,) = WHEELS.glob("pyspark_client-*.whl")
    client = environment_for(client_wheel, tmp_path / "venv")
    programs = client.shell_programs()
    fetched = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(WHEELS)}
    # This needs a file, because pyspark-client takes `python -c` for a run of its doctests.
    application = tmp_path / "app.py"
    application.write_text(blocks(SECTION, "python")[0] + TELL)

    run("bash", "-ec", blocks(SECTION, "bash")[1], cwd=tmp_path, PATH=programs, **fetched)
    output = run("python", application, cwd=tmp_path, PATH=programs, SPARK_REMOTE=server)

    printed: Any = json.loads(output.splitlines()[-1])
    assert printed == [
        str(client.site_packages / "spark_ext" / "__init__.py"),
        ["py4j", "delta", "pyspark.core"],
        [["id", None]],
        False,
    ]


LOCAL = """
import json, sys
from pyspark.sql import SparkSession
import spark_ext

builder = SparkSession.builder.config(map=json.loads(sys.argv[2])).remote("local[2]")
for _ in range(2):
    spark = spark_ext.configure(builder).getOrCreate()
table = f"delta.`{sys.argv[1]}`"
properties = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
spark.sql(f"CREATE TABLE {table} (a INT) USING delta {properties}")
tracking = spark_ext.UsageTracking.forPath(spark, sys.argv[1])
tracking.enable()
spark.sql(f"ALTER TABLE {table} RENAME COLUMN a TO b")
print(json.dumps([type(spark).__module__, tracking.has_dropped_or_renamed]))
spark.stop()
"""


@pytest.mark.matrix
def test_server_that_pyspark_starts_for_itself_is_configured(tmp_path: Path) -> None:
    """Sessions of this server have separate class loaders (`spark.sql.artifact.isolation`)."""
    settings = small_session(SparkSession.Builder(), tmp_path / "warehouse")._options
    del settings["spark.master"]

    # With this variable, PySpark takes a free port.
    output = run(
        *(sys.executable, "-c", LOCAL, tmp_path / "t", json.dumps(settings)),
        cwd=tmp_path,
        SPARK_TESTING="1",
    )

    printed = json.loads(output.splitlines()[-1])
    assert printed == ["pyspark.sql.connect.session", True]
    assert TableLog(tmp_path / "t").flag == "true"


# Many tables in one call.


def test_call_over_many_tables_runs_on_the_server(spark: SparkSession, tmp_path: Path) -> None:
    tables = [put(spark, tmp_path / name) for name in ("a", "b ${x}")]
    copied = Table(spark, tmp_path / "copied").create("a INT", NAME_MODE)
    copied.insert("(1)")
    paths = [table.path for table in (*tables, copied)]
    spark.addTag("mine")

    tracked = spark_ext.track(spark, *paths[:2], progress=None)
    removed = spark_ext.remove_column_mapping(spark, *paths, progress=None)
    rows = removed.to_df(spark).collect()

    assert spark.getTags() == {"mine"}
    spark.removeTag("mine")
    assert [each.outcome for each in tracked.tables] == ["DONE", "DONE"]
    assert all(table.log.is_tracked for table in tables)
    assert [row.outcome for row in rows] == ["ALREADY_DONE", "ALREADY_DONE", "DONE"]
    assert copied.log.configuration["delta.columnMapping.mode"] == "none"
    assert rows[2].copied.numFiles == 1
    assert copied.selected() == [(1,)]


def test_signal_ends_a_call_over_many_tables_in_order(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The call reports progress and checks for signals all the time.
    for name in ("progress.INTERVAL_SECONDS", "progress._AFTER_TABLES_SECONDS"):
        monkeypatch.setattr(f"spark_ext.tables.{name}", 0.0)
    monkeypatch.setattr("spark_ext.tables.run._SECONDS", 0.001)
    tables = [Table(spark, tmp_path / name).create("a INT", NAME_MODE) for name in "abc"]
    for table in tables:
        table.insert("(1)")
    paths = [*(table.path for table in tables), tmp_path / "none"]
    files = [set(table.path.rglob("*.parquet")) for table in tables]
    options: Any = {"parallel": 1}

    interrupts: list[LakehouseProgress] = []

    def interrupt(report: LakehouseProgress) -> None:
        # A second signal would end the wait for the cancelled table.
        if report.running and not interrupts:
            interrupts.append(report)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(LakehouseInterrupted) as raised:
        spark_ext.remove_column_mapping(spark, *paths, progress=interrupt, **options)

    report = raised.value.report
    report.write(tmp_path / "out.json")
    written = json.loads((tmp_path / "out.json").read_text())
    first, *others = written["tables"]
    assert written["interrupted"] == "SIGINT"
    assert [each["outcome"] for each in others] == ["NOT_BEGUN", "NOT_BEGUN", "UNREADABLE"]
    assert [each["reasons"] for each in others[:2]] == [["INTERRUPTED"]] * 2
    # The server may have committed before the cancellation.
    committed = tables[0].log.operation == "REMOVE COLUMN MAPPING"
    assert first["outcome"] == ("DONE" if committed else "CANCELLED"), first["message"]
    for table, before in zip(tables[committed:], files[committed:], strict=True):
        assert table.log.operation == "WRITE"
        wait_until(
            lambda: set(table.path.rglob("*.parquet")) == before,  # noqa: B023
            "the end of the server's copies",
        )
    again = spark_ext.remove_column_mapping(spark, *paths[:3], progress=None)
    assert again.complete
    assert [table.selected() for table in tables] == [[(1,)]] * 3
