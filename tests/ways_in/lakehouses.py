# SPDX-License-Identifier: Apache-2.0
"""Makes a lakehouse of about fifty tables of all kinds, and reads their logs.

The catalog `runs` lists its folders (`ListingCatalog.java`), so that every driver has the same
tables. Reading needs JSON and Parquet only, and no code of spark-ext.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet
from pyspark.sql import SparkSession

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.table_log import TableLog

CATALOG = "runs"
REMOVAL = "REMOVE COLUMN MAPPING"
ODD = ["a.b", "tick``", "a${x}", "b c", "1d", 'it\'s "x"', "-- c", "é 日本"]
SCHEMAS = ("hr/below/more", "sales", "sales/deep")
ROW, LATER = {"a": 1, "b": "x"}, {"a": 2}


@dataclass(frozen=True)
class Kind:
    """Describes the history of a table, and its outcome in a removal of column mapping."""

    outcome: str
    properties: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    columns: str = "a INT, b STRING"
    partitioned_by: str = ""
    rows: tuple[dict[str, Any], ...] = (ROW, LATER)


TRACKED_NAMES = (NAME_MODE, TRACKED)
# These kinds have each outcome in `KINDS`.
FEW_KINDS = ("clean", "untracked", "blocked", "unmapped")
KINDS: dict[str, Kind] = {
    "blocked": Kind("BLOCKED", TRACKED_NAMES, ("ADD COLUMN `b c` INT",)),
    "clean": Kind("DONE", TRACKED_NAMES, ("ADD COLUMN c INT",)),
    "dropped": Kind("DONE", TRACKED_NAMES, ("DROP COLUMN b",), rows=({"a": 1}, LATER)),
    "empty": Kind("DONE", (NAME_MODE,), rows=()),
    "ids": Kind("DONE", ("'delta.columnMapping.mode' = 'id'",)),
    "parts": Kind("DONE", (NAME_MODE,), partitioned_by="b"),
    "renamed": Kind(
        "DONE", TRACKED_NAMES, ("RENAME COLUMN b TO c",), rows=({"a": 1, "c": "x"}, LATER)
    ),
    "struct": Kind(
        "DONE",
        (NAME_MODE,),
        columns="a INT, b STRING, s STRUCT<x: INT>",
        rows=({**ROW, "s": {"x": 1}}, LATER),
    ),
    "unmapped": Kind("ALREADY_DONE"),
    "untracked": Kind("DONE", (NAME_MODE,)),
    "vectors": Kind("DONE", (*TRACKED_NAMES, "'delta.enableDeletionVectors' = 'true'")),
}


def _with_unknown_feature(log: Path) -> None:
    file = log / f"{0:020}.json"
    actions = [json.loads(line) for line in file.read_text().splitlines()]
    features = {"readerFeatures": ["fromTheFuture"], "writerFeatures": ["fromTheFuture"]}
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
    file.write_text("\n".join(map(json.dumps, actions)))


BROKEN: dict[str, Callable[[Path], object]] = {
    "commit_missing": lambda log: (log / f"{1:020}.json").unlink(),
    "feature": _with_unknown_feature,
    "start_missing": lambda log: (log / f"{0:020}.json").unlink(),
}


@dataclass(frozen=True)
class Prototypes:
    """Contains one table of each kind, to be copied."""

    home: Path

    @classmethod
    def made(cls, spark: SparkSession, home: Path) -> Prototypes:
        """Makes a table of each kind, with a file before its changes and one after them."""
        for name, kind in KINDS.items():
            table = Table(spark, home / name)
            table.create(kind.columns, *kind.properties, partitioned_by=kind.partitioned_by)
            first = ", named_struct('x', 1) AS s" if "s STRUCT" in kind.columns else ""
            if kind.rows:
                spark.sql(f"INSERT INTO {table.name} SELECT 1 AS a, 'x' AS b{first}")
            for change in kind.changes:
                table.alter(change)
            if kind.rows:
                spark.sql(f"INSERT INTO {table.name} (a) VALUES (2)")
        return cls(home)

    def copy(self, name: str, target: Path) -> Path:
        shutil.copytree(self.home / name, target)
        return target


@dataclass(frozen=True)
class Lakehouse:
    """Contains folders of tables below `root`, which the catalog lists, and tables elsewhere."""

    root: Path
    elsewhere: Path
    kinds: dict[str, str] = field(default_factory=dict)
    """Maps a table, by its path below `root` or its path elsewhere, to its kind."""

    @classmethod
    def of(
        cls,
        prototypes: Prototypes,
        home: Path,
        schemas: Sequence[str] = SCHEMAS,
        odd: Sequence[str] = ODD,
        kinds: Sequence[str] = tuple(KINDS),
    ) -> Lakehouse:
        """Copies about fifty tables, or those of some schemas, odd names and kinds.

        The folder may contain an earlier lakehouse.
        """
        made = cls(home / "tables", home / "elsewhere")
        for folder in (made.root, made.elsewhere):
            shutil.rmtree(folder, ignore_errors=True)
        for schema in schemas:
            for kind in kinds:
                made.add(prototypes, kind, f"{schema}/{kind}")
        for name, kind in zip(odd, [*KINDS] * 2, strict=False):
            made.add(prototypes, kind, f"odd/{name}")
        for name, breaks in BROKEN.items():
            path = made.add(prototypes, "unmapped", f"broken/{name}")
            for checksum in (path / "_delta_log").glob("*.crc"):
                checksum.unlink()
            breaks(path / "_delta_log")
            made.kinds[f"broken/{name}"] = "broken"
        for kind in FEW_KINDS:
            path = prototypes.copy(kind, made.elsewhere / kind)
            made.kinds[str(path)] = kind
        (made.root / "sales" / "foreign").mkdir(parents=True)
        (made.root / "sales" / "foreign" / "_foreign").touch()
        return made

    def add(self, prototypes: Prototypes, kind: str, place: str) -> Path:
        self.kinds[place] = kind
        return prototypes.copy(kind, self.root / place)

    @property
    def where(self) -> list[str]:
        """Returns the catalog, and the paths elsewhere."""
        return [CATALOG, *(place for place in self.kinds if place.startswith("/"))]

    def path(self, place: str) -> Path:
        return self.root / place  # a path elsewhere is absolute

    def logs(self) -> dict[str, TableLog]:
        """Returns the logs of all tables that are not broken."""
        places = (place for place, kind in self.kinds.items() if kind != "broken")
        return {place: TableLog(self.path(place)) for place in places}

    def num_files(self) -> int:
        """Returns the number of files of all kinds, including uncommitted copies."""
        return sum(file.is_file() for file in self._files())

    def orphans(self) -> set[Path]:
        """Returns the data files that no log names, except files of broken tables."""
        named = {
            log.path / unquote(action[kind]["path"])
            for log in self.logs().values()
            for commit in log.commits
            for action in commit
            for kind in ("add", "remove")
            if kind in action
        }
        return (
            {
                file
                for file in self._files()
                if file.suffix == ".parquet" and "_delta_log" not in file.parts
            }
            - named
            - self._of_broken_tables()
        )

    def _of_broken_tables(self) -> set[Path]:
        return set((self.root / "broken").rglob("*.parquet"))

    def _files(self) -> Iterator[Path]:
        for folder in (self.root, self.elsewhere):
            yield from folder.rglob("*")


def name_of(place: str) -> str:
    """Returns the name of a table in a survey."""
    if place.startswith("/"):
        return f"delta.`file:{place}`"
    return ".".join([CATALOG, *map(_quoted, place.split("/"))])


def _quoted(part: str) -> str:
    plain = part.isascii() and part.isidentifier()
    return part if plain else "`{}`".format(part.replace("`", "``"))


def rows_by_logical_names(log: TableLog) -> list[dict[str, Any]]:
    """Returns the rows of the live files under the names in the files, without nulls."""
    rows = []
    for commit in log.commits:
        for action in commit:
            if "add" in action and action["add"]["path"] in log.live_files:
                parts = action["add"]["partitionValues"]
                file = pyarrow.parquet.ParquetFile(log.path / unquote(action["add"]["path"]))
                rows += [{**row, **parts} for row in file.read().to_pylist()]
    found = ({key: value for key, value in row.items() if value is not None} for row in rows)
    return sorted(found, key=lambda row: row["a"])


def expected_outcomes(lakehouse: Lakehouse) -> dict[str, str]:
    return {
        name_of(place): "UNREADABLE" if kind == "broken" else KINDS[kind].outcome
        for place, kind in lakehouse.kinds.items()
    }


def is_mapped(log: TableLog) -> bool:
    return log.configuration.get("delta.columnMapping.mode", "none") != "none"


def operations(log: TableLog) -> list[str]:
    """Returns the operations of the commits, oldest first."""
    actions = (action for commit in log.commits for action in commit)
    return [action["commitInfo"]["operation"] for action in actions if "commitInfo" in action]


def removals(log: TableLog) -> int:
    """Returns the number of removals that changed files or the mode."""
    commits = [
        commit
        for commit in log.commits
        for action in commit
        if action.get("commitInfo", {}).get("operation") == REMOVAL
    ]
    # If another driver was first, Delta commits a removal again, which changes no file.
    again = [commit for commit in commits[1:] if not any("add" in action for action in commit)]
    return len(commits) - len(again)


def assert_all_removed(lakehouse: Lakehouse) -> None:
    """Asserts that each table that can be unmapped is unmapped by one commit, with its rows."""
    for place, log in lakehouse.logs().items():
        kind = KINDS[lakehouse.kinds[place]]
        assert is_mapped(log) == (kind.outcome == "BLOCKED"), place
        assert removals(log) == (kind.outcome == "DONE"), (place, operations(log))
        if kind.outcome == "DONE":
            assert rows_by_logical_names(log) == list(kind.rows), place
