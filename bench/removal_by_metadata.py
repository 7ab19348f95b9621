# SPDX-License-Identifier: Apache-2.0
"""Measures the removal of column mapping by metadata only, beside Delta's rewrite.

Each table is written once, copied by hard links, and mapped by ALTER, which changes no file. Our
removal runs on the tracked copy in a session with the plugin. Delta's rewrite runs on the untracked
copy in a plain session. The floor is `SET TBLPROPERTIES ('a' = ..)` before each of our removals.

Two statements that change no mode run before each floor. The first statement after a change
of the mode takes plain Delta half a second more, which would hide jobs of ours.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from delta_tables import NAME_MODE, NO_MODE, TRACKED, of_files, set_properties, write
from proved import discard
from remote import Remote, both_sessions
from report import Figure, Report, milliseconds, table
from rich.table import Table

PAIRS = 9
REWRITES = 3
BYTES_PER_ROW = 36  # an id and four random doubles, which do not compress
FILES_OF_SIZES = 10
SIZES_MB = (10, 100, 1000)
# Maps a number of files to the number of Delta's rewrites.
FILE_COUNTS = {10: REWRITES, 1_000: REWRITES, 10_000: REWRITES, 100_000: 1}
OVER_FLOOR = 1.1
OVER_DELTA = 1 / 50


@dataclass(frozen=True)
class Removal:
    """Contains median seconds at one size of table."""

    files: int
    megabytes: float
    floor: float
    ours: float
    delta: float
    over_floor: float  # the median of ours / floor over pairs


def run(folder: Path) -> Report:
    with both_sessions(folder) as (ours, plain):
        sizes = by_size(ours, plain, folder)
        counts = by_files(ours, plain, folder)
    return Report(f"{PAIRS} pairs, medians", figures(sizes, counts), [as_table([*sizes, *counts])])


def figures(sizes: list[Removal], counts: list[Removal]) -> list[Figure]:
    largest = sizes[-1]
    return [
        *(
            Figure(
                f"ours / floor, {row.files} files, {row.megabytes:.0f} MB",
                milliseconds(row.ours),
                milliseconds(row.floor),
                row.over_floor,
                OVER_FLOOR,
            )
            for row in (*sizes, *counts)
        ),
        Figure(
            f"ours / Delta's, {largest.megabytes:.0f} MB",
            milliseconds(largest.ours),
            milliseconds(largest.delta),
            largest.ours / largest.delta,
            OVER_DELTA,
        ),
    ]


def as_table(rows: list[Removal]) -> Table:
    """Returns the seconds of the removal at each size."""
    return table(
        "removal of column mapping by metadata only",
        ("files", "data", "floor", "ours", "Delta's", "Delta's / ours"),
        (
            (
                f"{row.files:,}",
                f"{row.megabytes:.1f} MB",
                milliseconds(row.floor),
                milliseconds(row.ours),
                milliseconds(row.delta),
                f"{row.delta / row.ours:.1f}",
            )
            for row in rows
        ),
    )


def by_size(ours: Remote, plain: Remote, folder: Path) -> list[Removal]:
    """Measures 10 MB, 100 MB and 1 GB, in ten files each."""
    return [
        measured(ours, plain, folder, partial(of_size, plain, megabytes=megabytes))
        for megabytes in SIZES_MB
    ]


def by_files(ours: Remote, plain: Remote, folder: Path) -> list[Removal]:
    """Measures 10 to 100,000 files of a hundred rows."""
    return [
        measured(ours, plain, folder, partial(of_files, plain, count=count), rewrites)
        for count, rewrites in FILE_COUNTS.items()
    ]


def of_size(session: Remote, path: Path, megabytes: int) -> None:
    """Writes a table of about this size."""
    write(session, path, megabytes * 1_000_000 // BYTES_PER_ROW, FILES_OF_SIZES)


def measured(
    ours: Remote,
    plain: Remote,
    folder: Path,
    make: Callable[[Path], None],
    num_rewrites: int = REWRITES,
) -> Removal:
    """Makes a table and measures copies of it."""
    # A new path, because sessions cache the table at a path.
    folder = Path(tempfile.mkdtemp(dir=folder))
    original, tracked = folder / "original", folder / "tracked"
    make(original)
    shutil.copytree(original, tracked, copy_function=os.link)
    files = list(original.rglob("*.parquet"))
    size = sum(file.stat().st_size for file in files) / 1e6
    # No measured statement may write a checkpoint.
    set_properties(ours, tracked, f"{TRACKED}, 'delta.checkpointInterval' = '1000'")
    pairs = [pair(ours, tracked, number) for number in range(PAIRS + 1)][1:]
    rewrites = [rewrite(plain, original, folder / f"untracked-{n}") for n in range(num_rewrites)]
    discard(folder)
    floors, removals = zip(*pairs, strict=True)
    return Removal(
        files=len(files),
        megabytes=size,
        floor=statistics.median(floors),
        ours=statistics.median(removals),
        delta=statistics.median(rewrites),
        over_floor=statistics.median(b / a for a, b in pairs),
    )


def pair(session: Remote, path: Path, number: int) -> tuple[float, float]:
    """Returns the seconds of the floor and of the removal after it."""
    set_properties(session, path, NAME_MODE)
    for warm in range(2):
        set_properties(session, path, f"'a' = 'warm {number}.{warm}'")
    floor = set_properties(session, path, f"'a' = '{number}'")
    return floor, set_properties(session, path, NO_MODE)


def rewrite(session: Remote, original: Path, path: Path) -> float:
    """Returns the seconds of Delta's rewrite on a new copy, because a rewrite joins small files."""
    shutil.copytree(original, path, copy_function=os.link)
    set_properties(session, path, NAME_MODE)
    seconds = set_properties(session, path, NO_MODE)
    discard(path)
    return seconds
