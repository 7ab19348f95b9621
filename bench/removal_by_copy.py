# SPDX-License-Identifier: Apache-2.0
"""Measures the removal of column mapping by byte copy, beside Delta's rewrite and `cp -r`.

Each table is written once and copied by hard links. Our removal runs in a session with the plugin,
on a tracked copy, or on an untracked copy if all names are `col-<uuid>`. Delta's rewrite runs in a
plain session on an untracked copy. All take turns in one run on one disk.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from delta_tables import NAME_MODE, NO_MODE, TRACKED, of_files, set_properties
from proved import discard
from remote import Remote, both_sessions, one_session
from report import Figure, Report, in_seconds, table
from rich.table import Table

COLUMNS = 10
BYTES_PER_ROW = 8 * COLUMNS  # random doubles, which do not compress
FILE_MB = 64
# Maps a size to the numbers of our removals and of Delta's rewrites.
SIZES_MB = {100: (5, 5), 1_000: (5, 3), 5_000: (3, 1)}
FILE_COUNTS = (10, 1_000, 10_000)
SMALL_FILES = 100_000
NEW_SESSIONS_MB = 800
# The number of new sessions, and of later removals in each of them.
NEW_SESSIONS, LATER = 3, 3
COPY = "SET spark.sparkext.columnMapping.removal = copy"
NO_SETTING = "RESET spark.sparkext.columnMapping.removal"


@dataclass(frozen=True)
class Case:
    """Describes what happened to the columns before the removal."""

    name: str
    changes: tuple[str, ...]
    mapped_from_start: bool = False


CASES = (
    Case("one column renamed", ("RENAME COLUMN c1 TO d1",)),
    Case("one of ten dropped", ("DROP COLUMN c1",)),
    Case("all names col-<uuid>", (), mapped_from_start=True),
)
CLEAN = Case("nothing to do", ("RENAME COLUMN x0 TO y", "RENAME COLUMN y TO x0"))
SMALL = Case("one column renamed, small files", ("RENAME COLUMN x0 TO y",))


@dataclass(frozen=True)
class Removal:
    """Contains median seconds at one size of table."""

    case: str
    files: int
    megabytes: float
    ours: float
    delta: float
    cp: float
    floor: float
    """The seconds of a statement on the same table that only sets a property."""
    last_reading: float
    """The seconds from the last reading of the table to the commit."""


@dataclass(frozen=True)
class NewSessions:
    """Contains median seconds in new sessions."""

    first: float
    """The seconds of a removal that is the first statement of a session."""
    later: float
    """The seconds of the removals after the first one."""
    plain: float
    """The seconds of a statement that sets a property, the first one of a plain session."""


def run(folder: Path) -> Report:
    with both_sessions(folder) as (ours, plain):
        sizes = by_size(ours, plain, folder)
        counts = by_files(ours, plain, folder)
        small = of_small_files(ours, plain, folder)
    new = in_new_sessions(folder)
    return Report(
        "removal by byte copy, medians",
        figures(sizes, counts, small, new),
        [as_table([*sizes, *counts, small])],
    )


def figures(
    sizes: list[Removal], counts: list[Removal], small: Removal, new: NewSessions
) -> list[Figure]:
    large = [row for row in sizes if row.megabytes > 900]
    (thousand,) = (row for row in counts if row.files == 1_000)
    return [
        *map(over_cp, large),
        to_commit(sizes[-1], 2),
        to_commit(small, 10),
        *map(over_delta, large),
        in_all("ours, 1,000 clean files", thousand, 2),
        in_all(f"ours, {small.files:,} small files copied", small, 12),
        # The first statement of plain Delta alone takes three times as long as a later removal.
        Figure(
            f"first of a session - plain Delta's first SET TBLPROPERTIES, {NEW_SESSIONS_MB:,} MB",
            in_seconds(new.first),
            in_seconds(new.plain),
            new.first - new.plain,
            new.later,
            "s",
        ),
    ]


def over_cp(row: Removal) -> Figure:
    """Compares the removal without the time of a statement with `cp -r`."""
    what = f"(ours - a statement) / cp -r, {row.case}, {row.megabytes:,.0f} MB"
    return ratio(what, row.ours - row.floor, row.cp, 1.3)


def over_delta(row: Removal) -> Figure:
    return ratio(f"ours / Delta's, {row.case}, {row.megabytes:,.0f} MB", row.ours, row.delta, 1 / 8)


def ratio(what: str, ours: float, other: float, limit: float) -> Figure:
    return Figure(what, in_seconds(ours), in_seconds(other), ours / other, limit)


def to_commit(row: Removal, limit: float) -> Figure:
    what = f"last reading to commit, {row.files:,} files, {row.megabytes:,.0f} MB"
    return Figure(what, in_seconds(row.last_reading), "", row.last_reading, limit, "s")


def in_all(what: str, row: Removal, limit: float) -> Figure:
    return Figure(what, in_seconds(row.ours), in_seconds(row.delta), row.ours, limit, "s")


def as_table(rows: list[Removal]) -> Table:
    """Returns the seconds of the removal at each size."""
    times = ("ours", "a statement", "Delta's", "cp -r", "ours / cp", "Delta's / ours")
    return table(
        "removal of column mapping by byte copy",
        ("case", "files", "data", *times),
        (
            (
                row.case,
                f"{row.files:,}",
                f"{row.megabytes:,.1f} MB",
                *map(in_seconds, (row.ours, row.floor, row.delta, row.cp)),
                f"{row.ours / row.cp:.2f}",
                f"{row.delta / row.ours:.1f}",
            )
            for row in rows
        ),
        to_the_left=("case",),
    )


def by_size(ours: Remote, plain: Remote, folder: Path) -> list[Removal]:
    """Measures each case at 100 MB, 1 GB and 5 GB, in files of 64 MB."""
    found = []
    for megabytes, (repeats, rewrites) in SIZES_MB.items():
        for mapped in (False, True):
            original = folder / f"{megabytes}-{mapped}"
            write(plain, original, megabytes, mapped=mapped)
            for case in CASES:
                if case.mapped_from_start == mapped:
                    found.append(measured(ours, plain, original, case, repeats, rewrites))
            discard(original)
    return found


def by_files(ours: Remote, plain: Remote, folder: Path) -> list[Removal]:
    """Measures tables with a true flag whose files need no copy, at 10 to 10,000 files."""
    found = []
    for count in FILE_COUNTS:
        original = folder / f"files-{count}"
        of_files(plain, original, count)
        found.append(measured(ours, plain, original, CLEAN, repeats=3, rewrites=3))
        discard(original)
    return found


def of_small_files(ours: Remote, plain: Remote, folder: Path) -> Removal:
    """Measures a table whose files of a hundred rows are all copied."""
    original = folder / "small"
    of_files(plain, original, SMALL_FILES)
    found = measured(ours, plain, original, SMALL, repeats=2, rewrites=1)
    discard(original)
    return found


def in_new_sessions(folder: Path) -> NewSessions:
    """Measures the first and the later removals of new sessions."""
    original = folder / "new"
    names = [f"{n}-{m}" for n in range(NEW_SESSIONS) for m in range(LATER + 1)]
    with one_session("plugin", folder / "new-maker") as maker:
        write(maker, original, NEW_SESSIONS_MB, mapped=False)
        for name in names:
            prepare(maker, original, folder / f"new-{name}", CASES[0], is_tracked=True)
            set_properties(maker, folder / f"new-{name}", "'a' = 'warm'")
    with one_session("plain", folder / "new-plain-maker") as maker:
        for number in range(NEW_SESSIONS):
            prepare(maker, original, folder / f"plain-{number}", CASES[0], is_tracked=False)
            set_properties(maker, folder / f"plain-{number}", "'a' = 'warm'")
    os.sync()
    firsts, laters, plains = [], [], []
    for number in range(NEW_SESSIONS):
        paths = [folder / f"new-{number}-{place}" for place in range(LATER + 1)]
        with one_session("plugin", folder / f"new-session-{number}") as session:
            first, *later = (set_properties(session, path, NO_MODE) for path in paths)
        with one_session("plain", folder / f"new-plain-{number}") as session:
            plains.append(set_properties(session, folder / f"plain-{number}", "'a' = 'first'"))
        firsts.append(first)
        laters += later
        for path in paths:
            discard(path)
        os.sync()
    discard(original)
    return NewSessions(*map(statistics.median, (firsts, laters, plains)))


def write(session: Remote, path: Path | str, megabytes: int, *, mapped: bool) -> None:
    """Writes a table of about this size."""
    doubles = ", ".join(f"rand({seed}) AS c{seed}" for seed in range(COLUMNS))
    properties = f"TBLPROPERTIES ({NAME_MODE})" if mapped else ""
    files = max(2, megabytes // FILE_MB)
    session.sql(
        f"CREATE TABLE delta.`{path}` USING delta {properties} AS"
        f" SELECT {doubles} FROM range(0, {megabytes * 1_000_000 // BYTES_PER_ROW}, 1, {files})"
    )


def measured(
    ours: Remote, plain: Remote, original: Path, case: Case, repeats: int, rewrites: int
) -> Removal:
    """Measures copies of a table, and ignores the first round.

    A single rewrite is not ignored.
    """
    files = [path for path in original.rglob("*.parquet") if "_delta_log" not in path.parts]
    floors, readings = [], []

    def removed_by_us(path: Path) -> float:
        floor, seconds = remove(ours, original, path, case, by_us=True)
        floors.append(floor)
        readings.append(ours.last_reading())
        return seconds

    sides: dict[str, Callable[[Path], float]] = {
        "ours": removed_by_us,
        "delta": lambda path: remove(plain, original, path, case, by_us=False)[1],
        "cp": lambda path: copied(original, path),
    }
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    rounds = {"ours": repeats + 1, "delta": rewrites + (rewrites > 1), "cp": repeats + 1}
    for round_ in range(repeats + 1):
        for side in (side for side in sides if round_ < rounds[side]):
            folder = Path(tempfile.mkdtemp(dir=original.parent))
            seconds[side].append(sides[side](folder / "t"))
            discard(folder)
    medians = {side: statistics.median(all_[1:] or all_) for side, all_ in seconds.items()}
    size = sum(file.stat().st_size for file in files) / 1e6
    floor, last_reading = (statistics.median(values[1:]) for values in (floors, readings))
    return Removal(case.name, len(files), size, floor=floor, last_reading=last_reading, **medians)


def remove(
    session: Remote, original: Path, path: Path, case: Case, *, by_us: bool
) -> tuple[float, float]:
    """Returns the seconds of a statement that sets a property, and of the removal."""
    is_tracked = by_us and not case.mapped_from_start
    prepare(session, original, path, case, is_tracked=is_tracked)
    # Every first statement after a change of schema is slow.
    set_properties(session, path, "'a' = 'warm'")
    floor = set_properties(session, path, "'a' = 'floor'")
    if by_us and not is_tracked:
        session.sql(COPY)
    os.sync()  # earlier writes must not slow the removal down
    seconds = set_properties(session, path, NO_MODE)
    if by_us and not is_tracked:
        session.sql(NO_SETTING)
    return floor, seconds


def prepare(session: Remote, original: Path, path: Path, case: Case, *, is_tracked: bool) -> None:
    """Makes a table of hard links, and changes its columns."""
    shutil.copytree(original, path, copy_function=os.link)
    if is_tracked:
        set_properties(session, path, TRACKED)
    if not case.mapped_from_start:
        set_properties(session, path, NAME_MODE)
    for change in case.changes:
        session.sql(f"ALTER TABLE delta.`{path}` {change}")


def copied(original: Path, path: Path) -> float:
    """Returns the seconds of `cp -r`."""
    os.sync()
    started = time.perf_counter()
    subprocess.run(["cp", "-r", str(original), str(path)], check=True)
    return time.perf_counter() - started
