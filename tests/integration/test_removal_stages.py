# SPDX-License-Identifier: Apache-2.0
"""Tests the stages of a removal: `remove_column_mapping()` and `column_mapping_removal`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark import InheritableThread, SparkContext
from pyspark.sql import SparkSession

from spark_ext import FileCount, RemovalStage, UsageTracking
from spark_ext.errors import CannotRemoveColumnMappingError
from spark_ext.tables.progress import Progress
from spark_ext.tables.sql import copying
from spark_ext.tables.table import Until
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.releases import ICEBERG_COMPAT_V3
from tests.support.session_conf import SetConf
from tests.support.table_log import FEATURE

MODE = "delta.columnMapping.mode"
REMOVAL = "spark.sparkext.columnMapping.removal"
WAIT = "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD"
TRUNCATE_PROTECTION = "DROP FEATURE checkpointProtection TRUNCATE HISTORY"


def reached(stages: list[RemovalStage]) -> list[bool]:
    return [step.reached for step in stages]


@contextmanager
def not_removable(table: Table, reasons: str) -> Iterator[None]:
    """Asserts that the body is refused with these reasons before a commit."""
    with table.no_commit(), pytest.raises(CannotRemoveColumnMappingError) as refused:
        yield
    assert refused.value.condition == "USAGE_TRACKING_CANNOT_REMOVE_COLUMN_MAPPING"
    assert (refused.value.params["reasons"], refused.value.params["done"]) == (reasons, "none")


# Refusals.


def test_unknown_stage_is_refused(table: Table) -> None:
    table.create_tracked()

    with table.no_commit(), pytest.raises(ValueError, match="everyone"):
        table.usage.remove_column_mapping(until="everyone")  # type: ignore[arg-type]


@pytest.mark.without("deletion-vectors", "row-tracking")
@pytest.mark.parametrize("until", ["unmapped", "readers", "writers"])
def test_names_that_are_illegal_without_mapping_are_refused(table: Table, until: Until) -> None:
    table.create_tracked("a INT, s STRUCT<`b=c`: INT>")
    usage = table.usage

    (first, *_) = usage.remove_column_mapping(dry_run=True)
    assert first.cost == "BLOCKED"
    assert [(why.name, why.detail) for why in first.reasons] == [("s.`b=c`", "=")]

    with not_removable(table, "unmapped: INVALID_COLUMN_NAME (s.`b=c`, =)"):
        usage.remove_column_mapping(until=until, progress=None)


@pytest.mark.parametrize(
    ("call", "condition"),
    [
        ("column_mapping()", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("column_mapping('a', true)", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("column_mapping_removal('a', true, true)", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("column_mapping_removal('a', 'b')", "UNEXPECTED_INPUT_TYPE"),
    ],
)
def test_table_functions_refuse_other_arguments(
    spark: SparkSession, call: str, condition: str
) -> None:
    with refusal(condition):
        spark.sql(f"SELECT * FROM {call}")


# Dry runs.


@pytest.mark.without("deletion-vectors", "row-tracking")
def test_dry_run_returns_metadata_only_and_changes_nothing(table: Table) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")

    with table.no_commit():
        stages = table.usage.remove_column_mapping(dry_run=True, until="writers")

    assert [(step.stage, step.cost) for step in stages] == [
        ("unmapped", "METADATA"),
        ("readers", "METADATA"),
        ("writers", "HISTORY"),
    ]
    assert stages[0].reasons == ()
    assert (stages[0].num_files, stages[0].size_in_bytes) == (0, 0)


@pytest.mark.without("auto-compact")
def test_dry_run_returns_upper_bounds_and_reasons_of_a_copy(table: Table) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT>")
    table.insert("(1, named_struct('x', 2))")
    table.insert("(3, named_struct('x', 4))")
    table.alter("RENAME COLUMN s.x TO y")

    with table.no_commit():
        (first, *_) = table.usage.remove_column_mapping(dry_run=True)

    sizes = table.log.live_files.values()
    assert (first.cost, first.exact) == ("COPY", False)
    assert (first.num_files, first.size_in_bytes) == (2, sum(sizes))
    assert first.kept is first.copied is first.rewritten is None
    assert [(why.reason, why.name, why.detail) for why in first.reasons] == [
        ("HAS_DROPPED_OR_RENAMED", None, None),
        ("PHYSICAL_NAME_DIFFERS", "s.y", "x"),
    ]


@pytest.mark.without("auto-compact")
def test_exact_dry_run_counts_the_files_of_the_removal(table: Table) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT>")
    table.insert("(1, NULL)")
    table.alter("ADD COLUMN d STRUCT<y: INT>")
    table.insert("(1, NULL, named_struct('y', 1))")
    table.alter("ADD COLUMN e INT")
    table.insert("(1, NULL, NULL, 1)")
    table.alter("ADD COLUMN d.z INT")
    table.alter("DROP COLUMN d.y")  # the removal rewrites a file that contains no other field of d
    table.alter("DROP COLUMN e")

    with table.no_commit():
        (first, *_) = table.usage.remove_column_mapping(dry_run=True, exact=True)
    (sizes, (row, *_)) = (
        table.log.live_files,
        table.spark.sql(f"SELECT * FROM column_mapping_removal('{table.name}', true)").collect(),
    )
    (unmapped, *_) = table.usage.remove_column_mapping(progress=None)

    assert (first.cost, first.exact) == ("COPY", True)
    kept, copied, rewritten = first.kept, first.copied, first.rewritten
    assert kept
    assert copied
    assert rewritten
    assert [kept.num_files, copied.num_files, rewritten.num_files] == [1, 0, 2]
    assert kept.size_in_bytes + first.size_in_bytes == sum(sizes.values())
    assert (row.kept.asDict(), row.exact) == (
        {"numFiles": 1, "sizeInBytes": kept.size_in_bytes},
        True,
    )
    assert unmapped.reached
    metrics = table.log.at(table.log.version).actions("commitInfo")[0]["operationMetrics"]
    texts = [metrics[f"num{way}Files"] for way in ("Kept", "Copied", "Rewritten")]
    assert texts == ["1", "0", "2"]


def test_job_of_a_copy_has_a_description(table: Table) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    context = table.spark.sparkContext
    context.setJobDescription("mine")

    table.alter(f"SET TBLPROPERTIES ('{MODE}' = 'none')")

    jobs = context._jsc.sc().statusStore().jobsList(None)
    texts = [jobs.apply(place).description() for place in range(jobs.size())]
    texts = [text.get() for text in texts if text.isDefined()]
    [job] = [text for text in texts if text.startswith(f"Column mapping of file:{table.path}: ")]
    assert "round 1, copies up to 1 files, " in job
    assert context.getLocalProperty("spark.job.description") == "mine"
    context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]


@pytest.mark.broken_table("file_missing", "file_unreadable")
def test_exact_dry_run_is_refused_when_a_file_is_missing(table: Table) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    (data_file,) = (table.path / file for file in table.log.live_files)
    data_file.unlink()

    with table.refusal("USAGE_TRACKING_UNREADABLE_DATA_FILE"):
        table.usage.remove_column_mapping(dry_run=True, exact=True)


@pytest.mark.parametrize(
    ("setting", "costs"),
    [(None, ["REWRITE", "COPY"]), ("copy", ["COPY", "COPY"]), ("Rewrite", ["REWRITE", "REWRITE"])],
)
def test_untracked_table_is_copied_or_rewritten_by_the_setting(
    table: Table, conf: SetConf, setting: str | None, costs: list[str]
) -> None:
    table.create("a INT", NAME_MODE)
    table.insert("(1)")
    (written,) = table.log.live_files
    if setting:
        conf(REMOVAL, setting)

    (row, *_) = table.spark.sql(f"SELECT * FROM column_mapping_removal('{table.name}')").collect()
    (first, *_) = table.usage.remove_column_mapping(dry_run=True)
    assert [row.cost, first.cost] == costs

    table.usage.remove_column_mapping(progress=None)

    assert written not in table.log.live_files
    metrics = table.log.at(table.log.version).actions("commitInfo")[0]["operationMetrics"]
    assert metrics.get("numCopiedFiles") == ("1" if costs[1] == "COPY" else None)
    assert table.spark.conf.get(REMOVAL, None) == setting
    assert table.selected() == [(1,)]


def test_metadata_only_removal_is_a_rewrite_by_the_setting(table: Table, conf: SetConf) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")
    conf(REMOVAL, "rewrite")

    (first, *_) = table.usage.remove_column_mapping(dry_run=True)

    assert (first.cost, first.num_files, first.exact) == ("REWRITE", 1, True)
    assert [(why.reason, why.detail) for why in first.reasons] == [("REMOVAL_SETTING", "rewrite")]


def test_sql_returns_the_same_stages_as_python(named_table: Table) -> None:
    named_table.create_tracked()
    usage = UsageTracking.forName(named_table.spark, "named")

    rows = named_table.spark.sql("SELECT * FROM column_mapping_removal('default.named')").collect()

    stages = usage.remove_column_mapping(dry_run=True)
    assert [row.stage for row in rows] == [step.stage for step in stages]
    assert [row.cost for row in rows] == [step.cost for step in stages]
    assert [row.reached for row in rows] == [False] * 3


@pytest.mark.matrix
def test_statements_reach_their_stage(named_table: Table) -> None:
    named_table.create_tracked()
    spark = named_table.spark

    for stage_name in ["unmapped", "readers"]:
        (row,) = spark.sql(
            f"SELECT statements FROM column_mapping_removal('named') WHERE stage = '{stage_name}'"
        ).collect()
        for statement in row.statements:
            spark.sql(statement)

    (row,) = spark.sql(
        "SELECT stage FROM column_mapping_removal('named') WHERE NOT reached"
    ).collect()
    assert row.stage == "writers"
    assert "columnMapping" not in named_table.log.writer_features


def test_columns_returns_names_ids_and_versions_at_every_level(table: Table) -> None:
    table.create_tracked("a INT, l ARRAY<STRUCT<x: INT>>")
    table.alter("RENAME COLUMN a TO b")
    table.alter("ADD COLUMN a STRING")

    rows = table.usage.columns().collect()

    uuid = table.log.physical_names["a"]
    assert [tuple(row) for row in rows] == [
        ("b", "b", "a", 1, "int", 0, 1, None),
        ("l", "l", "l", 2, "array<struct<x:int>>", 0, None, None),
        ("l.element.x", "x", "x", 3, "int", 0, None, None),
        ("a", "a", uuid, 4, "string", 2, None, "b"),
    ]


def test_table_function_can_be_joined(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    call = f"column_mapping('delta.`{table.path}`')"

    joined = table.spark.sql(f"SELECT one.id FROM {call} one JOIN {call} two USING (path)")

    assert joined.count() == 2


# Each stage.


def test_removal_until_unmapped_is_one_commit_of_metadata(table: Table) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")
    files = table.log.live_files

    with table.one_commit():
        stages = table.usage.remove_column_mapping(progress=None)

    assert reached(stages) == [True, False, False]
    assert table.log.operation == "REMOVE COLUMN MAPPING"
    assert table.log.live_files == files
    assert table.selected() == [(1, "x")]


@pytest.mark.without("deletion-vectors")
def test_removal_until_readers_drops_the_feature(table: Table) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")

    stages = table.usage.remove_column_mapping(until="readers", progress=None)

    assert reached(stages) == [True, True, False]
    assert table.log.protocol["minReaderVersion"] == 1
    assert "columnMapping" not in table.log.writer_features
    assert table.log.is_tracked

    table.insert("(2, 'y')")
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    assert table.log.writer_features >= {"columnMapping", "checkpointProtection"}
    assert table.log.physical_names == {"a": "a", "b": "b"}
    assert table.selected() == [(1, "x"), (2, "y")]


@pytest.mark.without("deletion-vectors", "row-tracking")
def test_removal_until_writers_waits_for_the_retention_period(table: Table) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")
    files = table.log.live_files

    stages = table.usage.remove_column_mapping(until="writers", progress=None)

    assert reached(stages) == [True, True, False]
    assert [why.reason for why in stages[2].reasons] == ["RETENTION_PERIOD"]
    assert [statement.endswith(TRUNCATE_PROTECTION) for statement in stages[2].statements] == [True]
    assert not table.log.is_tracked
    assert table.log.flag is None

    table.age_log()
    stages = table.usage.remove_column_mapping(until="writers", progress=None)

    assert reached(stages) == [True, True, True]
    assert table.log.writer_features <= {"appendOnly", "invariants"}
    assert table.selected() == [(1, "x")]
    found = {str(file.relative_to(table.path)) for file in table.path.rglob("part-*.parquet")}
    assert found == set(files)

    with table.refusal("DELTA_CANNOT_RESTORE_TABLE_VERSION"):
        table.restore(1)
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    assert table.log.physical_names == {"a": "a", "b": "b"}
    assert table.selected() == [(1, "x")]


@pytest.mark.without("deletion-vectors", "row-tracking")
def test_removal_changes_nothing_on_an_unmapped_table(table: Table) -> None:
    table.create("a INT")

    with table.no_commit():
        stages = table.usage.remove_column_mapping(until="writers", progress=None)

    assert reached(stages) == [True, True, True]


@pytest.mark.without("row-tracking")
@pytest.mark.parametrize("until", ["readers", "writers"])
def test_blocked_later_stage_is_refused_before_the_first_statement(
    table: Table, until: Until
) -> None:
    table.create_tracked("a INT")
    table.alter("SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")

    reasons = {
        stage: f"{stage}: OTHER_FEATURE (deletionVectors)" for stage in ("readers", "writers")
    }
    wanted = list(reasons.values())[: 1 if until == "readers" else 2]
    with not_removable(table, "; ".join(wanted)):
        table.usage.remove_column_mapping(until=until, progress=None)

    with table.one_commit():
        stages = table.usage.remove_column_mapping(progress=None)
    assert reached(stages) == [True, False, False]
    assert {"columnMapping", FEATURE} <= table.log.writer_features


@pytest.mark.without("deletion-vectors")
@pytest.mark.parametrize("change", [None, "RENAME COLUMN a TO b"])
@pytest.mark.parametrize("rows", [[], ["(1)"]])
def test_iceberg_compat_blocks_empty_and_filled_tables(
    table: Table, rows: list[str], change: str | None
) -> None:
    """Delta refuses an empty table at once, and a filled table after it has rewritten all files."""
    table.create_tracked("a INT")
    table.alter("SET TBLPROPERTIES ('delta.enableIcebergCompatV2' = 'true')")
    for row in rows:
        table.insert(row)
    if change:
        table.alter(change)
    files = set(table.path.rglob("*.parquet"))
    usage = table.usage

    (first, *_) = usage.remove_column_mapping(dry_run=True)
    assert (first.cost, first.reasons[0].name) == ("BLOCKED", "icebergCompatV2")

    with not_removable(
        table, "unmapped: OTHER_FEATURE (icebergCompatV2, delta.enableIcebergCompatV2)"
    ):
        usage.remove_column_mapping(progress=None)
    assert set(table.path.rglob("*.parquet")) == files


def advice(table: Table, until: Until) -> str:
    with table.no_commit(), pytest.raises(CannotRemoveColumnMappingError) as refused:
        table.usage.remove_column_mapping(until=until, progress=None)
    return str(refused.value.params["advice"])


@pytest.mark.every_variant
@pytest.mark.without("deletion-vectors")
@pytest.mark.parametrize("version", [1, 2])
def test_removal_succeeds_after_the_advice_for_iceberg_compat(table: Table, version: int) -> None:
    """The feature remains in the protocol, because Delta drops it from no table."""
    key = f"delta.enableIcebergCompatV{version}"
    table.create("a INT", TRACKED, NAME_MODE, f"'{key}' = 'true'")
    table.insert("(1)")
    assert advice(table, "unmapped") == f"Set {key} to false, and call again."

    table.alter(f"SET TBLPROPERTIES ('{key}' = 'false')")
    table.usage.remove_column_mapping(until="unmapped", progress=None)

    assert table.log.configuration[MODE] == "none"
    with refusal("DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE"):
        table.alter(f"DROP FEATURE icebergCompatV{version}")
    assert advice(table, "readers").startswith("Copy the rows into a new table")
    assert copied_rows(table) == [(1,)]


@pytest.mark.without("deletion-vectors")
@ICEBERG_COMPAT_V3
def test_delta_neither_disables_nor_drops_iceberg_compat_v3(table: Table) -> None:
    table.create("a INT", TRACKED, NAME_MODE, "'delta.enableIcebergCompatV3' = 'true'")
    table.insert("(1)")

    with refusal():
        table.alter("SET TBLPROPERTIES ('delta.enableIcebergCompatV3' = 'false')")
    with refusal("DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE"):
        table.alter("DROP FEATURE icebergCompatV3")

    assert advice(table, "unmapped").startswith("Copy the rows into a new table")
    assert copied_rows(table) == [(1,)]


def copied_rows(table: Table, version: str = "") -> list[tuple[object, ...]]:
    """Returns the rows of a new table, from which column mapping need not be removed."""
    copy = Table(table.spark, table.path.with_name("copy"))
    table.spark.sql(f"CREATE TABLE {copy.name} USING delta AS SELECT * FROM {table.name} {version}")
    assert copy.usage.remove_column_mapping(dry_run=True)[0].reached
    return copy.selected()


@pytest.mark.broken_table("mapping_keys_remain")
def test_mapping_keys_of_another_engine_block_and_are_kept(table: Table) -> None:
    """Delta would rewrite all files to remove the keys."""
    table.create("a INT")
    table.insert("(1)")
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "a"}
    schema = json.loads(table.log.metadata["schemaString"])
    schema["fields"][0]["metadata"] = mapped
    metadata = {**table.log.metadata, "schemaString": json.dumps(schema)}
    table.log.append_foreign({"metaData": metadata})

    usage = table.usage
    with not_removable(table, "unmapped: MAPPING_METADATA_LEFT"):
        usage.remove_column_mapping(progress=None)
    (first, *_) = usage.remove_column_mapping(dry_run=True)

    assert (first.cost, first.reached, first.statements) == ("BLOCKED", False, ())
    assert [why.reason for why in first.reasons] == ["MAPPING_METADATA_LEFT"]
    assert table.log.fields["a"].metadata == mapped
    assert copied_rows(table) == [(1,)]


@pytest.mark.without("deletion-vectors")
@pytest.mark.broken_table("mapping_keys_remain", "file_columns")
def test_incomplete_removal_is_refused(table: Table) -> None:
    """Delta unsets the mode in another letter case without changing files or schema."""
    table.create("a INT", NAME_MODE)
    table.insert("(1)")
    table.alter("UNSET TBLPROPERTIES ('delta.columnmapping.MODE')")
    assert table.selected() == [(None,)]

    usage = table.usage
    with not_removable(table, "unmapped: MAPPING_METADATA_LEFT"):
        usage.remove_column_mapping(until="readers", progress=None)
    (first, *_) = usage.remove_column_mapping(dry_run=True)

    assert (first.cost, first.reached, first.statements) == ("BLOCKED", False, ())
    assert [why.reason for why in first.reasons] == [
        "MAPPING_METADATA_LEFT",
        "PHYSICAL_NAME_DIFFERS",
    ]
    assert copied_rows(table, "VERSION AS OF 1") == [(1,)]
    # Delta refuses to restore the table to a mapped version.
    table.spark.sql(f"INSERT OVERWRITE {table.name} SELECT * FROM {table.name} VERSION AS OF 1")
    assert table.selected() == [(1,)]


# Results.


@pytest.mark.without("auto-compact", "deletion-vectors")
def test_copy_reports_its_files(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    table.insert("(2, 'y')")
    table.alter("RENAME COLUMN b TO c")
    version, sizes = table.log.version, table.log.live_files

    stages = table.usage.remove_column_mapping(until="readers", progress=None)

    assert reached(stages) == [True, True, False]
    assert not set(table.log.live_files) & set(sizes)
    assert table.selected() == [(1, "x"), (2, "y")]
    (removed, dropped) = stages.done
    assert (removed.version_before, removed.version_after) == (version, version + 1)
    assert dropped.version_after == table.log.version
    assert (removed.copied, removed.kept) == (FileCount(2, sum(sizes.values())), FileCount())
    assert removed.rewritten == FileCount()
    assert (dropped.kept, dropped.copied, dropped.waits) == (None, None, False)
    assert removed.seconds > 0


@pytest.mark.without("auto-compact")
@pytest.mark.parametrize("rewritten", [False, True])
def test_removal_without_copies_reports_its_files(
    table: Table, conf: SetConf, *, rewritten: bool
) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    if rewritten:
        conf(REMOVAL, "rewrite")
    files = table.log.live_files

    (removed,) = table.usage.remove_column_mapping(progress=None).done

    expected = FileCount(1, sum(files.values())) if rewritten else FileCount()
    assert (removed.kept, removed.copied, removed.rewritten) == (
        FileCount(),
        FileCount(),
        expected,
    )
    assert removed.version_after == table.log.version


@pytest.mark.without("auto-compact", "deletion-vectors")
def test_copy_reports_its_own_files_beside_an_append(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN b TO c")

    def append(progress: Progress) -> None:
        if progress.finished:
            table.insert("(2, 'y')")

    (removed,) = table.usage.remove_column_mapping(progress=append).done

    assert removed.copied is not None
    assert removed.copied.num_files == 1
    assert removed.version_after == removed.version_before + 2


@pytest.mark.without("deletion-vectors")
@pytest.mark.matrix
def test_removal_until_readers_waits_without_fast_drop(table: Table, conf: SetConf) -> None:
    conf("spark.databricks.delta.tableFeatures.fastDropFeature.enabled", "false")
    table.create_tracked()
    table.insert("(1, 'x')")

    stages = table.usage.remove_column_mapping(until="readers", progress=None)

    assert reached(stages) == [True, False, False]
    assert [why.reason for why in stages[1].reasons] == ["RETENTION_PERIOD"]


# DROP FEATURE with TRUNCATE HISTORY, before and after the retention period.


@pytest.mark.without("deletion-vectors")
def test_drop_feature_with_truncate_history_keeps_files_and_drops_column_mapping(
    table: Table,
) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")
    files = table.log.live_files

    with refusal(WAIT):
        table.alter("DROP FEATURE columnMapping TRUNCATE HISTORY")

    operations = [commit[0]["commitInfo"]["operation"] for commit in table.log.commits]
    assert operations.count("REMOVE COLUMN MAPPING") == 1
    assert table.log.live_files == files
    assert MODE not in table.log.configuration

    table.age_log()
    table.alter("DROP FEATURE columnMapping TRUNCATE HISTORY")

    assert {"columnMapping", "checkpointProtection"}.isdisjoint(table.log.writer_features)
    assert table.log.protocol["minReaderVersion"] == 1
    assert FEATURE in table.log.writer_features
    assert table.selected() == [(1, "x")]


# Progress.


@pytest.mark.without("deletion-vectors")
def test_statements_are_reported_while_they_run(table: Table) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    seen: list[Progress] = []

    table.usage.remove_column_mapping(until="readers", progress=seen.append)

    statements = list(dict.fromkeys(progress.statement for progress in seen))
    assert ["SET" in statements[0], "DROP FEATURE" in statements[1]] == [True, True]
    for statement in statements:
        of_one = [progress for progress in seen if progress.statement == statement]
        assert [of_one[0].seconds < 1, of_one[0].finished] == [True, False]
        assert of_one[-1].finished
        assert 0 < of_one[-1].tasks_done <= of_one[-1].tasks
    assert seen == sorted(seen, key=lambda p: (statements.index(p.statement), p.seconds))


@pytest.fixture
def job_group(spark: SparkSession) -> Iterator[dict[str, str | None]]:
    """Sets a job group and a tag of the user, and yields the properties of the thread's jobs."""
    context = spark.sparkContext
    context.addJobTag("my-tag")
    context.setJobGroup("mine", "my job", interruptOnCancel=True)
    keys = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
    yield {key: context.getLocalProperty(key) for key in (*keys, "spark.job.tags")}
    for key in keys:
        context.setLocalProperty(key, None)  # type: ignore[arg-type]
    context.removeJobTag("my-tag")


def wait_for_a_held_stage(context: SparkContext, group: str) -> None:
    """Waits until a task of the group has run for half a second: it waits for the pipe.

    The test must not open the pipe, or the task could fail before the cancellation.
    """
    tracker = context.statusTracker()
    seen: list[int] = []
    while len(seen) < 10:
        jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(group))
        stages = {
            stage: tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds
        }
        running = [stage for stage, info in stages.items() if info and info.numActiveTasks]
        seen = [*seen, *running] if running == seen[-1:] or not seen else []
        time.sleep(0.05)


@pytest.mark.parametrize("progress", [None, lambda _: None])
def test_rewrite_is_cancelled_by_the_job_group_of_the_user(
    table: Table,
    job_group: dict[str, str | None],
    progress: Callable[[Progress], None] | None,
    conf: SetConf,
) -> None:
    conf(REMOVAL, "rewrite")
    table.create_tracked()
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    context = table.spark.sparkContext
    (data_file,) = (table.path / file for file in table.log.live_files)
    kept = data_file.rename(table.path.parent / data_file.name)
    os.mkfifo(data_file)

    def cancel_when_a_task_waits() -> None:
        wait_for_a_held_stage(context, "mine")
        context.cancelJobGroup("mine")

    canceller = InheritableThread(target=cancel_when_a_task_waits, daemon=True)
    canceller.start()

    with table.refusal("SPARK_JOB_CANCELLED"):
        table.usage.remove_column_mapping(progress=progress)
    canceller.join()
    os.close(os.open(data_file, os.O_RDWR))  # the cancelled task ends

    assert {key: context.getLocalProperty(key) for key in job_group} == job_group
    kept.replace(data_file)
    assert table.selected() == [(1, "x")]


def test_progress_has_the_round_and_the_remaining_files(
    table: Table, job_group: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_ext.tables.progress.INTERVAL_SECONDS", 0.05)
    table.create_tracked()
    table.insert("(1, 'x')")
    table.insert(f"(2, '{'y' * 999}')")
    table.alter("RENAME COLUMN a TO c")
    context = table.spark.sparkContext
    sizes = {path: (table.path / path).stat().st_size for path in table.log.live_files}
    longest = max(sizes, key=sizes.__getitem__)
    kept = (table.path / longest).rename(table.path.parent / Path(longest).name)
    os.mkfifo(table.path / longest)
    seen: list[Progress] = []

    def cancel_when_one_file_remains(progress: Progress) -> None:
        seen.append(progress)
        if (progress.round, progress.num_files) == (1, 1):
            context.cancelJobGroup("mine")
            tracker = context.statusTracker()
            while {"RUNNING"} & {
                info.status
                for info in map(tracker.getJobInfo, tracker.getJobIdsForGroup("mine"))
                if info
            }:
                time.sleep(0.05)
            os.close(os.open(table.path / longest, os.O_RDWR))  # the task ends

    with table.refusal("SPARK_JOB_CANCELLED"):
        table.usage.remove_column_mapping(progress=cancel_when_one_file_remains)
    kept.replace(table.path / longest)

    last = next(progress for progress in seen if progress.num_files == 1)
    assert last.size_in_bytes == sizes[longest]
    assert [seen[-1].finished, seen[-1].round] == [True, 0]


def test_job_group_of_the_user_is_kept(table: Table, job_group: dict[str, str | None]) -> None:
    table.create_tracked()
    seen: list[dict[str, str | None]] = []
    context = table.spark.sparkContext

    def look(_: Progress) -> None:
        seen.append({key: context.getLocalProperty(key) for key in job_group})

    table.usage.remove_column_mapping(progress=look)

    assert {key: context.getLocalProperty(key) for key in job_group} == job_group
    # While the statement runs, the jobs of the thread have one more tag, and nothing else changes.
    assert seen[0]["spark.job.tags"] != job_group["spark.job.tags"]
    assert {**seen[0], "spark.job.tags": "my-tag"} == job_group


def test_progress_is_printed_to_standard_error_by_default(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    table.create_tracked()

    table.usage.remove_column_mapping()

    lines = capsys.readouterr().err.splitlines()
    assert sum("SET TBLPROPERTIES" in line for line in lines) >= 2
    assert any(": done, " in line for line in lines)


def test_removal_setting_of_the_user_is_kept_when_it_is_set_meanwhile(spark: SparkSession) -> None:
    session = spark.newSession()

    with copying(session):
        assert session.conf.get(REMOVAL) == "copy"
        session.conf.set(REMOVAL, "rewrite")
        with copying(session):
            assert session.conf.get(REMOVAL) == "rewrite"

    assert session.conf.get(REMOVAL) == "rewrite"
    session.conf.unset(REMOVAL)
    with copying(session), copying(session):
        assert session.conf.get(REMOVAL) == "copy"
    assert session.conf.get(REMOVAL, None) is None
