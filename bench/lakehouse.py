# SPDX-License-Identifier: Apache-2.0
"""Measures the removal of column mapping from many tables in one call.

Each table is a copy of one table: logs are copied, and data files are hard links. Both sides of a
ratio of seconds take turns on separate copies. Delta's cache is emptied before each timed call.
LAKEHOUSE_TABLES (1000) and LAKEHOUSE_GB (2) change the sizes.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from delta_tables import NAME_MODE, TRACKED, create
from proved import discard
from remote import Remote, both_sessions, one_session
from report import Figure, Report, in_seconds, table

TABLES = int(os.environ.get("LAKEHOUSE_TABLES", "1000"))
BYTES = int(float(os.environ.get("LAKEHOUSE_GB", "2")) * 1e9)
MORE = 10
"""The factor of TABLES in the measurements of memory and of mostly unmapped tables."""
NOT_DONE = 10
COPIED_TABLES, FILES_OF_EACH = 100, 2
PARALLEL = 4
PAIRS = 3
COLUMNS = ", ".join(f"column_{number:02} DOUBLE" for number in range(10))
VALUES = ", ".join(f"rand({number})" for number in range(10))
BYTES_PER_ROW = 80  # random doubles, which do not compress

OVER_STATEMENTS = 1.3
OVER_ONE_TABLE = 1.2
OVER_SURVEY = 1.0
OVER_MEMORY = 1.1


@dataclass(frozen=True)
class Pair:
    """Contains the seconds of both sides, and the median of their ratios."""

    ours: Sequence[float]
    other: Sequence[float]

    @property
    def ratio(self) -> float:
        return statistics.median(a / b for a, b in zip(self.ours, self.other, strict=True))

    def figure(self, what: str, limit: float) -> Figure:
        ours, other = (in_seconds(statistics.median(side)) for side in (self.ours, self.other))
        return Figure(what, ours, other, self.ratio, limit)


def run(folder: Path) -> Report:
    home = folder / "lakehouse"
    with both_sessions(home) as (ours, plain):
        free = removals_by_metadata(ours, plain, home / "free")
        copied = removals_by_copy(ours, home / "copied")
    with one_session("plugin", home / "done") as ours:
        done = mostly_done(ours, home / "mostly-done")
    few, many = (memory(home / f"memory-{number}", number) for number in (TABLES, TABLES * MORE))
    rows = [(f"{number:,}", f"{megabytes:.0f} MB") for number, megabytes in (few, many)]
    return Report(
        f"{PAIRS} pairs, medians, {PARALLEL} tables at a time",
        [
            free.figure(
                f"{TABLES:,} tables by metadata alone / survey and SET TBLPROPERTIES",
                OVER_STATEMENTS,
            ),
            copied.figure(
                f"{COPIED_TABLES} tables by copy, {BYTES / 1e9:g} GB / one table", OVER_ONE_TABLE
            ),
            done.figure(f"{TABLES * MORE:,} tables, {NOT_DONE} not done / survey", OVER_SURVEY),
            Figure(
                f"driver memory, {TABLES * MORE:,} tables / {TABLES:,}",
                rows[1][1],
                rows[0][1],
                many[1] / few[1],
                OVER_MEMORY,
            ),
        ],
        [table("live memory of the driver after a removal", ("tables", "memory"), rows)],
    )


def removals_by_metadata(ours: Remote, plain: Remote, folder: Path) -> Pair:
    """Measures tables of one file beside a survey, and one statement of plain Delta for each."""
    tracked = written(ours, folder / "tracked", f"{NAME_MODE}, {TRACKED}", rows=100, files=1)
    mapped = written(plain, folder / "mapped", NAME_MODE, rows=100, files=1)

    def removal(home: Path) -> float:
        paths = copies(tracked, home, TABLES)
        ours.forget()
        return ours.remove_column_mapping(paths, PARALLEL)

    def statements(home: Path) -> float:
        surveyed, changed = (copies(of, home / of.name, TABLES) for of in (tracked, mapped))
        ours.forget()
        plain.forget()
        change = "ALTER TABLE delta.`{}` SET TBLPROPERTIES ('a' = 'b')"
        seconds = plain.statements([change.format(path) for path in changed], PARALLEL)
        return ours.survey(surveyed) + seconds

    return in_turns(removal, statements, folder)


def removals_by_copy(ours: Remote, folder: Path) -> Pair:
    """Measures many tables by copy beside one table of the same files."""
    rows = BYTES // COPIED_TABLES // BYTES_PER_ROW
    small = written(ours, folder / "small", NAME_MODE, rows, FILES_OF_EACH)

    def many(home: Path) -> float:
        tables = copies(small, home, COPIED_TABLES)
        ours.forget()
        return ours.remove_column_mapping(tables, PARALLEL)

    def one(home: Path) -> float:
        tables = [with_files_again(small, home, COPIED_TABLES)]
        ours.forget()
        return ours.remove_column_mapping(tables, PARALLEL)

    return in_turns(many, one, folder)


def mostly_done(ours: Remote, folder: Path) -> Pair:
    """Measures tables of which few have column mapping beside a survey of them."""
    plain = written(ours, folder / "plain", "", rows=100, files=1)
    tracked = written(ours, folder / "tracked", f"{NAME_MODE}, {TRACKED}", rows=100, files=1)
    number = TABLES * MORE

    def tables(home: Path) -> list[str]:
        done = copies(plain, home / "done", number - NOT_DONE)
        paths = [*done, *copies(tracked, home / "not-done", NOT_DONE)]
        ours.forget()
        return paths

    return in_turns(
        lambda home: ours.remove_column_mapping(tables(home), PARALLEL),
        lambda home: ours.survey(tables(home)),
        folder,
    )


def memory(folder: Path, number: int) -> tuple[int, float]:
    """Returns a number of tables, and the live megabytes after their removal in a new session."""
    with one_session("plugin", folder) as ours:
        tracked = written(ours, folder / "tracked", f"{NAME_MODE}, {TRACKED}", rows=100, files=1)
        ours.remove_column_mapping(copies(tracked, folder / "copies", number), PARALLEL)
        return number, ours.live_megabytes()


def in_turns(ours: Callable[[Path], float], other: Callable[[Path], float], folder: Path) -> Pair:
    """Measures both sides in turns, after one measurement that warms the sessions up."""
    seconds: list[list[float]] = []
    for turn in range(PAIRS + 1):
        row = []
        # The sides take turns to be first.
        for side in (ours, other) if turn % 2 else (other, ours):
            home = folder / "turn"
            row.append(side(home))
            discard(home)
        seconds.append(row if turn % 2 else row[::-1])
        # The report comes after an hour.
        print(folder.name, *map(in_seconds, seconds[-1]), sep="\t", file=sys.stderr, flush=True)
    return Pair(*zip(*seconds[1:], strict=True))


def written(session: Remote, path: Path, properties: str, rows: int, files: int) -> Path:
    """Writes a table of random doubles."""
    session.sql(create(f"delta.`{path}`", COLUMNS, properties))
    session.sql(f"INSERT INTO delta.`{path}` SELECT {VALUES} FROM range(0, {rows}, 1, {files})")
    return path


def copies(source: Path, folder: Path, number: int) -> list[str]:
    """Copies a table, with links to its data files."""
    paths = [folder / f"t{place:05}" for place in range(number)]
    for path in paths:
        shutil.copytree(source, path, copy_function=linked)
    return [str(path) for path in paths]


def linked(source: str, target: str) -> str:
    """Links a data file, and copies a file of the log."""
    if source.endswith(".parquet"):
        os.link(source, target)
    else:
        shutil.copyfile(source, target)
    return target


def with_files_again(source: Path, target: Path, times: int) -> str:
    """Copies a table of two commits, with `times` links to each data file."""
    shutil.copytree(source / "_delta_log", target / "_delta_log")
    for checksum in (target / "_delta_log").glob("*.crc"):
        checksum.unlink()  # it has the number of files
    commit = target / "_delta_log" / f"{1:020}.json"
    lines = []
    for line in commit.read_text().splitlines():
        action = json.loads(line)
        if "add" not in action:
            lines.append(line)
            continue
        file = Path(action["add"]["path"])
        (target / file.parent).mkdir(exist_ok=True)
        for number in range(times):
            link = file.with_name(f"{number}-{file.name}")
            os.link(source / file, target / link)
            lines.append(json.dumps({"add": {**action["add"], "path": str(link)}}))
    commit.write_text("\n".join(lines) + "\n")
    return str(target)
