# SPDX-License-Identifier: Apache-2.0
"""Shows usage tracking on real tables: `make demo`.

The same statements run on a tracked table and on an untracked table, and end with the removal of
column mapping. The demo prints what it reads from the log, from the Parquet files, and by
`deltalake`, a reader that ignores column mapping.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

import spark_ext

ROWS = 300_000
FLAG = "delta.columnMapping.hasDroppedOrRenamed"
TRACKED = "'delta.feature.columnMappingUsageTracking' = 'supported'"
NAME_MODE = "'delta.columnMapping.mode' = 'name'"

console = Console(width=100, highlight=False)


def main() -> None:
    """Runs the demo in a temporary folder, which is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="spark-ext-demo-"))
    console.print("Starting Spark, which fetches Delta's jars the first time ..\n")
    try:
        with quiet(folder / "standard-error.txt"):
            spark = session(folder)
            story(spark, folder)
            spark.stop()
    finally:
        shutil.rmtree(folder)


@contextmanager
def quiet(file: Path) -> Iterator[None]:
    """Writes standard error to a file, and shows the file if the body fails."""
    screen = os.dup(2)
    with file.open("ab") as kept:
        os.dup2(kept.fileno(), 2)  # the JVM inherits it
    try:
        yield
    except BaseException:
        os.dup2(screen, 2)
        sys.stderr.write(file.read_text(errors="replace"))
        raise
    finally:
        os.dup2(screen, 2)
        os.close(screen)


def session(folder: Path) -> SparkSession:
    """Returns a small local session, to which `spark_ext.configure` adds the plugin."""
    log_settings = Path(__file__).parent.parent / "conf" / "log4j2.properties"
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("spark-ext demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config(
            "spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log_settings.as_uri()}"
        )
    )
    return spark_ext.configure(builder).getOrCreate()


def story(spark: SparkSession, folder: Path) -> None:
    """Runs the steps."""
    tracked, twin, early = (folder / name for name in ("tracked", "untracked", "tracked-at-step-2"))
    create(spark, tracked, TRACKED, NAME_MODE)
    create(spark, twin, NAME_MODE)
    for path in (tracked, twin):
        load(spark, path, "id, element_at(array('Oslo', 'Lima', 'Kyoto'), int(id % 3) + 1), id / 7")
    step(f"1. Create a tracked table and load {ROWS:,} rows", tracked)
    show_files(tracked, twin)

    for path in (tracked, twin):
        spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN tip DOUBLE")
        load(spark, path, "id, 'Accra', id / 7, id / 70")
    step("2. Add a column `tip` and load again: the physical name is `tip`", tracked)
    show_files(tracked, twin)
    shutil.copytree(tracked, early)

    for path in (tracked, twin):
        spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN fare TO price")
    step("3. Rename `fare` to `price`: the flag becomes true, no file changes", tracked)

    for path in (tracked, twin):
        spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN fare DOUBLE")
    step("4. Add a new `fare`: its physical name is a UUID, not the name of the old fares", tracked)

    title("5. Read by another engine: deltalake, to_pyarrow_table()")
    show_reader(early, tracked, twin)
    console.print(
        "   deltalake ignores column mapping without an error. While the flag is false, its\n"
        "   values are right. Afterwards `price` is null and the new `fare` contains old fares.\n"
        "   All values of the untracked table are null.\n"
    )

    title("6. A survey: the cost of removing column mapping")
    show_survey(spark, early, tracked, twin)

    title("7. Remove column mapping")
    show_removal(spark, early, tracked, twin)
    console.print(
        "   If the flag was false, the removal was a commit without files. Otherwise it copied\n"
        "   the column chunks and wrote new footers. Delta would decode and rewrite every row.\n"
    )

    title("8. After the removal: an audit, and the reader of step 5")
    for path in (early, tracked, twin):
        result = spark_ext.audit(spark, path, progress=None)
        console.print(f"   {path.name}: {len(result.findings)} findings")
    show_reader(early, tracked, twin)
    console.print("   All values are right. No row has a value of the new `fare` yet.\n")


def create(spark: SparkSession, path: Path, *properties: str) -> None:
    """Creates a Delta table at a path."""
    columns = "trip BIGINT, city STRING, fare DOUBLE"
    clause = f"TBLPROPERTIES ({', '.join(properties)})"
    spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta {clause}")


def load(spark: SparkSession, path: Path, select: str) -> None:
    """Appends ROWS rows as one file."""
    spark.sql(f"INSERT INTO delta.`{path}` SELECT {select} FROM range(0, {ROWS}, 1, 1)")


def commits(path: Path) -> list[list[dict[str, dict[str, Any]]]]:
    """Returns the actions of every commit in the log."""
    files = sorted((path / "_delta_log").glob("*.json"))
    return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]


def title(text: str) -> None:
    """Prints the title of a step."""
    console.rule(text, align="left")


def step(text: str, path: Path) -> None:
    """Prints the title of a step, and the flag and the names in the newest metadata."""
    number, metadata = [
        (number, action["metaData"])
        for number, commit in enumerate(commits(path))
        for action in commit
        if "metaData" in action
    ][-1]
    title(text)
    flag = metadata["configuration"][FLAG]
    color = "green" if flag == "false" else "yellow"
    console.print(f"   version {number}   hasDroppedOrRenamed = [{color}]{flag}[/{color}]")
    rows = []
    for field in json.loads(metadata["schemaString"])["fields"]:
        physical = field["metadata"]["delta.columnMapping.physicalName"]
        style = "green" if physical == field["name"] else "yellow"
        id = field["metadata"]["delta.columnMapping.id"]
        rows.append((str(id), field["name"], Text(physical, style=style)))
    show(("id>", "logical name", "physical name"), rows)


def show(headings: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Prints a table. A heading that ends in `>` aligns its column to the right."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in headings:
        table.add_column(heading.rstrip(">"), justify="right" if heading[-1] == ">" else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def show_files(*paths: Path) -> None:
    """Prints the column names in the footer of the newest file."""
    for path in paths:
        added = next(action["add"] for action in commits(path)[-1] if "add" in action)
        file = path / unquote(added["path"])
        names = ", ".join(abbreviated(name) for name in pyarrow.parquet.read_schema(file).names)
        console.print(f"   file of the {path.name:9} table:  [bold]{names}[/bold]")
    console.print()


def abbreviated(name: str) -> str:
    """Returns a name that fits a line: the start of a UUID is enough."""
    return name if len(name) <= 12 else f"{name[:12]}.."


def show_reader(*paths: Path) -> None:
    """Prints the number of values that deltalake reads from each column."""
    rows = []
    for path in paths:
        arrow = DeltaTable(path).to_pyarrow_table()
        for index, name in enumerate(arrow.column_names):
            values = len(arrow) - arrow.column(name).null_count
            found = Text(f"{values:,}", style="green" if values else "red")
            rows.append((path.name if index == 0 else "", name, found, f"{len(arrow):,}"))
    show(("table", "column", "values>", "of rows>"), rows)


def show_survey(spark: SparkSession, *paths: Path) -> None:
    """Prints the cost of the first removal stage in a survey."""
    found = spark_ext.survey(spark, *paths, progress=None).tables
    rows = [
        (
            path.name,
            str(row.tracked),
            str(row.has_dropped_or_renamed),
            str(row.num_other_names),
            str(row.num_files),
            megabytes(row.size_in_bytes or 0),
            str(row.unmapped),
        )
        for path, row in zip(paths, found, strict=True)
    ]
    show(("table", "tracked", "flag", "other names>", "files>", "MB>", "cost"), rows)


def show_removal(spark: SparkSession, *paths: Path) -> None:
    """Removes column mapping, and prints the metrics of the commit."""
    rows = []
    for path in paths:
        spark_ext.UsageTracking.forPath(spark, path).remove_column_mapping(progress=None)
        commit = commits(path)[-1]
        (info,) = (action["commitInfo"] for action in commit if "commitInfo" in action)
        metrics = info.get("operationMetrics", {})
        added = sum("add" in action for action in commit)
        copied, rewritten = (metrics.get(f"num{how}Files", "0") for how in ("Copied", "Rewritten"))
        copied_bytes = megabytes(int(metrics.get("numCopiedBytes", 0)))
        rows.append((path.name, str(added), copied, rewritten, copied_bytes))
    show(("table", "files added>", "copied>", "rewritten>", "MB copied>"), rows)


def megabytes(size: int) -> str:
    """Returns a number of bytes in megabytes."""
    return f"{size / 1e6:.1f}"


if __name__ == "__main__":
    main()
