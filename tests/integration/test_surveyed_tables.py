# SPDX-License-Identifier: Apache-2.0
"""Tests surveys of schemas, catalogs and paths, with broken tables among them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import Survey
from spark_ext.__main__ import main
from tests.integration.lakehouse_tables import BROKEN, HEALTHY, VECTORS, tables_of_all_kinds
from tests.support.delta_table import Table, forget_logs, refusal, write_tracked
from tests.support.java_catalogs import add_catalog
from tests.support.odd_disk import OddDisk
from tests.support.pages import commands
from tests.support.releases import VIEWS_TAKE_OUR_FUNCTIONS

pytestmark = [
    pytest.mark.without("auto-compact", "deletion-vectors", "row-tracking"),
    # After the first test, the audit finds the broken tables of the schema.
    pytest.mark.broken_table("unreadable_schema", "log_without_start"),
]

SCHEMA = "surveyed"
ODD = ["a.b", "tick``", "a${x}", "b c", "1d", 'it\'s "x"', "-- c", "é 日本"]


@pytest.fixture(scope="module")
def warehouse(spark: SparkSession) -> dict[str, Table]:
    """Returns the tables of a schema with tables of all kinds."""
    spark.sql(f"CREATE SCHEMA {SCHEMA}_empty")
    return tables_of_all_kinds(spark, SCHEMA)


@pytest.fixture(autouse=True)
def after(spark: SparkSession) -> Iterator[None]:
    yield
    spark.sql("USE spark_catalog.default")


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of the catalog `lake`, which lists the tables there."""
    home = tmp_path_factory.mktemp("lake")
    add_catalog(spark, home, "lake", "PathCatalog", "ListingCatalog")
    (home / "tables").mkdir()
    return home / "tables"


def survey(spark: SparkSession, *where: str | Path) -> Survey:
    return spark_ext.survey(spark, *where, progress=None)


def by_name(spark: SparkSession, text: str) -> dict[str, Any]:
    return {row.table: row for row in spark.sql(text).collect()}


def full(name: str) -> str:
    return f"spark_catalog.{SCHEMA}.{name}"


def jobs(spark: SparkSession, action: Callable[[], object]) -> int:
    """Returns the number of jobs that an action runs, in any thread."""
    context = spark.sparkContext
    group = f"counted {time.monotonic()}"
    context.setJobGroup(group, "of a test")
    try:
        action()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    return len(context.statusTracker().getJobIdsForGroup(group))


# Refusals.


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ("no_such_schema", "SCHEMA_NOT_FOUND"),
        ("spark_catalog.no_such_schema", "SCHEMA_NOT_FOUND"),
        ("no_such_catalog.surveyed", "SCHEMA_NOT_FOUND"),
        ("lake.no_such_schema", "SCHEMA_NOT_FOUND"),
        ("a b", "USAGE_TRACKING_INVALID_SCHEMA_NAME"),
        ("", "USAGE_TRACKING_INVALID_SCHEMA_NAME"),
    ],
)
def test_survey_refuses_unknown_schemas(
    spark: SparkSession, lake: Path, where: str, condition: str
) -> None:
    with refusal(condition):
        survey(spark, where)
    with refusal(condition):
        spark.sql(f"SELECT * FROM column_mapping_survey('{where}')")


@pytest.mark.parametrize(
    ("arguments", "condition"),
    [
        ("'a', 'b'", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("1", "UNEXPECTED_INPUT_TYPE"),
        ("array(1)", "UNEXPECTED_INPUT_TYPE"),
        ("CAST(NULL AS STRING)", "INVALID_PARAMETER_VALUE.NULL"),
        ("array('a', NULL)", "INVALID_PARAMETER_VALUE.NULL"),
    ],
)
def test_survey_refuses_other_arguments(
    spark: SparkSession, arguments: str, condition: str
) -> None:
    with refusal(condition):
        spark.sql(f"SELECT * FROM column_mapping_survey({arguments})")


# A schema.


def test_survey_has_every_delta_table_of_a_schema(
    spark: SparkSession, warehouse: dict[str, Table]
) -> None:
    rows = by_name(spark, f"SELECT * FROM column_mapping_survey('{SCHEMA}')")

    assert set(rows) == {full(name) for name in (*HEALTHY, *BROKEN)}
    for name, (_, _, expected, _) in HEALTHY.items():
        row, live = rows[full(name)], warehouse[name].log.live_files
        assert (row.numFiles, row.sizeInBytes) == (len(live), sum(live.values()))
        values = (row.mode, row.hasDroppedOrRenamed, row.numColumns, row.numOtherNames)
        assert " ".join(map(str, (*values, row.unmapped, row.readers, row.writers))) == expected
        assert (row.error, row.message) == (None, None)
    for name, (_, error) in BROKEN.items():
        row = rows[full(name)]
        filled = {key for key, value in row.asDict().items() if value not in (None, [])}
        assert (filled, row.error) == ({"table", "error", "message"}, error)


def test_sums_count_tables_views_and_bytes(
    spark: SparkSession, warehouse: dict[str, Table]
) -> None:
    sums = survey(spark, SCHEMA).sums

    bytes_of = {name: sum(warehouse[name].log.live_files.values()) for name in HEALTHY}
    assert (sums.num_tables, sums.size_in_bytes) == (
        len(HEALTHY) + len(BROKEN),
        sum(bytes_of.values()),
    )
    assert (sums.num_views, sums.num_others) == (1, 1)
    # `remove_column_mapping` copies the files of untracked tables too.
    copies = sums.cost("unmapped", "COPY")
    copied = ("dropped", "renamed", "untracked")
    assert (copies.num_tables, copies.num_files) == (3, 6)
    assert copies.size_in_bytes == sum(bytes_of[name] for name in copied)


def test_survey_without_a_name_reads_the_current_schema(
    spark: SparkSession, warehouse: dict[str, Table]
) -> None:
    spark.sql(f"USE {SCHEMA}_empty")
    empty = survey(spark)
    none = spark.sql("SELECT * FROM column_mapping_survey()")
    spark.sql(f"USE {SCHEMA}")
    some = spark.sql("SELECT * FROM column_mapping_survey()")

    assert (empty.tables, survey(spark)) == ((), survey(spark, SCHEMA))
    assert (none.schema, none.count()) == (some.schema, 0)
    listed = {row.tableName for row in spark.sql("SHOW TABLES").collect() if not row.isTemporary}
    rows = spark.sql("SELECT table FROM column_mapping_tables()").collect()
    assert {row.table.split(".")[-1].strip("`") for row in rows} == listed


def test_survey_of_a_catalog_has_all_its_schemas(
    spark: SparkSession, warehouse: dict[str, Table]
) -> None:
    spark.sql(f"CREATE TABLE {SCHEMA}_empty.t (a INT) USING delta")
    try:
        names = {table.table for table in survey(spark, "spark_catalog").tables}
    finally:
        spark.sql(f"DROP TABLE {SCHEMA}_empty.t")

    assert {full(name) for name in HEALTHY} | {f"spark_catalog.{SCHEMA}_empty.t"} <= names


@pytest.mark.skipif(not VIEWS_TAKE_OUR_FUNCTIONS, reason="Spark refuses such a view")
def test_survey_in_a_view_reads_the_schema_of_the_view(
    spark: SparkSession, warehouse: dict[str, Table]
) -> None:
    spark.sql(f"USE {SCHEMA}")
    calls = ["column_mapping_survey()", "column_mapping_survey(array('clean'))"]
    for number, call in enumerate(calls):
        spark.sql(f"CREATE VIEW calling{number} AS SELECT table FROM {call}")
    try:
        spark.sql("USE default")
        whole, one = (spark.table(f"{SCHEMA}.calling{number}").collect() for number in (0, 1))
    finally:
        for number in (0, 1):
            spark.sql(f"DROP VIEW {SCHEMA}.calling{number}")

    assert {row.table for row in whole} == {full(name) for name in (*HEALTHY, *BROKEN)}
    assert [row.table for row in one] == [full("clean")]


def test_tables_with_a_checksum_are_surveyed_without_a_job(
    spark: SparkSession, warehouse: dict[str, Table]
) -> None:
    forget_logs(spark)
    names = ", ".join(f"'{SCHEMA}.{name}'" for name in HEALTHY)

    def ask() -> None:
        spark.sql(f"SELECT * FROM column_mapping_survey(array({names}))").collect()
        spark.sql(f"SELECT * FROM column_mapping_removal('{SCHEMA}.clean')").collect()

    assert jobs(spark, ask) == 0

    for checksum in (warehouse["clean"].path / "_delta_log").glob("*.crc"):
        checksum.unlink()
    forget_logs(spark)
    # Delta runs one job for protocol and metadata, and the files need no further job.
    assert jobs(spark, ask) == 1


def test_survey_lists_the_log_of_a_table_once(
    spark: SparkSession, tmp_path: Path, disk: OddDisk
) -> None:
    path = f"odd:{tmp_path / 't'}"
    table = Table(spark, tmp_path / "t", f"delta.`{path}`").create("a INT")
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    before = disk.lists

    first = spark_ext.survey(spark, path, progress=None)
    between = disk.lists
    commit = table.path / "_delta_log" / f"{1:020}.json"
    commit.write_text('{"commitInfo":{"timestamp":0,"operation":"OTHER"}}')
    second = spark_ext.survey(spark, path, progress=None)

    assert (between - before, disk.lists - between) == (1, 1)
    # The version of another writer is found all the same.
    assert [each.tables[0].version for each in (first, second)] == [0, 1]


def test_files_are_counted_without_a_checksum(spark: SparkSession, tmp_path: Path) -> None:
    tables = [Table(spark, tmp_path / name) for name in ("commits", "checkpoint")]
    for table in tables:
        table.create("a INT, b INT", VECTORS)
        for number in range(3):
            table.insert(f"({number}, 1), ({number}, 2), ({number}, 3)")
        spark.sql(f"DELETE FROM {table.name} WHERE a = 1 AND b = 1")
        spark.sql(f"DELETE FROM {table.name} WHERE a = 1 AND b = 2")
        spark.sql(f"DELETE FROM {table.name} WHERE a = 2")
    jvm: Any = spark._jvm
    delta = jvm.org.apache.spark.sql.delta.DeltaLog
    delta.forTable(spark._jsparkSession, str(tables[1].path)).checkpoint()
    for table in tables:
        for checksum in (table.path / "_delta_log").glob("*.crc"):
            checksum.unlink()
    forget_logs(spark)

    found = survey(spark, *(table.path for table in tables)).tables

    files = [table.log.live_files for table in tables]
    assert [(known.num_files, known.size_in_bytes) for known in found] == [
        (len(live), sum(live.values())) for live in files
    ]
    for table, live in zip(tables, files, strict=True):
        adds = [action for commit in table.log.commits for action in commit if "add" in action]
        assert len(adds) > len(live) > 1


@pytest.mark.every_variant
@pytest.mark.parametrize("read", [spark_ext.survey, spark_ext.audit])
def test_survey_and_audit_end_when_their_jobs_are_cancelled(
    spark: SparkSession, tmp_path: Path, read: Callable[..., object]
) -> None:
    log = write_tracked(spark, tmp_path / "t").path / "_delta_log"
    for checksum in log.glob("*.crc"):
        checksum.unlink()
    forget_logs(spark)
    context = spark.sparkContext
    context._jsc.sc().cancelJobGroupAndFutureJobs("cancelled")
    context.setJobGroup("cancelled", "of a test")
    try:
        with refusal("SPARK_JOB_CANCELLED"):
            read(spark, tmp_path / "t", progress=None)
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


# Paths.


def test_paths_without_a_table_are_rows_with_their_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_tracked(spark, tmp_path / "t")

    found = survey(spark, tmp_path / "t" / "_delta_log", str(tmp_path / "none"), tmp_path / "t")

    assert [(table.error, table.mode) for table in found.tables] == [
        ("DELTA_MISSING_DELTA_TABLE", None),
        ("DELTA_MISSING_DELTA_TABLE", None),
        (None, "name"),
    ]
    assert found.tables[1].table == str(tmp_path / "none")


# Another catalog.


def test_survey_of_a_schema_has_the_schemas_below(spark: SparkSession, lake: Path) -> None:
    for place in ("deep/t", "deep/below/u", "deep/below/more/v", "elsewhere/w"):
        write_tracked(spark, lake / place)
    (lake / "deep" / "nothing").mkdir()
    (lake / "deep" / "foreign").mkdir()
    (lake / "deep" / "foreign" / "_foreign").touch()

    whole, part = survey(spark, "lake.deep"), survey(spark, "lake.deep.below.more")
    spark.sql("USE lake.deep")
    current = survey(spark)

    names = ["lake.deep.t", "lake.deep.below.u", "lake.deep.below.more.v"]
    assert [table.table for table in whole.tables] == names
    assert (whole.sums.num_others, whole.sums.errors) == (1, ())
    assert current == whole
    assert [table.table for table in part.tables] == names[2:]
    shutil.rmtree(lake / "deep")
    shutil.rmtree(lake / "elsewhere")


def test_paths_and_the_schemas_and_tables_of_another_catalog_may_have_any_name(
    spark: SparkSession, lake: Path
) -> None:
    logs = {name: write_tracked(spark, lake / "odd" / name / name) for name in ODD}
    try:
        found = survey(spark, "lake.odd", *(log.path for log in logs.values())).tables
    finally:
        shutil.rmtree(lake / "odd")

    quoted = {name: f"`{name.replace('`', '``')}`" for name in ODD}
    paths = {name: str(log.path).replace("`", "``") for name, log in logs.items()}
    assert {(table.table, table.size_in_bytes, table.error) for table in found} == {
        (text, sum(log.live_files.values()), None)
        for name, log in logs.items()
        for text in (f"lake.odd.{quoted[name]}.{quoted[name]}", f"delta.`file:{paths[name]}`")
    }


def test_refusals_of_a_catalog_are_rows(spark: SparkSession, lake: Path) -> None:
    write_tracked(spark, lake / "flat" / "t")
    (lake / "flat" / "_flat").touch()
    write_tracked(spark, lake / "secret" / "t")
    (lake / "secret" / "_denied").touch()
    write_tracked(spark, lake / "some" / "t")
    write_tracked(spark, lake / "some" / "refused")
    (lake / "some" / "refused" / "_refused").touch()
    try:
        found = survey(spark, "lake")
        with pytest.raises(Exception, match="not for you"):
            survey(spark, "lake.secret")
    finally:
        for schema in ("flat", "secret", "some"):
            shutil.rmtree(lake / schema)

    security = "java.lang.SecurityException"
    assert {table.table: table.error for table in found.tables} == {
        "lake.flat.t": None,
        "lake.secret": security,
        "lake.some.t": None,
        "lake.some.refused": security,
    }


def test_names_are_read_by_the_grammar_of_delta(spark: SparkSession, lake: Path) -> None:
    session: Any = spark
    jvm: Any = spark._jvm
    parser = session._jsparkSession.sessionState().sqlParser()
    tokens = jvm.io.delta.sql.parser.DeltaSqlBaseLexer.VOCABULARY
    literals = map(tokens.getLiteralName, range(tokens.getMaxTokenType() + 1))

    def is_read(name: str) -> bool:
        try:
            plan = parser.parsePlan(f"ALTER TABLE {name} DROP FEATURE f")
        except ParseException:
            return False
        return bool(plan.getClass().getSimpleName() == "AlterTableDropFeature")

    words = [word.strip("'") for word in literals if word and word[1:2].isalpha()]
    reserved = [word for word in words if not is_read(word)]
    assert "HISTORY" in reserved
    for word in reserved:
        (lake / "words" / word / "_delta_log").mkdir(parents=True)
    try:
        listed = [
            row.table
            for row in spark.sql("SELECT * FROM column_mapping_tables('lake.words')").collect()
        ]
    finally:
        shutil.rmtree(lake / "words")

    assert len(listed) == len(reserved)
    assert [name for name in listed if not is_read(name)] == []


def threads_in(spark: SparkSession, *frames: str) -> list[Any]:
    """Returns the threads of the JVM whose stacks contain all frames."""
    jvm: Any = spark._jvm
    stacks = jvm.java.lang.Thread.getAllStackTraces()
    return [
        thread
        for thread in stacks.keySet()
        if all(any(frame in call.toString() for call in stacks.get(thread)) for frame in frames)
    ]


def wait_for(spark: SparkSession, number: int, *frames: str) -> list[Any]:
    """Waits until the stacks of so many threads contain all frames, and returns the threads."""
    until = time.monotonic() + 30
    while len(found := threads_in(spark, *frames)) != number:
        assert time.monotonic() < until, f"{len(found)} threads are in {frames}"
        time.sleep(0.05)
    return found


def test_interrupt_ends_a_survey_and_its_threads(spark: SparkSession, lake: Path) -> None:
    for number in range(3):
        (lake / "slow" / f"t{number}" / "_slow").mkdir(parents=True)

    try:
        with ThreadPoolExecutor(1) as pool:
            running_survey = pool.submit(survey, spark, "lake.slow")
            wait_for(spark, 3, "ListingCatalog.loadTable")
            (caller,) = threads_in(spark, "sparkext.sql.InParallel.map")
            caller.interrupt()
            with pytest.raises(Exception, match="InterruptedException"):
                running_survey.result(30)
            wait_for(spark, 0, "ListingCatalog.loadTable")
    finally:
        shutil.rmtree(lake / "slow")


@contextmanager
def busy_tasks(spark: SparkSession) -> Iterator[None]:
    """Lets no other task run until the body ends."""
    context = spark.sparkContext
    tasks = context.defaultParallelism
    sleep = "reflect('java.lang.Thread', 'sleep', 60000L)"

    def occupy() -> None:
        context.setJobGroup("busy", "of a test", interruptOnCancel=True)
        with suppress(Exception):  # the cancellation
            spark.range(0, tasks, 1, tasks).selectExpr(sleep).collect()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(occupy)
        try:
            wait_for(spark, tasks, "java.lang.Thread.sleep", "CallMethodViaReflection")
            yield
        finally:
            context.cancelJobGroup("busy")


def test_interrupt_ends_an_audit_while_delta_opens_the_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    """If Delta cannot open a table, an audit goes on without Delta."""
    log = write_tracked(spark, tmp_path / "t").path / "_delta_log"
    for checksum in log.glob("*.crc"):
        checksum.unlink()
    forget_logs(spark)

    with ThreadPoolExecutor(1) as pool:
        with busy_tasks(spark):
            running_audit = pool.submit(spark_ext.audit, spark, tmp_path / "t", progress=None)
            opening = ("sparkext.sql.AuditedRelation.of", "DAGScheduler.runJob")
            (caller,) = wait_for(spark, 1, *opening)
            caller.interrupt()
            wait_for(spark, 0, *opening)
        with pytest.raises(Exception, match="InterruptedException"):
            running_audit.result(30)


# The command.


def test_commands_of_the_page_run(
    spark: SparkSession,
    warehouse: dict[str, Table],
    lake: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    write_tracked(spark, lake / "own" / "t")
    write_tracked(spark, tmp_path / "t")
    names = {"sales": SCHEMA, "main.hr": "lake.own", "/data/trips": str(tmp_path / "t")}
    surveyed = []
    try:
        for words in commands("docs/lakehouse.md", "The command of a survey"):
            rows = [] if "--json" in words else ["--all"]
            code = main([*(names.get(word, word) for word in words), *rows])
            surveyed.append((code, capsys.readouterr().out))
    finally:
        shutil.rmtree(lake / "own")

    shown = [[full("clean")], [full("clean"), "lake.own.t\n"], [f'"delta.`file:{tmp_path / "t"}`"']]
    # The first two include the schema with broken tables.
    assert [code for code, _ in surveyed] == [1, 1, 0]
    for (_, out), texts in zip(surveyed, shown, strict=True):
        assert [text for text in texts if text not in out] == []


def test_command_fails_when_a_schema_does_not_exist(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["survey", "no_such_schema"]) == 2

    printed = capsys.readouterr()
    assert (printed.out, printed.err[:19]) == ("", "[SCHEMA_NOT_FOUND] ")


# The first call stops its session, so each call starts a session in the same JVM.
SURVEY_AND_AUDIT = """
import sys
from spark_ext.__main__ import main
assert main(["survey", "lake", "default", "--json"]) == 0
sys.exit(main(["audit", sys.argv[1], "--json"]))
"""


@pytest.mark.parametrize("catalog", ["in-memory", pytest.param("hive", marks=pytest.mark.matrix)])
@pytest.mark.broken_table("file_missing")
def test_commands_start_sessions_with_the_settings_of_the_user(
    spark: SparkSession, lake: Path, tmp_path: Path, catalog: str
) -> None:
    log = write_tracked(spark, lake / "own" / "t")
    broken = write_tracked(spark, tmp_path / "broken")
    (broken.path / next(iter(broken.live_files))).unlink()
    settings = {
        "spark.sql.catalog.lake": "ListingCatalog",
        "spark.sql.catalog.lake.root": lake,
        "spark.driver.extraClassPath": lake.parent / "classes",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalogImplementation": catalog,
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={tmp_path / 'metastore'};create=true"
        ),
    }
    conf = tmp_path / "conf"
    conf.mkdir()
    lines = [f"{key} {value}" for key, value in settings.items()]
    (conf / "spark-defaults.conf").write_text("\n".join(lines))
    try:
        done = subprocess.run(
            [sys.executable, "-c", SURVEY_AND_AUDIT, str(broken.path)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "SPARK_CONF_DIR": str(conf)},
        )
    finally:
        shutil.rmtree(lake / "own")

    assert done.returncode == 1, done.stderr
    table, sums, finding = map(json.loads, done.stdout.splitlines())
    assert (table["table"], table["unmapped"]) == ("lake.own.t", "METADATA")
    assert table["sizeInBytes"] == sum(log.live_files.values())
    assert sums["sums"]["numTables"] == 1
    assert finding["check"] == "file_missing"
    assert "\nsurvey: 1 of 1 tables, " in done.stderr
    assert (tmp_path / "metastore").exists() == (catalog == "hive")
