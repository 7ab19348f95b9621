# SPDX-License-Identifier: Apache-2.0
"""Makes the golden tables by the steps `made` in their JSON: `make golden`.

A table of docs/golden is unchanged if the new table differs only in times, sizes, file names and
UUIDs.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow.parquet
from pyspark.sql import SparkSession

import spark_ext
from tests.golden.plain import plain_session
from tests.golden.workshop import (
    change_columns,
    change_properties,
    checkpoints,
    commit_file,
    commit_metadata,
    commit_protocol,
    forget_checksums,
)
from tests.support.golden_tables import GOLDEN, HOME, STATES, masked, rewrite_paths
from tests.support.sessions import small_session
from tests.support.table_log import TableLog, local

Json = dict[str, Any]
Statements = Callable[[list[str]], object]

# The source of the clones.
SOURCE = "flag_false"


def make(folder: Path, spark: SparkSession, plain: Statements) -> None:
    """Makes every table in a new folder.

    Args:
        folder: The new folder.
        spark: A session with spark-ext.
        plain: Runs statements in a session without spark-ext.
    """
    folder.mkdir()
    for name in sorted(STATES, key=lambda name: name != SOURCE):
        for by, steps in groupby(STATES[name]["made"], key=lambda step: step["by"]):
            if by == "hand":
                for step in steps:
                    commit_by_hand(folder / name, step)
                continue
            statements = [statement(step["sql"], name, folder) for step in steps]
            if by == "delta-spark":
                plain(statements)
            else:
                for sql in statements:
                    spark.sql(sql)
        _delete_checksums_and_checkpoints(folder / name)
    rewrite_paths(folder, f"{folder}/", HOME)


def commit_by_hand(table: Path, step: Json) -> None:
    """Commits properties, a column, a writer feature or a file, as the JSON has them."""
    if "row" in step:
        commit_file(table, step["row"], step["names"])
        return
    if "writerFeature" in step:
        features = [*TableLog(table).protocol["writerFeatures"], step["writerFeature"]]
        commit_protocol(table, writerFeatures=features)
        return
    commit_metadata(table, lambda metadata: _change(metadata, step))


def _change(metadata: Json, step: Json) -> None:
    change_properties(metadata, **step["properties"])
    if "column" in step:
        change_columns(metadata, lambda columns: columns.append(step["column"]))


def statement(sql: str, name: str, folder: Path) -> str:
    """Returns a statement for a folder: `{t}` is the table, `{name}` another table."""
    tables = {other: f"delta.`{folder / other}`" for other in STATES}
    return sql.format(t=tables[name], **tables)


def _delete_checksums_and_checkpoints(table: Path) -> None:
    """The checkpoint of a CLONE has absolute paths in Parquet, and no test needs it."""
    forget_checksums(table)
    hints = (table / "_delta_log").glob("_last_checkpoint")
    for file in (*table.rglob(".*.crc"), *checkpoints(table), *hints):
        file.unlink()


def comparable(table: Path) -> list[list[Json]]:
    """Returns the actions of each commit without the values that differ in each run.

    These are times, sizes, ids of tables and transactions, file names, UUIDs, and every field of
    `commitInfo` except the operation.
    """
    commits = sorted((table / "_delta_log").glob("*.json"))
    return [
        sorted(
            (_comparable(table, json.loads(line)) for line in commit.read_text().splitlines()),
            key=lambda action: json.dumps(action, sort_keys=True),
        )
        for commit in commits
    ]


def _comparable(table: Path, action: Json) -> Json:
    ((kind, body),) = action.items()
    if kind == "commitInfo":
        return {kind: body["operation"]}
    if kind == "protocol":
        return {kind: {**body, "writerFeatures": sorted(body.get("writerFeatures", []))}}
    if kind == "metaData":
        schema = json.loads(masked(body["schemaString"]))
        return {kind: [schema, body["configuration"], body["partitionColumns"]]}
    absolute = "://" in body["path"] or body["path"].startswith("file:")
    found: Json = {"absolute": absolute, "dataChange": body["dataChange"]}
    found["partition"] = body["partitionValues"]
    if kind == "add":
        found["stats"] = json.loads(masked(body["stats"]))
        file = local(table, body["path"].replace(HOME, f"{table.parent}/"))
        rows = pyarrow.parquet.ParquetFile(file).read()
        names = [masked(str(field)) for field in rows.schema.remove_metadata()]
        found["rows"] = [names, [masked(str(list(row.values()))) for row in rows.to_pylist()]]
    return {kind: found}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="golden-") as home:
        folder = Path(home).resolve()
        builder = small_session(SparkSession.builder, folder / "warehouse")
        spark = spark_ext.configure(builder).getOrCreate()
        with plain_session(spark, folder) as plain:
            make(folder / "tables", spark, plain)
        spark.stop()
        for name in STATES:
            old, new = GOLDEN / name, folder / "tables" / name
            if old.exists() and comparable(old) == comparable(new):
                print(f"{name}: as it was")
                continue
            shutil.rmtree(old, ignore_errors=True)
            shutil.copytree(new, old)
            print(f"{name}: made")


if __name__ == "__main__":
    main()
