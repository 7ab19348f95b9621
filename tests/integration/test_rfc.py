# SPDX-License-Identifier: Apache-2.0
"""Tests the requirements of the RFC, and the eleven situations of the draft for Delta.

The draft is delta-io/delta#2706. It was never merged. Its `ColumnMappingUsageTrackingSuite` has a
test for each situation, whose title names the situation here. `docs/design.md` says where and why
the results differ from the draft's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from pyspark.sql import SparkSession

from tests.support.delta_table import Table, create_like
from tests.support.session_conf import SetConf
from tests.support.sessions import warehouse_of
from tests.support.table_log import FEATURE

DEFAULTS = "spark.databricks.delta.properties.defaults"
MODE_DEFAULT = f"{DEFAULTS}.columnMapping.mode"
FEATURE_DEFAULT = f"{DEFAULTS}.feature.{FEATURE}"

CREATE = "CREATE TABLE t (id INT, name STRING) USING delta"
CREATE_SOURCE = "CREATE TABLE s (id INT, name STRING) USING delta"
RENAME_IN_SOURCE = "ALTER TABLE s RENAME COLUMN name TO first_name"
ADD_TO_SOURCE = "ALTER TABLE s ADD COLUMN last_name STRING"
ADD = "ALTER TABLE t ADD COLUMN last_name STRING"
ADD_AGE = "ALTER TABLE t ADD COLUMN age INT"
CLONE = "CREATE TABLE t SHALLOW CLONE s"
LIKE = "CREATE TABLE t LIKE s"
BY_DATAFRAME = "spark.sql(\"SELECT 0 AS id, 'name' AS name\").write.saveAsTable"
TRACK = f"ALTER TABLE t SET TBLPROPERTIES ('delta.feature.{FEATURE}' = 'supported')"
MAP = "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
UNMAP = "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
UNTRACKED = f"RESET {FEATURE_DEFAULT}"
UNMAPPED = f"SET {MODE_DEFAULT} = none"
TRACKED = f"SET {FEATURE_DEFAULT} = supported"

UUID = "col-<uuid>"
CREATED = {"id": "id", "name": "name"}
MAPPED_BY_DELTA = {"id": UUID, "name": UUID}

Steps = list[tuple[str, str | None, Mapping[str, str | None]]]
"""Statements, each with the flag and the physical names of `t` after it."""


def prepared(*statements: str) -> Steps:
    """Returns statements that are run before `t` exists."""
    return [(statement, None, {}) for statement in statements]


SITUATIONS: dict[str, Steps] = {
    "add column without dropping or renaming column": [
        (CREATE, "false", CREATED),
        (ADD, "false", {**CREATED, "last_name": "last_name"}),
    ],
    "add column after dropping column": [
        (CREATE, "false", CREATED),
        ("ALTER TABLE t DROP COLUMN id", "true", {"name": "name"}),
        (ADD, "true", {"name": "name", "last_name": UUID}),
    ],
    "add column after renaming column": [
        (CREATE, "false", CREATED),
        (
            "ALTER TABLE t RENAME COLUMN name TO first_name",
            "true",
            {"id": "id", "first_name": "name"},
        ),
        (ADD, "true", {"id": "id", "first_name": "name", "last_name": UUID}),
    ],
    # The draft gives `first name` a UUID.
    "create table with invalid column names": [
        (
            "CREATE TABLE t (id INT, `first name` STRING) USING delta",
            "false",
            {"id": "id", "first name": "first name"},
        ),
    ],
    # In the draft, the flag is `false`.
    "create table like": [
        *prepared(CREATE_SOURCE, RENAME_IN_SOURCE, ADD_TO_SOURCE),
        (LIKE, "true", {"id": "id", "first_name": "name", "last_name": UUID}),
        (ADD_AGE, "true", {"id": "id", "first_name": "name", "last_name": UUID, "age": UUID}),
    ],
    "create table using dataframe": [
        (BY_DATAFRAME, "false", CREATED),
    ],
    "clone table with renamed column": [
        *prepared(CREATE_SOURCE, RENAME_IN_SOURCE, ADD_TO_SOURCE),
        (CLONE, "true", {"id": "id", "first_name": "name", "last_name": UUID}),
        (ADD_AGE, "true", {"id": "id", "first_name": "name", "last_name": UUID, "age": UUID}),
    ],
    "clone table without dropped or renamed column": [
        *prepared(CREATE_SOURCE, ADD_TO_SOURCE),
        (CLONE, "false", {**CREATED, "last_name": "last_name"}),
        (ADD_AGE, "false", {**CREATED, "last_name": "last_name", "age": "age"}),
    ],
    # In the draft, the clone is tracked with the flag `false`, and `age` has its logical name.
    "clone table without column mapping tracking enabled": [
        *prepared(UNTRACKED, CREATE_SOURCE, RENAME_IN_SOURCE, ADD_TO_SOURCE, TRACKED),
        (CLONE, None, {"id": UUID, "first_name": UUID, "last_name": UUID}),
        (ADD_AGE, None, {"id": UUID, "first_name": UUID, "last_name": UUID, "age": UUID}),
    ],
    "enabled after creation with column mapping": [
        *prepared(UNTRACKED),
        (CREATE, None, MAPPED_BY_DELTA),
        (TRACK, "true", MAPPED_BY_DELTA),
        (ADD, "true", {**MAPPED_BY_DELTA, "last_name": UUID}),
    ],
    "enabled after creation without column mapping": [
        *prepared(UNTRACKED, UNMAPPED),
        (CREATE, None, {"id": None, "name": None}),
        (TRACK, "false", {"id": None, "name": None}),
        (MAP, "false", CREATED),
        (ADD, "false", {**CREATED, "last_name": "last_name"}),
    ],
}

SENTENCES: dict[str, Steps] = {
    "When enabling column mapping on existing table, the physical name of the column must be set to"
    " the (logical) name of the column.": [
        *prepared(UNTRACKED, UNMAPPED),
        (CREATE, None, {"id": None, "name": None}),
        (MAP, None, CREATED),
    ],
    "Otherwise the physical column name must contain a universally unique identifier (UUID) to"
    " guarantee uniqueness.": [
        *prepared(UNTRACKED, UNMAPPED),
        (CREATE, None, {"id": None, "name": None}),
        (MAP, None, CREATED),
        (ADD, None, {**CREATED, "last_name": UUID}),
        (TRACK, "true", {**CREATED, "last_name": UUID}),
        (ADD_AGE, "true", {**CREATED, "last_name": UUID, "age": UUID}),
    ],
    "After `delta.columnMapping.hasDroppedOrRenamed` is set to `true` it must never be set back to"
    " `false` again.": [
        (CREATE, "false", CREATED),
        ("ALTER TABLE t DROP COLUMN id", "true", {"name": "name"}),
        ("RESTORE TABLE t TO VERSION AS OF 0", "true", CREATED),
        (UNMAP, "true", {"id": None, "name": None}),
        (MAP, "true", CREATED),
    ],
}
"""Sentences of the RFC that the situations do not decide."""


@pytest.fixture
def target(spark: SparkSession, conf: SetConf) -> Iterator[Table]:
    """Yields the table `t`, which does not exist yet. New tables are mapped and tracked."""
    conf(MODE_DEFAULT, "name")
    conf(FEATURE_DEFAULT, "supported")
    yield Table(spark, warehouse_of(spark) / "t", "t")
    spark.sql("DROP TABLE IF EXISTS t")
    spark.sql("DROP TABLE IF EXISTS s")


@pytest.mark.every_variant
@pytest.mark.parametrize("situation", SITUATIONS)
def test_situation_of_the_draft_has_flag_and_names(target: Table, situation: str) -> None:
    assert_steps(target, SITUATIONS[situation])


@pytest.mark.every_variant
@pytest.mark.parametrize("sentence", SENTENCES)
def test_sentence_of_the_rfc_holds(target: Table, sentence: str) -> None:
    assert_steps(target, SENTENCES[sentence])


def test_tracking_that_is_enabled_writes_protocol_and_metadata(target: Table) -> None:
    for enable in (CREATE, TRACK):
        target.spark.sql("DROP TABLE IF EXISTS t")
        if enable == TRACK:
            target.spark.sql(UNTRACKED)
            target.spark.sql(CREATE)
        target.spark.sql(enable)

        (protocol,) = target.log.actions("protocol")
        assert (protocol["minWriterVersion"], FEATURE in protocol["writerFeatures"]) == (7, True)
        assert target.log.actions("metaData")


def assert_steps(table: Table, steps: Steps) -> None:
    """Runs each statement, and asserts its flag and its physical names."""
    for statement, flag, names in steps:
        run(table.spark, statement)
        if names:
            log = table.log
            found = {path: name for path, (_, name) in log.columns.items()}
            assert (log.flag, found) == (flag, names), statement


def run(spark: SparkSession, statement: str) -> None:
    if statement == BY_DATAFRAME:
        rows = spark.sql("SELECT 0 AS id, 'name' AS name")
        rows.write.format("delta").saveAsTable("t")
    elif statement == LIKE:
        create_like(spark, "t", "s")
    else:
        spark.sql(statement)
