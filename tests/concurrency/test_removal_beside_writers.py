# SPDX-License-Identifier: Apache-2.0
"""Tests that a removal by byte copy continues with its copies while others write.

Each writer commits between the copies and their commit, where Delta's conflict checks find it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.concurrency.statements import named_condition
from tests.support.delta_table import NAME_MODE, TRACKED, Table, in_turn, refusal
from tests.support.held_statement import HeldStatement, Step, with_conflicts
from tests.support.prepared import made_once
from tests.support.removal import (
    NONE_MODE,
    OPERATION,
    Action,
    assert_checksum_holds,
    data_files,
    live,
    local,
    metrics,
    newest_adds,
    pairs,
    setting,
    untouched,
)
from tests.support.table_log import TableLog
from tests.support.variants import in_matrix

VECTORS = "'delta.enableDeletionVectors' = 'true'"
NO_VECTORS = "'delta.enableDeletionVectors' = 'false'"
TIMEOUT = "spark.sparkext.columnMapping.removal.timeout"
CONFLICT = "USAGE_TRACKING_REMOVAL_CONFLICT"

SetConf = Callable[[str, str], None]
Rows = list[tuple[object, ...]]


@made_once
def used(table: Table, *properties: str, partitioned_by: str = "") -> Table:
    """Makes a table of four files with a renamed column `c`."""
    columns = "a INT, b STRING, d INT"
    options = {"partitioned_by": partitioned_by} if partitioned_by else {}
    table.create(columns, TRACKED, NAME_MODE, *(properties or [VECTORS]), **options)
    for number in range(4):
        table.spark.sql(
            f"INSERT INTO {table.name} SELECT /*+ COALESCE(1) */ * FROM VALUES"
            f" ({2 * number}, 'x{number}', 0), ({2 * number + 1}, 'y{number}', 0)"
        )
    table.alter("RENAME COLUMN b TO c")
    return table


def remove_mapping(table: Table) -> None:
    table.alter(f"SET TBLPROPERTIES ({NONE_MODE})")


def remove_beside(table: Table, *writers: Callable[[Table], object]) -> Exception | None:
    """Removes column mapping while one of the writers commits before each attempt to commit."""
    others = [lambda write=write: write(table) for write in writers]
    return with_conflicts(table.spark, lambda: remove_mapping(table), Step.COMMIT, others)


def assert_continues_beside(table: Table, write: Callable[[Table], object]) -> None:
    """Asserts that the removal succeeds and keeps every row of the writer."""
    seen: list[Rows] = []

    error = remove_beside(table, in_turn(write, lambda table: seen.append(table.rows())))

    assert error is None
    assert_removed(table, seen[0])


def sql(text: str) -> Callable[[Table], object]:
    return lambda table: table.spark.sql(text.format(t=table.name))


def restore(table: Table) -> None:
    table.spark.sql(f"RESTORE TABLE {table.name} TO VERSION AS OF {table.log.version - 1}")


def stream(table: Table) -> None:
    """Writes a batch by a streaming sink."""
    source = Table(table.spark, table.path.with_name("source")).create("a INT, c STRING, d INT")
    source.insert("(50, 'z', 1)")
    rows = table.spark.readStream.format("delta").load(str(source.path)).writeStream
    checkpoint = str(table.path.with_name("checkpoint"))
    writer = rows.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    writer.format("delta").start(str(table.path)).awaitTermination()


def purge(table: Table) -> None:
    """Deletes a row by a deletion vector, and purges the file."""
    WRITERS["delete"](table)
    with table.one_commit():
        table.spark.sql(f"REORG TABLE {table.name} APPLY (PURGE)")
    assert table.log.actions("remove")[0]["deletionVector"]["cardinality"] == 1


def assert_removed(table: Table, rows: Rows) -> None:
    """Asserts that column mapping is removed, and that every copy is in a commit."""
    log = table.log
    assert log.operation == OPERATION
    assert set(log.physical_names.values()) == {None}
    assert_checksum_holds(log)
    assert_other_metadata_is_kept(log)
    assert table.rows() == rows
    assert not copies(table) - named(table)


def assert_other_metadata_is_kept(log: TableLog) -> None:
    """Asserts that the removal kept all other metadata."""

    def other(found: dict[str, Any]) -> dict[str, Any]:
        return {key: told for key, told in found.items() if "columnMapping" not in key}

    before = log.at(log.version - 1)
    assert other(log.configuration) == other(before.configuration)
    assert log.protocol == before.protocol
    assert list(log.fields) == list(before.fields)
    for name, field in log.fields.items():
        assert other(field.metadata) == other(before.fields[name].metadata)


def parquet_files(table: Table) -> set[Path]:
    return {file for file in data_files(table.path) if file.suffix == ".parquet"}


def copies(table: Table) -> set[Path]:
    """Returns the copies: only Delta's writer puts the number `c000` into names."""
    return {file for file in parquet_files(table) if "c000" not in file.name}


def named(table: Table) -> set[Path]:
    return {table.path / path for path in newest_adds(table.log)}


MERGE = (
    "MERGE INTO {t} t USING (SELECT 1 AS k UNION ALL SELECT 50) ON a = k"
    " WHEN MATCHED THEN UPDATE SET d = 7 WHEN NOT MATCHED THEN INSERT (a, c, d) VALUES (k, 'm', 8)"
)
WRITERS: dict[str, Callable[[Table], object]] = {
    "append": sql("INSERT INTO {t} VALUES (50, 'z', 1)"),
    "stream": stream,
    "delete": sql("DELETE FROM {t} WHERE a = 1"),
    "delete of a file": sql("DELETE FROM {t} WHERE a < 2"),
    "update": sql("UPDATE {t} SET d = 9, c = 'u' WHERE a IN (1, 4)"),
    "merge": sql(MERGE),
    "optimize": sql("OPTIMIZE {t}"),
    "z-order": sql("OPTIMIZE {t} ZORDER BY (a)"),
    "overwrite": sql("INSERT OVERWRITE {t} VALUES (60, 'o', 6)"),
    "replace some": sql("INSERT INTO {t} REPLACE WHERE a = 1 VALUES (1, 'r', 6)"),
    "restore": restore,
    "properties": sql(
        "ALTER TABLE {t} SET TBLPROPERTIES ('a' = 'b', 'delta.appendOnly' = 'false')"
    ),
    "comment": sql("ALTER TABLE {t} ALTER COLUMN c COMMENT 'what it is'"),
    "constraint": sql("ALTER TABLE {t} ADD CONSTRAINT positive CHECK (a >= 0)"),
    "add a column": sql("ALTER TABLE {t} ADD COLUMN e INT"),
    "vacuum": sql("VACUUM {t}"),
    "row tracking": sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')"),
}
# The writers of one removal with several conflicts.
IN_TURN = ("append", "update", "add a column", "optimize", "merge")
# The effect of each on files and metadata equals that of another writer, or `IN_TURN` has it.
LIKE_OTHERS = (
    *IN_TURN,
    "stream",
    "z-order",
    "overwrite",
    "replace some",
    "properties",
    "comment",
    "vacuum",
    "row tracking",
)


@pytest.mark.every_variant
@pytest.mark.parametrize(
    "writer", [*(name for name in WRITERS if name not in LIKE_OTHERS), *in_matrix(*LIKE_OTHERS)]
)
def test_removal_continues_beside_a_writer(table: Table, writer: str) -> None:
    assert_continues_beside(used(table), WRITERS[writer])


@pytest.mark.parametrize("writer", WRITERS)
def test_removal_continues_beside_a_writer_without_deletion_vectors(
    table: Table, writer: str
) -> None:
    assert_continues_beside(used(table, NO_VECTORS), WRITERS[writer])


def test_removal_continues_beside_a_purge_of_deletion_vectors(table: Table) -> None:
    assert_continues_beside(used(table), purge)

    assert metrics(table.log)["numDiscardedFiles"] == 1


def test_removal_continues_beside_an_auto_compaction(table: Table, conf: SetConf) -> None:
    used(table, VECTORS, "'delta.autoOptimize.autoCompact' = 'true'")
    conf("spark.databricks.delta.autoCompact.minNumFiles", "2")

    assert_continues_beside(table, WRITERS["append"])

    [append, compaction] = [table.log.at(table.log.version - before) for before in (2, 1)]
    assert (append.operation, compaction.operation) == ("WRITE", "OPTIMIZE")
    assert compaction.actions("commitInfo")[0]["operationParameters"]["auto"] is True
    assert metrics(table.log)["numDiscardedFiles"] == 4


def test_removal_continues_beside_an_append_with_an_identity_column(table: Table) -> None:
    table.create("i BIGINT GENERATED ALWAYS AS IDENTITY, b STRING", TRACKED, NAME_MODE)
    insert = f"INSERT INTO {table.name} ({{b}}) VALUES ('{{value}}')"
    table.spark.sql(insert.format(b="b", value="x"))
    table.alter("RENAME COLUMN b TO c")

    assert_continues_beside(table, sql(insert.format(b="c", value="y")))

    assert table.log.fields["i"].metadata["delta.identity.highWaterMark"] == 2
    table.spark.sql(insert.format(b="c", value="z"))
    assert table.rows() == [(1, "x"), (2, "y"), (3, "z")]


def test_removal_continues_after_each_of_several_conflicts(table: Table, conf: SetConf) -> None:
    used(table, partitioned_by="d")
    conf(TIMEOUT, "400000d")  # the timeout may exceed a thousand years

    error = remove_beside(table, *(WRITERS[name] for name in IN_TURN))

    assert error is None
    told = metrics(table.log)
    assert told["numRounds"] == 5  # an added column needs no round
    assert told["numCopiedFiles"] == len(table.log.live_files)
    assert_removed(table, table.rows())


def test_copies_are_reused_in_later_rounds(table: Table) -> None:
    used(table)

    remove_beside(table, WRITERS["append"], WRITERS["delete"])

    told = metrics(table.log)
    assert (told["numRounds"], told["numCopiedFiles"]) == (2, 5)
    assert (told["numDiscardedFiles"], told["numDiscardedBytes"]) == (0, 0)
    [vector] = [add for add in table.log.actions("add") if "deletionVector" in add]
    assert vector["deletionVector"]["cardinality"] == 1
    assert table.rows()[0] == (0, "x0", 0)
    assert (1, "y0", 0) not in table.rows()


def test_discarded_copies_are_counted_and_deleted(table: Table) -> None:
    used(table)
    before = parquet_files(table)

    remove_beside(table, WRITERS["delete of a file"])

    told = metrics(table.log)
    assert (told["numRounds"], told["numCopiedFiles"], told["numDiscardedFiles"]) == (1, 3, 1)
    assert told["numDiscardedBytes"] > 0
    assert len(parquet_files(table) - before) == 3
    assert_removed(table, table.rows())


def test_copies_are_used_again_when_their_files_are_restored(table: Table) -> None:
    used(table)
    rows = table.rows()

    remove_beside(table, WRITERS["delete of a file"], restore)

    assert metrics(table.log)["numRounds"] == 1
    assert_removed(table, rows)


# Features that another writer enables and uses during the removal.

FEATURES = {
    "change data feed": ("delta.enableChangeDataFeed", WRITERS["update"]),
    "deletion vectors": ("delta.enableDeletionVectors", WRITERS["delete"]),
    "type widening": (
        "delta.enableTypeWidening",
        sql("ALTER TABLE {t} ALTER COLUMN d TYPE BIGINT"),
    ),
    "in-commit timestamps": ("delta.enableInCommitTimestamps", WRITERS["append"]),
    "row tracking": ("delta.enableRowTracking", WRITERS["update"]),
}


@pytest.mark.every_variant
@pytest.mark.parametrize("is_used", [False, *in_matrix(True)])
@pytest.mark.parametrize(
    "feature",
    [
        "change data feed",
        "type widening",
        "in-commit timestamps",
        # The test of the newest statistics, row ids and tags enables these two.
        *in_matrix("deletion vectors", "row tracking"),
    ],
)
def test_removal_continues_when_a_feature_is_enabled_during_it(
    table: Table, feature: str, is_used: bool
) -> None:
    key, use = FEATURES[feature]
    enable = f"SET TBLPROPERTIES ('{key}' = 'true')"

    assert_continues_beside(
        used(table, NO_VECTORS),
        in_turn(lambda table: table.alter(enable), *([use] if is_used else [])),
    )

    assert table.log.configuration[key] == "true"
    if feature == "in-commit timestamps":
        times = [log.actions("commitInfo")[0]["inCommitTimestamp"] for log in last(table, 2)]
        assert times == sorted(set(times))


def last(table: Table, commits: int) -> list[TableLog]:
    """Returns the newest versions in order."""
    newest = table.log.version
    return [table.log.at(version) for version in range(newest - commits + 1, newest + 1)]


def test_values_written_after_a_type_change_during_removal_have_the_wider_type(
    table: Table,
) -> None:
    used(table, NO_VECTORS, "'delta.enableTypeWidening' = 'true'")

    assert_continues_beside(
        table,
        in_turn(
            lambda table: table.alter("ALTER COLUMN d TYPE BIGINT"),
            lambda table: table.insert(f"(50, 'z', {2**40})"),
        ),
    )

    assert table.log.fields["d"].type == "long"
    [change] = table.log.fields["d"].metadata["delta.typeChanges"]
    assert (change["fromType"], change["toType"]) == ("integer", "long")
    assert table.selected("d")[-1] == (2**40,)
    assert table.frame().where("d = 0").count() == 8


# The newest actions of files.


def test_copies_have_the_newest_statistics_row_ids_and_tags_of_their_sources(table: Table) -> None:
    """Each file gets other statistics, a first row id and a tag after its copy was made."""
    used(table, NO_VECTORS, "'delta.dataSkippingNumIndexedCols' = '0'")
    early = live(table.log)

    error = remove_beside(
        table,
        WRITERS["row tracking"],
        recompute_statistics,
        tag,
        in_turn(lambda table: table.alter(f"SET TBLPROPERTIES ({VECTORS})"), WRITERS["delete"]),
    )

    assert error is None
    assert len(pairs(table.log)) == len(early) == 4
    for old, new in pairs(table.log):
        first = early[old["path"]]
        assert "baseRowId" not in first
        assert "maxValues" not in json.loads(first["stats"])
        assert json.loads(new["stats"]) == under_names_of_the_table(old)
        assert json.loads(new["stats"])["maxValues"].keys() == {"a", "c", "d"}
        assert new["tags"] == old["tags"] == {"of": old["path"]}
        for key in ("baseRowId", "defaultRowCommitVersion", "deletionVector"):
            assert new.get(key) == old.get(key)
        assert new["baseRowId"] >= 0
    assert sum("deletionVector" in add for add in table.log.actions("add")) == 1
    assert_removed(table, table.rows())


@pytest.mark.parametrize("writer", ["append", "update", "merge", "optimize", "delete", "restore"])
def test_rows_keep_the_row_ids_of_the_newest_version(table: Table, writer: str) -> None:
    used(table, VECTORS, "'delta.enableRowTracking' = 'true'")
    seen: list[Rows] = []

    def ids() -> Rows:
        return table.selected("*, _metadata.row_id, _metadata.row_commit_version")

    error = remove_beside(table, in_turn(WRITERS[writer], lambda _: seen.append(ids())))

    assert error is None
    assert ids() == seen[0]
    assert_removed(table, table.rows())
    table.insert("(70, 'new', 1)")
    assert len({row[-2] for row in ids()}) == len(seen[0]) + 1


def recompute_statistics(table: Table) -> None:
    """Recomputes statistics by a function of Delta that no statement calls."""
    table.alter("SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '9')")
    jvm: Any = table.spark._jvm
    delta = jvm.org.apache.spark.sql.delta
    session = table.spark._jsparkSession
    collection = delta.stats.StatisticsCollection
    with table.one_commit():
        collection.recompute(
            session,
            delta.DeltaLog.forTable(session, str(table.path)),
            getattr(jvm, "scala.None$").__getattr__("MODULE$"),
            getattr(collection, "recompute$default$4")(),
            getattr(collection, "recompute$default$5")(),
        )


def tag(table: Table) -> None:
    """Commits the action of every file again with a tag, as another engine may."""
    table.log.append_foreign(
        *(
            {"add": {**add, "tags": {"of": path}, "dataChange": False}}
            for path, add in live(table.log).items()
        )
    )


def under_names_of_the_table(add: Action) -> Any:
    """Returns the statistics of a file under the new name of `b`."""
    return {
        key: {"c" if name == "b" else name: told for name, told in value.items()}
        if isinstance(value, dict)
        else value
        for key, value in json.loads(add["stats"]).items()
    }


# Names that change during the removal.


def test_column_renamed_during_removal_has_its_new_name(table: Table) -> None:
    used(table)

    error = remove_beside(table, lambda _: table.alter("RENAME COLUMN c TO f"))

    assert error is None
    assert list(table.log.physical_names) == ["a", "f", "d"]
    assert metrics(table.log)["numDiscardedFiles"] == 4
    assert table.selected("f")[0] == ("x0",)
    assert_removed(table, table.rows())


def test_column_dropped_during_removal_is_not_restored(table: Table) -> None:
    used(table)

    error = remove_beside(table, lambda _: table.alter("DROP COLUMN c"))
    table.alter("ADD COLUMN c STRING")

    assert error is None
    assert set(table.selected("c")) == {(None,)}


def test_metadata_only_removal_copies_files_when_a_rename_sets_the_flag(table: Table) -> None:
    table.create("a INT, b STRING", TRACKED, NAME_MODE)
    table.insert("(1, 'x')")

    error = remove_beside(table, lambda _: table.alter("RENAME COLUMN b TO c"))

    assert error is None
    assert table.log.flag == "true"
    assert metrics(table.log)["numCopiedFiles"] == 1
    assert_removed(table, [(1, "x")])


def test_metadata_only_removal_continues_beside_changes_of_metadata(table: Table) -> None:
    table.create("a INT, b STRING", TRACKED, NAME_MODE)
    table.insert("(1, 'x')")

    error = remove_beside(
        table,
        lambda _: table.alter("ADD COLUMN c INT"),
        lambda _: table.insert("(2, 'y', 3)"),
    )

    assert error is None
    assert table.log.flag == "false"
    assert_removed(table, [(1, "x", None), (2, "y", 3)])


def test_removal_fails_when_another_removal_commits_first(table: Table) -> None:
    used(table)

    error = remove_beside(table, remove_mapping)

    assert error is not None
    assert named_condition(error) == "DELTA_METADATA_CHANGED"
    assert_removed(table, table.rows())


def test_removal_fails_when_the_table_is_replaced(table: Table) -> None:
    used(table)
    replace = (
        f"CREATE OR REPLACE TABLE {{t}} USING delta TBLPROPERTIES ({NAME_MODE}) AS SELECT 1 AS a"
    )

    error = remove_beside(table, sql(replace))

    assert error is not None
    assert named_condition(error) == "DELTA_METADATA_CHANGED"
    assert table.rows() == [(1,)]
    assert not copies(table)


def test_clustering_columns_set_during_removal_have_logical_names(table: Table) -> None:
    table.create("a INT, b STRING", TRACKED, NAME_MODE)
    table.alter("CLUSTER BY (a)")
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN b TO c")
    table.alter("CLUSTER BY NONE")

    error = remove_beside(table, lambda _: table.alter("CLUSTER BY (c)"))

    assert error is None
    [domain] = [d for d in table.log.actions("domainMetadata") if d["domain"] == "delta.clustering"]
    assert '[["c"]]' in domain["configuration"]
    table.spark.sql(f"OPTIMIZE {table.name}")
    assert table.rows() == [(1, "x")]


# Files outside of the table's folder.


@pytest.mark.parametrize(
    "writer", ["append", "stream", "delete", "delete of a file", "merge", "optimize", "restore"]
)
def test_removal_in_a_shallow_clone_continues_and_keeps_the_files_of_the_source(
    table: Table, tmp_path: Path, writer: str
) -> None:
    source = used(Table(table.spark, tmp_path / "original"))
    table.spark.sql(f"CREATE TABLE {table.name} SHALLOW CLONE {source.name}")
    table.insert("(9, 'w', 0)")

    with untouched(source):
        assert_continues_beside(table, WRITERS[writer])

    assert {local(table.path, path).parent for path in table.log.live_files} == {table.path}
    assert source.rows() == [(a, f"{'xy'[a % 2]}{a // 2}", 0) for a in range(8)]


# The end of a removal that has conflicts.


def test_removal_fails_after_the_timeout_and_deletes_its_copies(
    table: Table, conf: SetConf
) -> None:
    used(table)
    conf(TIMEOUT, "0s")
    files = parquet_files(table)

    with refusal(CONFLICT) as refused:
        error = remove_beside(table, WRITERS["append"])
        assert error is not None
        raise error

    told = refused.value.getMessageParameters()
    assert (told["rounds"], told["attempts"], told["operation"]) == ("1", "1", "WRITE")
    assert int(told["version"]) == table.log.version
    assert refused.value.getSqlState() == "40001"
    assert table.log.operation == "WRITE"
    assert len(parquet_files(table) - files) == 1


def test_conflict_names_the_last_commit_when_its_writer_gave_no_operation(
    table: Table, conf: SetConf
) -> None:
    used(table)
    conf(TIMEOUT, "0s")

    def without_operation(table: Table) -> None:
        action = {"txn": {"appId": "x", "version": 1}}
        file = table.path / "_delta_log" / f"{table.log.version + 1:020}.json"
        file.write_text(json.dumps(action))

    with refusal(CONFLICT) as refused:
        error = remove_beside(table, in_turn(WRITERS["append"], without_operation))
        assert error is not None
        raise error

    told = refused.value.getMessageParameters()
    assert (int(told["version"]), told["operation"]) == (table.log.version, "unknown")


@pytest.mark.broken_table("file_unreadable")
def test_unreadable_file_in_the_second_round_fails_the_removal_and_deletes_its_copies(
    table: Table,
) -> None:
    used(table)
    seen: list[set[Path]] = []

    def append_garbage(_: Table) -> None:
        WRITERS["append"](table)
        [add] = table.log.actions("add")
        assert len(copies(table)) == 4
        (table.path / add["path"]).write_bytes(b"x" * add["size"])
        seen.append(data_files(table.path) - copies(table))

    error = remove_beside(table, append_garbage)

    assert error is not None
    assert named_condition(error) == "USAGE_TRACKING_UNREADABLE_DATA_FILE"
    assert table.log.operation == "WRITE"
    assert data_files(table.path) == seen[0]


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ("RENAME COLUMN c TO `c c`", "DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING"),
        (
            "SET TBLPROPERTIES ('delta.enableIcebergCompatV1' = 'true')",
            "DELTA_ICEBERG_COMPAT_VIOLATION",
        ),
    ],
)
def test_refusal_by_delta_after_a_concurrent_change_deletes_the_copies(
    table: Table, change: str, condition: str
) -> None:
    used(table, NO_VECTORS)
    before = data_files(table.path)

    def alter(_: Table) -> None:
        assert len(copies(table)) == 4
        table.alter(change)

    error = remove_beside(table, alter)

    assert error is not None
    assert named_condition(error) == condition
    assert table.log.operation != OPERATION
    assert data_files(table.path) == before


@pytest.mark.parametrize("step", [Step.COMMIT, Step.PREPARE])
@pytest.mark.parametrize("has_conflict", [False, True])
def test_cancel_before_the_log_entry_is_written_deletes_the_copies(
    table: Table, step: Step, has_conflict: bool
) -> None:
    used(table)
    threads: list[Any] = []

    def remove_on_a_known_thread() -> None:
        jvm: Any = table.spark._jvm
        threads.append(jvm.java.lang.Thread.currentThread())
        remove_mapping(table)

    with HeldStatement(table.spark, remove_on_a_known_thread, step) as held:
        assert len(copies(table)) == 4
        if has_conflict:
            WRITERS["append"](table)
        before = data_files(table.path) - copies(table)
        threads[0].interrupt()
        with table.no_commit():
            error = held.release()

    assert "InterruptedException" in str(error)
    assert data_files(table.path) == before


def test_removal_without_other_writers_needs_one_round(table: Table, conf: SetConf) -> None:
    used(table)
    conf(TIMEOUT, "0s")

    remove_mapping(table)

    assert metrics(table.log)["numRounds"] == 1
    assert_removed(table, table.rows())


# Files that are rewritten row by row.


@made_once
def with_rewrites(table: Table, *properties: str) -> Table:
    """Creates two files that Delta must rewrite: all fields of their struct were dropped."""
    table.create("a INT, s STRUCT<x: INT>", TRACKED, NAME_MODE, VECTORS, *properties)
    for number in range(2):
        table.spark.sql(
            f"INSERT INTO {table.name} SELECT /*+ COALESCE(1) */ * FROM VALUES"
            f" ({2 * number}, named_struct('x', 1)), ({2 * number + 1}, named_struct('x', 2))"
        )
    table.alter("ADD COLUMN s.y INT")
    table.alter("DROP COLUMN s.x")
    return table


@pytest.mark.parametrize("writer", ["delete", "optimize", *in_matrix("append", "delete of a file")])
def test_rewritten_rows_are_the_rows_of_the_newest_version(table: Table, writer: str) -> None:
    with_rewrites(table)
    writers = {**WRITERS, "append": sql("INSERT INTO {t} VALUES (50, named_struct('y', 1))")}
    seen: list[Rows] = []

    error = remove_beside(
        table, in_turn(writers[writer], lambda table: seen.append(table.selected("a")))
    )

    assert error is None
    assert table.selected("a") == seen[0]
    assert_removed(table, table.rows())


# Files that others delete from the storage.


def test_copies_deleted_by_vacuum_are_made_again(table: Table, conf: SetConf) -> None:
    used(table)
    rows = table.rows()
    conf("spark.databricks.delta.retentionDurationCheck.enabled", "false")

    vacuum = sql("VACUUM {t} RETAIN 0 HOURS")
    error = remove_beside(table, in_turn(vacuum, WRITERS["append"]))

    assert error is None
    assert metrics(table.log)["numRounds"] == 2
    assert_removed(table, sorted([*rows, (50, "z", 1)], key=repr))


@pytest.mark.parametrize("writer", ["delete", "append", "properties"])
def test_copies_deleted_by_an_unlogged_vacuum_are_made_again(
    table: Table, conf: SetConf, writer: str
) -> None:
    """Delta logs VACUUM by this setting; the default depends on the storage."""
    used(table)
    conf("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    conf("spark.databricks.delta.vacuum.logging.enabled", "false")

    def vacuum(_: Table) -> None:
        assert copies(table)
        with table.no_commit():
            table.spark.sql(f"VACUUM {table.name} RETAIN 0 HOURS")
        assert not copies(table)
        WRITERS[writer](table)

    assert_continues_beside(table, vacuum)


def test_removal_ignores_a_missing_file_that_is_no_longer_live(table: Table) -> None:
    used(table)

    with HeldStatement(table.spark, lambda: remove_mapping(table), Step.START) as held:
        missing = next(iter(table.log.live_files))
        WRITERS["overwrite"](table)
        (table.path / missing).unlink()
        error = held.release()

    assert error is None
    assert_removed(table, [(60, "o", 6)])


def test_removal_by_rewrite_fails_by_a_conflict_as_in_plain_delta(table: Table) -> None:
    used(table)

    with setting(table, "rewrite"):
        error = remove_beside(table, WRITERS["append"])

    assert error is not None
    assert named_condition(error) == "DELTA_CONCURRENT_APPEND"
