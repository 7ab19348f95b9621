# SPDX-License-Identifier: Apache-2.0
"""Measures REORG TABLE .. APPLY (PURGE) after a dropped column against Delta's and `cp -r`.

The three take turns on one disk, on copies of one table.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from pathlib import Path

from delta_tables import NAME_MODE, TRACKED, set_properties
from proved import discard
from remote import Remote, both_sessions
from removal_by_copy import CASES, FILE_MB, copied, ratio, write
from report import Report

MEGABYTES = 1_000
REPEATS = 3
DROPPED = CASES[1]


def run(folder: Path) -> Report:
    original = folder / "purge"
    with both_sessions(folder / "purge-sessions") as (ours, plain):
        write(plain, original, MEGABYTES, mapped=False)
        rounds = [
            (purged(ours, original, by_us=True), purged(plain, original, by_us=False), cp(original))
            for _ in range(REPEATS + 1)
        ]
    discard(original)
    ours_times, deltas_times, cp_times = zip(*rounds[1:], strict=True)
    seconds, floor, again = map(statistics.median, zip(*ours_times, strict=True))
    delta = statistics.median(time for time, _, _ in deltas_times)
    copy = statistics.median(cp_times)
    return Report(
        f"PURGE, {DROPPED.name}, {MEGABYTES:,} MB in files of {FILE_MB} MB, medians of {REPEATS}",
        [
            ratio("(ours - a purge that finds nothing) / cp -r", seconds - again, copy, 1.3),
            ratio("(ours - a statement) / cp -r", seconds - floor, copy, float("inf")),
            ratio("ours / Delta's", seconds, delta, 1 / 8),
        ],
    )


def purged(session: Remote, original: Path, *, by_us: bool) -> tuple[float, float, float]:
    """Returns the seconds of the purge, of a statement before it, and of a second purge."""
    path = Path(tempfile.mkdtemp(dir=original.parent)) / "t"
    shutil.copytree(original, path, copy_function=os.link)
    if by_us:
        set_properties(session, path, TRACKED)
    set_properties(session, path, NAME_MODE)
    for change in DROPPED.changes:
        session.sql(f"ALTER TABLE delta.`{path}` {change}")
    set_properties(session, path, "'a' = 'warm'")
    floor = set_properties(session, path, "'a' = 'floor'")
    os.sync()  # earlier writes must not slow the purge down
    seconds, again = (session.sql(f"REORG TABLE delta.`{path}` APPLY (PURGE)") for _ in range(2))
    discard(path.parent)
    return seconds, floor, again


def cp(original: Path) -> float:
    folder = Path(tempfile.mkdtemp(dir=original.parent))
    seconds = copied(original, folder / "t")
    discard(folder)
    return seconds
