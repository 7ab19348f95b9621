# SPDX-License-Identifier: Apache-2.0
"""Tests which table `UsageTracking` and the functions use: odd names, paths and catalogs."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import UsageTracking
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal, write_tracked
from tests.support.java_catalogs import add_catalog
from tests.support.releases import VIEWS_TAKE_OUR_FUNCTIONS
from tests.support.session_conf import SetConf
from tests.support.table_log import TableLog

ESCAPED = "spark.sql.parser.escapedStringLiterals"
SUBSTITUTE = "spark.sql.variable.substitute"

# Spark would substitute a value, or nothing, in these names.
VARIABLES = ["a${spark.app.name}", "$${env:HOME}", "${sparkext.unset}b", "${nothing}${x}"]
ODD = [
    *VARIABLES,
    "a${b c}",
    'it\'s "x"',
    "back\\slash \\n \\u0041",
    "tick`` ` tick",
    "a; DROP TABLE b; -- c",
    "-- c",
    "new\nline",
    "é 日本 \U0001f600",
    "100%20 #1?",
    "a:b",
    "table@v0",
    " blank ",
]
NAMED_ODD = [*(name for name in ODD if "\n" not in name), "a/* c */b"]


def substituted(name: str, spark: SparkSession) -> str:
    """Returns the name into which Spark would change a name in a statement."""
    values = {
        "${spark.app.name}": str(spark.conf.get("spark.app.name")),
        "${env:HOME}": os.environ["HOME"],
        "${sparkext.unset}": "",
        "${nothing}": "",
        "${x}": "",
    }
    for variable, value in values.items():
        name = name.replace(variable, value)
    return name


def operations(log: TableLog) -> list[str]:
    return [commit[0]["commitInfo"]["operation"] for commit in TableLog(log.path).commits]


def act(usage: UsageTracking) -> None:
    """Runs each statement once, for a table whose flag is false."""
    assert usage.has_dropped_or_renamed is False
    usage.disable()
    assert usage.has_dropped_or_renamed is None
    usage.enable()
    usage.remove_column_mapping(progress=None)
    assert [row.path for row in usage.columns().collect()] == ["id"]


ACTED = ["WRITE", "DROP FEATURE", "SET TBLPROPERTIES", "REMOVE COLUMN MAPPING"]


@pytest.fixture
def query_log() -> Iterator[list[str]]:
    """Yields the errors of queries that PySpark logs."""
    records: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record.getMessage())

    logger, kept = PySparkLogger.getLogger("SQLQueryContextLogger"), Kept()
    logger.addHandler(kept)
    yield records
    logger.removeHandler(kept)


@pytest.mark.every_variant
@pytest.mark.parametrize("ask", [UsageTracking.forName, spark_ext.audit])
@pytest.mark.parametrize("name", ["nowhere", "no.such.table", "a b c", "", "`a` b"])
def test_wrong_name_is_raised_and_not_logged(
    spark: SparkSession, query_log: list[str], ask: Callable[..., Any], name: str
) -> None:
    with pytest.raises(AnalysisException) as refused:
        ask(spark, name)

    assert query_log == []
    assert name == "" or "``" not in str(refused.value)


def test_error_in_a_query_of_the_user_is_logged_as_before(
    spark: SparkSession, query_log: list[str]
) -> None:
    with pytest.raises(AnalysisException):
        UsageTracking.forName(spark, "no.such.table")
    with pytest.raises(AnalysisException):
        spark.sql("SELECT * FROM column_mapping('no.such.table')")

    assert len(query_log) == 1


@pytest.fixture(scope="module")
def other_catalog(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Adds the catalog `other`, and returns the folder of its tables."""
    home = tmp_path_factory.mktemp("other")
    return add_catalog(spark, home, "other", "PathCatalog")


@pytest.fixture
def other(spark: SparkSession, other_catalog: Path, tmp_path: Path) -> Iterator[Path]:
    """Yields the folder of a new schema of `other`, and uses the default schema afterwards."""
    yield other_catalog / tmp_path.name
    spark.sql("USE spark_catalog.default")


# Refusals.


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        ".",
        "a..b",
        "delta.``",
        "``",
        "`",
        "a b",
        "a-b",
        "t@v1",
        "t VERSION AS OF 0",
        "t;",
    ],
)
def test_text_that_is_not_a_table_name_is_refused(spark: SparkSession, name: str) -> None:
    with refusal("USAGE_TRACKING_INVALID_TABLE_NAME") as refused:
        UsageTracking.forName(spark, name)

    assert refused.value.getMessageParameters() == {"name": name}
    assert refused.value.getSqlState() == "42602"
    for function in ("column_mapping", "column_mapping_removal"):
        with refusal("USAGE_TRACKING_INVALID_TABLE_NAME"):
            spark.sql(f"SELECT * FROM {function}('{name}')")


def test_name_longer_than_any_tables_is_not_read(spark: SparkSession) -> None:
    """A short statement can make a long name, and Spark takes minutes to parse it."""
    with refusal("USAGE_TRACKING_INVALID_TABLE_NAME") as refused:
        spark.sql("SELECT * FROM column_mapping(repeat('a-', 20000))")

    assert refused.value.getMessageParameters() == {"name": "a-" * 50 + ".."}


def test_empty_path_is_refused(spark: SparkSession) -> None:
    with refusal("USAGE_TRACKING_INVALID_TABLE_NAME"):
        UsageTracking.forPath(spark, "")


@pytest.mark.parametrize("name", [None, 5, b"t"])
def test_name_that_is_not_a_text_is_refused(spark: SparkSession, name: object) -> None:
    with pytest.raises(TypeError):
        UsageTracking.forName(spark, name)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        UsageTracking.forPath(spark, name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("no_such_table", "DELTA_MISSING_DELTA_TABLE"),
        ("no_such_schema.t", "DELTA_MISSING_DELTA_TABLE"),
        ("delta.`/no/such/table`", "DELTA_MISSING_DELTA_TABLE"),
        ("delta.`relative`", "DELTA_MISSING_DELTA_TABLE"),
        ("a.b.c.d", "REQUIRES_SINGLE_PART_NAMESPACE"),
        ("no_such_catalog.a.b", "REQUIRES_SINGLE_PART_NAMESPACE"),
    ],
)
def test_name_without_a_table_is_refused(spark: SparkSession, name: str, condition: str) -> None:
    with refusal(condition):
        UsageTracking.forName(spark, name)
    with refusal(condition):
        spark.sql(f"SELECT * FROM column_mapping('{name}')")


@pytest.mark.parametrize(
    ("create", "drop", "condition"),
    [
        ("TEMP VIEW odd AS SELECT 1", "VIEW", "EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE"),
        ("VIEW odd AS SELECT 1", "VIEW", "EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE"),
        ("TABLE odd (a INT) USING parquet", "TABLE", "DELTA_MISSING_DELTA_TABLE"),
    ],
)
def test_view_or_table_of_another_format_is_refused(
    spark: SparkSession, create: str, drop: str, condition: str
) -> None:
    spark.sql(f"CREATE {create}")
    try:
        with refusal(condition):
            UsageTracking.forName(spark, "odd")
        with refusal(condition):
            spark.sql("SELECT * FROM column_mapping('odd')")
    finally:
        spark.sql(f"DROP {drop} odd")


def test_table_behind_a_temporary_view_of_its_name_is_refused(named_table: Table) -> None:
    spark = named_table.spark
    named_table.create_tracked("a INT")
    spark.range(1).createOrReplaceTempView("named")
    try:
        with named_table.refusal("EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE"):
            UsageTracking.forName(spark, "named")
        usage = UsageTracking.forName(spark, "default.named")
        with named_table.one_commit():
            usage.remove_column_mapping(progress=None)
    finally:
        spark.catalog.dropTempView("named")


@pytest.mark.parametrize("inside", ["@v0", "/a=1", "/_delta_log", "/.."])
def test_path_below_a_table_is_refused(table: Table, inside: str) -> None:
    """For Delta, the path of a partition and a path with a version mean the whole table."""
    table.create_tracked("a INT, b INT", partitioned_by="a")
    table.insert("(1, 1)")
    path = f"{table.path}{inside}"

    with table.refusal("DELTA_MISSING_DELTA_TABLE"):
        UsageTracking.forPath(table.spark, path)
    with table.refusal("DELTA_MISSING_DELTA_TABLE"):
        UsageTracking.forName(table.spark, f"delta.`{path}`")


def test_table_dropped_after_lookup_is_refused(named_table: Table) -> None:
    named_table.create_tracked("a INT")
    usage = UsageTracking.forName(named_table.spark, "named")
    named_table.spark.sql("DROP TABLE named")

    calls: list[Callable[[], object]] = [
        usage.enable,
        usage.disable,
        usage.columns,
        lambda: usage.has_dropped_or_renamed,
        usage.remove_column_mapping,
    ]
    for call in calls:
        with refusal("DELTA_MISSING_DELTA_TABLE"):
            call()
    assert not named_table.path.exists()


@pytest.mark.parametrize(
    ("arguments", "condition"),
    [
        ("NULL", "INVALID_PARAMETER_VALUE.NULL"),
        ("CAST(NULL AS STRING)", "INVALID_PARAMETER_VALUE.NULL"),
        ("1", "UNEXPECTED_INPUT_TYPE"),
        ("X'74'", "UNEXPECTED_INPUT_TYPE"),
        ("current_database()", "NON_FOLDABLE_ARGUMENT"),
        ("'t', 'u', 'v'", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
    ],
)
def test_argument_that_is_not_a_constant_text_is_refused(
    spark: SparkSession, arguments: str, condition: str
) -> None:
    for function in ("column_mapping", "column_mapping_removal", "column_mapping_named_table"):
        with refusal(condition):
            spark.sql(f"SELECT * FROM {function}({arguments})")


def test_name_with_a_variable_is_refused_when_sparkext_unset_is_set(
    spark: SparkSession, tmp_path: Path, conf: SetConf
) -> None:
    log = write_tracked(spark, tmp_path / "a${x}")
    usage = UsageTracking.forPath(spark, str(log.path))
    conf("sparkext.unset", "something")

    for call in (usage.disable, usage.remove_column_mapping):
        with refusal("USAGE_TRACKING_INVALID_SETTING"):
            call()

    assert operations(log) == ["WRITE"]


# Odd paths.


@pytest.mark.parametrize("name", ODD)
def test_odd_path_leads_to_its_own_table(
    spark: SparkSession, tmp_path: Path, conf: SetConf, name: str
) -> None:
    conf(ESCAPED, "true")
    log = write_tracked(spark, tmp_path / name)
    decoy = tmp_path / substituted(name, spark)
    decoys = [write_tracked(spark, decoy)] if decoy not in (tmp_path, log.path) else []

    act(UsageTracking.forPath(spark, str(log.path)))

    assert operations(log) == ACTED
    assert [operations(other) for other in decoys] == [["WRITE"] for _ in decoys]


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize("substitute", ["false", "true"])
def test_statements_shown_for_an_odd_path_run_on_it(
    spark: SparkSession, tmp_path: Path, conf: SetConf, name: str, substitute: str
) -> None:
    conf(SUBSTITUTE, substitute)
    log = write_tracked(spark, tmp_path / name)
    (first, *_) = UsageTracking.forPath(spark, str(log.path)).remove_column_mapping(dry_run=True)

    for statement in first.statements:
        spark.sql(statement)

    assert operations(log) == ["WRITE", "REMOVE COLUMN MAPPING"]


def test_substitution_enabled_again_changes_no_name(
    spark: SparkSession, tmp_path: Path, conf: SetConf
) -> None:
    log, decoy = write_tracked(spark, tmp_path / "a${x}"), write_tracked(spark, tmp_path / "a")
    conf(SUBSTITUTE, "false")
    usage = UsageTracking.forPath(spark, str(log.path))
    conf(SUBSTITUTE, "true")

    act(usage)

    assert (operations(log), operations(decoy)) == (ACTED, ["WRITE"])


@pytest.mark.parametrize("form", ["{}/", "file:{}", "file://{}", "{}/../t", "//{}"])
def test_path_may_be_written_in_many_ways(table: Table, form: str) -> None:
    table.create_tracked("a INT")

    with table.one_commit():
        usage = UsageTracking.forPath(table.spark, form.format(table.path))
        usage.remove_column_mapping(progress=None)

    assert table.log.operation == "REMOVE COLUMN MAPPING"


def test_first_of_two_parts_is_a_catalog_before_it_is_a_schema(
    spark: SparkSession, other: Path
) -> None:
    spark.sql("CREATE SCHEMA spark_catalog.other")
    try:
        spark.sql(
            f"CREATE TABLE spark_catalog.other.t (a INT) USING delta TBLPROPERTIES ({TRACKED})"
        )
        for function in ("column_mapping_audit", "column_mapping"):
            with refusal("DELTA_MISSING_DELTA_TABLE"):
                spark.sql(f"SELECT * FROM {function}('other.t')").collect()
    finally:
        spark.sql("DROP SCHEMA spark_catalog.other CASCADE")


def test_property_that_another_writer_set_to_null_does_not_exist(table: Table) -> None:
    table.create_tracked("a INT")
    properties = {**table.log.configuration, "delta.dataSkippingStatsColumns": None}
    table.log.append_foreign({"metaData": {**table.log.metadata, "configuration": properties}})

    table.alter("ADD COLUMN b INT")

    assert table.log.physical_names == {"a": "a", "b": "b"}
    assert len(table.spark.sql(f"SELECT * FROM column_mapping('{table.name}')").collect()) == 2


def test_path_may_be_an_object(table: Table) -> None:
    table.create_tracked("a INT")

    with table.one_commit():
        UsageTracking.forPath(table.spark, table.path).remove_column_mapping(progress=None)


def test_path_may_be_relative(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path is relative to the working directory of the JVM."""
    table.create_tracked("a INT")
    jvm: Any = table.spark._jvm
    directory = jvm.java.lang.System.getProperty("user.dir")

    with table.one_commit():
        usage = UsageTracking.forPath(table.spark, os.path.relpath(table.path, directory))
        usage.remove_column_mapping(progress=None)


def test_path_is_not_the_name_of_a_table(spark: SparkSession) -> None:
    spark.sql("CREATE SCHEMA delta")
    spark.sql(f"CREATE TABLE delta.t (a INT) USING delta TBLPROPERTIES ({TRACKED}, {NAME_MODE})")
    try:
        with refusal("DELTA_MISSING_DELTA_TABLE"):
            UsageTracking.forPath(spark, "t")
        assert UsageTracking.forName(spark, "delta.t").has_dropped_or_renamed is False
    finally:
        spark.sql("DROP SCHEMA delta CASCADE")


# Names.


@pytest.mark.parametrize("name", NAMED_ODD)
def test_odd_name_leads_to_its_own_table(spark: SparkSession, other: Path, name: str) -> None:
    log = write_tracked(spark, other / name)
    decoy = other / substituted(name, spark)
    decoys = [write_tracked(spark, decoy)] if decoy not in (other, log.path) else []
    quoted = name.replace("`", "``")

    act(UsageTracking.forName(spark, f"other.`{other.name}`.`{quoted}`"))

    assert operations(log) == ACTED
    assert [operations(table) for table in decoys] == [["WRITE"] for _ in decoys]


@pytest.mark.parametrize("name", ["table", "add", "select", "feature", "delta", "123", "T"])
def test_word_of_sql_is_a_name(spark: SparkSession, other: Path, conf: SetConf, name: str) -> None:
    conf("spark.sql.ansi.enforceReservedKeywords", "true")
    log = write_tracked(spark, other / name)

    act(UsageTracking.forName(spark, f"other.`{other.name}`.`{name}`"))

    assert operations(log) == ACTED


def test_namespace_may_have_levels(spark: SparkSession, other: Path) -> None:
    log = write_tracked(spark, other / "x" / "y z" / "t")
    spark.sql(f"USE other.`{other.name}`.x.`y z`")

    usage = UsageTracking.forName(spark, "t")
    spark.sql("USE spark_catalog.default")
    usage.remove_column_mapping(progress=None)

    assert operations(log) == ["WRITE", "REMOVE COLUMN MAPPING"]


# The same name in several catalogs and schemas.


def test_name_resolves_as_in_sql(spark: SparkSession, other: Path) -> None:
    log = write_tracked(spark, other / "t")
    spark.sql(f"USE other.`{other.name}`")

    usage = UsageTracking.forName(spark, "t")
    spark.sql("USE spark_catalog.default")
    act(usage)

    assert operations(log) == ACTED


@pytest.mark.parametrize("name", ["named", "default.named"])
def test_name_of_two_tables_is_refused(
    named_table: Table, other_catalog: Path, other: Path, name: str
) -> None:
    """`DeltaTable.forName` reads the session catalog, and SQL reads the current catalog."""
    spark = named_table.spark
    named_table.create_tracked("a INT")
    log = TableLog(other_catalog / "default" / "named")
    log = log if log.commits else write_tracked(spark, log.path)
    spark.sql("USE other.default")

    with named_table.refusal("USAGE_TRACKING_AMBIGUOUS_TABLE_NAME") as refused:
        UsageTracking.forName(spark, name)

    assert refused.value.getMessageParameters() == {
        "name": name,
        "one": f"file:{log.path}",
        "other": f"file:{named_table.path}",
    }
    assert refused.value.getSqlState() == "42704"
    with named_table.one_commit():
        full = UsageTracking.forName(spark, "spark_catalog.default.named")
        full.remove_column_mapping(progress=None)
    assert UsageTracking.forName(spark, "other.default.named").has_dropped_or_renamed is False
    assert operations(log) == ["WRITE"]


def test_name_of_one_table_in_two_catalogs_is_accepted(
    named_table: Table, other_catalog: Path, other: Path
) -> None:
    spark = named_table.spark
    log = write_tracked(spark, other / "named")
    schema = f"`{other.name}`"
    spark.sql(f"CREATE SCHEMA {schema}")
    spark.sql(f"CREATE TABLE {schema}.named USING delta LOCATION '{log.path}'")
    spark.sql(f"USE other.{schema}")
    try:
        UsageTracking.forName(spark, f"{schema}.named").remove_column_mapping(progress=None)
    finally:
        spark.sql(f"DROP SCHEMA spark_catalog.{schema} CASCADE")

    assert operations(log) == ["WRITE", "REMOVE COLUMN MAPPING"]


def test_catalog_with_the_name_of_another_catalog_is_refused(
    spark: SparkSession, other_catalog: Path, other: Path, conf: SetConf
) -> None:
    conf("spark.sql.catalog.liar", "PathCatalog")
    conf("spark.sql.catalog.liar.root", str(other_catalog.parent / "elsewhere"))
    conf("spark.sql.catalog.liar.alias", "other")
    logs = [
        write_tracked(spark, home / other.name / "t")
        for home in (other_catalog, other_catalog.parent / "elsewhere")
    ]

    with refusal("USAGE_TRACKING_AMBIGUOUS_TABLE_NAME"):
        UsageTracking.forName(spark, f"liar.`{other.name}`.t")

    assert [operations(log) for log in logs] == [["WRITE"], ["WRITE"]]


@pytest.mark.parametrize("name", ["named", "default.named", "spark_catalog.default.named"])
def test_name_resolves_to_the_same_table_after_use(named_table: Table, name: str) -> None:
    named_table.create_tracked("a INT")
    spark = named_table.spark
    usage = UsageTracking.forName(spark, name)
    spark.sql("CREATE DATABASE elsewhere")
    try:
        spark.sql("USE elsewhere")
        spark.sql("CREATE TABLE named (b INT) USING delta")

        (first, *_) = usage.remove_column_mapping(progress=None)

        assert first.reached
        assert [row.path for row in usage.columns().collect()] == ["a"]
    finally:
        spark.sql("USE default")
        spark.sql("DROP DATABASE elsewhere CASCADE")
    assert named_table.log.operation == "REMOVE COLUMN MAPPING"


def test_name_resolves_to_the_same_table_when_letter_case_matters(
    named_table: Table, conf: SetConf
) -> None:
    """If letter case does not matter, both names mean the table in lower case."""
    spark = named_table.spark
    if spark.conf.get("spark.sql.catalogImplementation") == "hive":
        pytest.skip("a Hive metastore has no two such names")
    named_table.create_tracked("a INT")
    conf("spark.sql.caseSensitive", "true")
    spark.sql(f"CREATE TABLE Named (b INT) USING delta TBLPROPERTIES ({TRACKED}, {NAME_MODE})")
    try:
        conf("spark.sql.caseSensitive", "false")
        usage = UsageTracking.forName(spark, "Named")
        conf("spark.sql.caseSensitive", "true")

        with named_table.one_commit():
            usage.remove_column_mapping(progress=None)

        assert [
            row.physicalName for row in UsageTracking.forName(spark, "Named").columns().collect()
        ] == ["b"]
    finally:
        spark.sql("DROP TABLE Named")


@pytest.mark.skipif(not VIEWS_TAKE_OUR_FUNCTIONS, reason="Spark refuses such a view")
@pytest.mark.parametrize("schema", ["", "default."])
def test_name_in_a_view_resolves_in_the_schema_of_the_view(
    named_table: Table, other: Path, schema: str
) -> None:
    named_table.create_tracked("a INT")
    spark = named_table.spark
    log = TableLog(other.parent / "default" / "named")
    log = log if log.commits else write_tracked(spark, log.path)
    call = f"column_mapping_removal('{schema}named')"
    spark.sql(f"CREATE VIEW costs AS SELECT statements FROM {call} WHERE stage = 'unmapped'")
    try:
        spark.sql("USE other.default")

        (row,) = spark.sql("SELECT * FROM spark_catalog.default.costs").collect()
        with named_table.one_commit():
            spark.sql(row.statements[0])
    finally:
        spark.sql("DROP VIEW spark_catalog.default.costs")

    assert operations(log) == ["WRITE"]


@pytest.mark.skipif(not VIEWS_TAKE_OUR_FUNCTIONS, reason="Spark refuses such a view")
def test_path_in_a_view_is_a_path(table: Table) -> None:
    table.create_tracked("a INT")
    spark = table.spark
    spark.sql(f"""CREATE VIEW columns AS SELECT * FROM column_mapping("{table.name}")""")
    try:
        assert [row.path for row in spark.table("columns").collect()] == ["a"]
    finally:
        spark.sql("DROP VIEW columns")


def test_statements_of_a_removal_stage_name_their_table(named_table: Table) -> None:
    named_table.create_tracked("a INT")
    spark = named_table.spark
    (row,) = spark.sql(
        "SELECT statements FROM column_mapping_removal('named') WHERE stage = 'unmapped'"
    ).collect()
    spark.sql("CREATE DATABASE elsewhere")
    try:
        spark.sql("USE elsewhere")
        with named_table.one_commit():
            spark.sql(row.statements[0])
    finally:
        spark.sql("USE default")
        spark.sql("DROP DATABASE elsewhere CASCADE")


def test_literal_of_sql_is_substituted_once(spark: SparkSession, tmp_path: Path) -> None:
    """Spark substitutes variables as in any statement, and the result is the name."""
    log = write_tracked(spark, tmp_path / "a${x}")
    write_tracked(spark, tmp_path / "a")

    call = f"column_mapping_removal('delta.`{tmp_path}/a$${{sparkext.unset}}{{x}}`')"
    [row] = spark.sql(f"SELECT * FROM {call} WHERE stage = 'unmapped'").collect()
    [statement] = row.statements
    spark.sql(statement)

    assert operations(log) == ["WRITE", "REMOVE COLUMN MAPPING"]


def test_collation_of_a_name_is_ignored(named_table: Table) -> None:
    named_table.create_tracked("a INT")

    call = "column_mapping('na' || 'med' COLLATE UTF8_LCASE)"

    assert named_table.spark.sql(f"SELECT path FROM {call}").collect() == [("a",)]
