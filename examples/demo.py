# SPDX-License-Identifier: Apache-2.0
"""The main job on a real table: `make demo`.

Two tables live the same life, one with usage tracking and one as Delta makes it today. After each
step the script shows the flag and the names, and counts what other readers see. Everything that it
prints is read from the log and the Parquet files.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
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
    spark = session(folder)
    try:
        story(spark, folder / "tracked", folder / "untracked")
    finally:
        spark.stop()
        shutil.rmtree(folder)


def session(folder: Path) -> SparkSession:
    """A small local session; `spark_ext.configure` is all that the plugin needs."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("spark-ext demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log_settings()}")
    )
    return spark_ext.configure(builder).getOrCreate()


def log_settings() -> str:
    """Our quiet log4j2 settings, as a URI."""
    return (Path(__file__).parent.parent / "conf" / "log4j2.properties").as_uri()


def story(spark: SparkSession, tracked: Path, untracked: Path) -> None:
    """The steps."""
    columns = "trip BIGINT, city STRING, fare DOUBLE"
    create(spark, tracked, columns, TRACKED, NAME_MODE)
    create(spark, untracked, columns, NAME_MODE)
    step(f"1. Create a tracked table and load {ROWS:,} rows", tracked)
    for path in (tracked, untracked):
        load(spark, path, "id, element_at(array('Oslo', 'Lima', 'Kyoto'), int(id % 3) + 1), id / 7")
    show_files(tracked, untracked)

    for path in (tracked, untracked):
        spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN tip DOUBLE")
        load(spark, path, "id, 'Accra', id / 7, id / 70")
    step("2. Add a column `tip`, load again: the name stays readable", tracked)
    show_files(tracked, untracked)
    readable_until = version(tracked)
    leaving = [Path(shutil.copytree(path, f"{path}-copy")) for path in (tracked, untracked)]

    for path in (tracked, untracked):
        spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN fare TO price")
    step("3. Rename `fare` to `price`: the flag flips, no file is touched", tracked)

    for path in (tracked, untracked):
        spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN fare DOUBLE")
    step("4. Add a new `fare`: a UUID keeps the old fares away from it", tracked)
    old_fares = spark.sql(f"SELECT count(fare) AS n FROM delta.`{tracked}`").first()["n"]
    console.print(f"   values in the new column `fare`: [bold]{old_fares}[/bold]\n")

    console.rule("5. What another reader sees: deltalake, to_pyarrow_table()", align="left")
    show_reader(
        ("tracked", tracked, readable_until),
        ("untracked twin", untracked, readable_until),
        ("tracked, after the rename", tracked, None),
    )
    console.print(
        "   deltalake's to_pyarrow_table() ignores column mapping, without an error. A tracked\n"
        "   table whose flag is false reads right all the same. Once the flag is true, such a\n"
        "   reader is wrong even here: it misses `price`, and shows old fares as the new `fare`.\n"
    )

    console.rule("6. Switch column mapping off, on copies of step 2", align="left")
    for path in leaving:
        leave(spark, path)
    show_reader(("tracked", leaving[0], None), ("untracked twin", leaving[1], None))
    console.print(
        "   Both are right everywhere now. The tracked table needed a commit of metadata, its\n"
        "   twin a rewrite of every file.\n"
    )


def leave(spark: SparkSession, path: Path) -> None:
    """Says what switching column mapping off costs, does it, and tells what the commit holds."""
    tracking = spark_ext.UsageTracking.forPath(spark, str(path))
    (first, *_) = tracking.disable_column_mapping(dry_run=True)
    tracking.disable_column_mapping(progress=None)
    commit = commits(path)[-1]
    added, removed = (sum(kind in action for action in commit) for kind in ("add", "remove"))
    console.print(
        f"   {path.name:14}  said before: [bold]{first.cost:8}[/bold]"
        f"  files added: [bold]{added}[/bold], removed: [bold]{removed}[/bold]"
    )


def create(spark: SparkSession, path: Path, columns: str, *properties: str) -> None:
    """Creates a Delta table at a path."""
    clause = f"TBLPROPERTIES ({', '.join(properties)})"
    spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta {clause}")


def load(spark: SparkSession, path: Path, select: str) -> None:
    """Appends ROWS rows as one file."""
    spark.sql(f"INSERT INTO delta.`{path}` SELECT {select} FROM range(0, {ROWS}, 1, 1)")


def commits(path: Path) -> list[list[dict[str, dict[str, object]]]]:
    """The actions of every commit, from the log itself."""
    files = sorted((path / "_delta_log").glob("*.json"))
    return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]


def version(path: Path) -> int:
    """The newest version of a table."""
    return len(commits(path)) - 1


def step(title: str, path: Path) -> None:
    """Prints the flag and the names of a table as its newest metadata has them."""
    number, metadata = [
        (number, action["metaData"])
        for number, commit in enumerate(commits(path))
        for action in commit
        if "metaData" in action
    ][-1]
    flag = metadata["configuration"][FLAG]
    table = Table(box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("id", justify="right")
    table.add_column("logical name")
    table.add_column("physical name")
    for field in json.loads(str(metadata["schemaString"]))["fields"]:
        mapping = field["metadata"]
        physical = mapping["delta.columnMapping.physicalName"]
        style = "green" if physical == field["name"] else "yellow"
        table.add_row(
            str(mapping["delta.columnMapping.id"]), field["name"], Text(physical, style=style)
        )
    console.rule(title, align="left")
    color = "green" if flag == "false" else "yellow"
    console.print(f"   version {number}   hasDroppedOrRenamed = [{color}]{flag}[/{color}]")
    console.print(table)


def show_files(*paths: Path) -> None:
    """Prints the column names in the footer of the file that was written last."""
    for path in paths:
        added = next(action["add"] for action in commits(path)[-1] if "add" in action)
        file = path / unquote(str(added["path"]))
        names = ", ".join(abbreviated(name) for name in pyarrow.parquet.read_schema(file).names)
        console.print(f"   Parquet file of the {path.name:9} table:  [bold]{names}[/bold]")
    console.print()


def abbreviated(name: str) -> str:
    """A name that fits a line: the start of a UUID says enough."""
    return name if len(name) <= 12 else f"{name[:12]}.."


def show_reader(*tables: tuple[str, Path, int | None]) -> None:
    """Prints how many values deltalake finds, column by column."""
    result = Table(box=box.SIMPLE_HEAD)
    for heading in ("table", "version", "column", "values", "of rows"):
        result.add_column(heading, justify="right" if heading in ("values", "of rows") else "left")
    for label, path, at in tables:
        read = DeltaTable(path, version=at)
        arrow = read.to_pyarrow_table()
        for index, name in enumerate(arrow.column_names):
            values = len(arrow) - arrow.column(name).null_count
            result.add_row(
                label if index == 0 else "",
                str(read.version()) if index == 0 else "",
                name,
                Text(f"{values:,}", style="green" if values else "red"),
                f"{len(arrow):,}",
            )
        result.add_section()
    console.print(result)


if __name__ == "__main__":
    main()
