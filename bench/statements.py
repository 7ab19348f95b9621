# SPDX-License-Identifier: Apache-2.0
"""Measures session start, statements, and log size with and without tracking.

Every ratio of statements is a median over pairs. A pair is the same statement on a tracked table
with the plugin and on an untracked table with column mapping, in alternating order. The untracked
side runs in plain delta-spark, except in `alters_of_one_session`.
"""

from __future__ import annotations

import statistics
from pathlib import Path

from delta_tables import NAME_MODE, TRACKED, create
from remote import Remote, both_sessions, one_session
from report import NO_LIMIT, Figure, Report, in_seconds, milliseconds

PAIRS = 30
STARTS = 5
FILES = 20
ALTERS = {
    "ADD COLUMN": "ALTER TABLE {table} ADD COLUMN b{number} INT",
    "RENAME COLUMN": "ALTER TABLE {table} RENAME COLUMN c{number} TO c{next}",
}
STATEMENTS = {
    "CREATE TABLE": "CREATE TABLE {spare} (a INT, b STRING) USING delta "
    "TBLPROPERTIES ({properties})",
    "append": "INSERT INTO {spare} VALUES (1, 'x')",
    **ALTERS,
}
LIMITS = {"CREATE TABLE": 1.05, "ADD COLUMN": 1.05, "RENAME COLUMN": 1.05, "append": 1.01}


def run(folder: Path) -> Report:
    return Report(f"{PAIRS} pairs, medians", [session_start(folder), *with_sessions(folder)])


def session_start(folder: Path) -> Figure:
    """Measures the time from the start of a session to its first answer."""
    seconds: dict[str, list[float]] = {"plugin": [], "plain": []}
    for number in range(STARTS):
        for kind, measured in seconds.items():
            with one_session(kind, folder / f"start-{kind}-{number}") as session:
                measured.append(session.start_seconds)
    ours, plain = (statistics.median(seconds[kind]) for kind in ("plugin", "plain"))
    return Figure(
        "session start to first answer", in_seconds(ours), in_seconds(plain), ours - plain, 0.5, "s"
    )


def with_sessions(folder: Path) -> list[Figure]:
    """Measures statements, the rule call and the log in two running sessions."""
    with both_sessions(folder) as (ours, plain):
        return [
            *alters_of_one_session(ours, folder / "one-session"),
            *statements((ours, plain), folder),
            wide_table(ours, folder / "wide"),
            *log_bytes(ours, folder),
        ]


def alters_of_one_session(ours: Remote, folder: Path) -> list[Figure]:
    """Measures ALTER of a tracked and an untracked table of 40 columns, both in one new session."""
    columns = ", ".join(f"a{number} INT" for number in range(39))
    return statements(
        (ours, ours), folder, f"{columns}, c0 INT", tuple(ALTERS), "{}, 40 columns, one session"
    )


def statements(
    sessions: tuple[Remote, Remote],
    folder: Path,
    columns: str = "a INT, c0 INT",
    kinds: tuple[str, ...] = tuple(STATEMENTS),
    label: str = "{}",
) -> list[Figure]:
    """Measures statements on a tracked and an untracked table, without the first call of each."""
    sides = (
        (sessions[0], folder / "tracked", f"{TRACKED}, {NAME_MODE}"),
        (sessions[1], folder / "plain", NAME_MODE),
    )
    for session, path, properties in sides:
        session.sql(create(f"delta.`{path}`", columns, properties))
    seconds: dict[str, tuple[list[float], list[float]]] = {what: ([], []) for what in kinds}
    for number in range(PAIRS + 1):
        for what in kinds:
            # The sessions take turns to be first, because the second finds warm caches.
            for side in (0, 1) if number % 2 else (1, 0):
                session, path, properties = sides[side]
                statement = STATEMENTS[what].format(
                    table=f"delta.`{path}`",
                    spare=f"delta.`{path}-{number}`",
                    properties=properties,
                    number=number,
                    next=number + 1,
                )
                elapsed = session.sql(statement)
                if number > 0:
                    seconds[what][side].append(elapsed)
    return [
        Figure(
            label.format(what),
            milliseconds(statistics.median(seconds[what][0])),
            milliseconds(statistics.median(seconds[what][1])),
            statistics.median(a / b for a, b in zip(*seconds[what], strict=True)),
            LIMITS[what],
        )
        for what in kinds
    ]


def wide_table(ours: Remote, path: Path) -> Figure:
    """Measures the rule call against the rest of an ALTER, on 10,000 columns at three levels."""
    groups = ", ".join(
        f"g{g} STRUCT<{', '.join(f's{s}: STRUCT<{leaves(19)}>' for s in range(5))}>"
        for g in range(100)
    )
    ours.sql(create(f"delta.`{path}`", groups, f"{TRACKED}, {NAME_MODE}"))
    alters = [ours.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN x{n} INT") for n in range(4)]
    calls = [ours.rule_call(path) for _ in range(7)]
    call, alter = statistics.median(calls[1:]), statistics.median(alters[1:])
    return Figure(
        "rule call in an ALTER, 10,000 columns",
        milliseconds(call),
        milliseconds(alter - call),
        call / (alter - call),
        0.25,
    )


def leaves(count: int) -> str:
    """Returns the fields of a struct."""
    return ", ".join(f"f{number}: INT" for number in range(count))


def log_bytes(ours: Remote, folder: Path) -> list[Figure]:
    """Measures the commit of new files with 32 indexed columns, against no column mapping."""
    kinds = {"tracked": (TRACKED, NAME_MODE), "delta": (NAME_MODE,), "none": ()}
    sizes: dict[str, int] = {}
    for kind, properties in kinds.items():
        path = folder / f"bytes-{kind}"
        columns = ", ".join(f"column_{number:02} BIGINT" for number in range(32))
        ours.sql(create(f"delta.`{path}`", columns, ", ".join(properties)))
        values = ", ".join(f"id + {number}" for number in range(32))
        ours.sql(
            f"INSERT INTO delta.`{path}` SELECT /*+ REPARTITION({FILES}) */ {values}"
            f" FROM range({FILES * 10})"
        )
        sizes[kind] = (path / "_delta_log" / f"{1:020}.json").stat().st_size
    return [
        Figure(
            f"commit of {FILES} files: {label}",
            f"{sizes[kind] / 1000:.0f} kB",
            f"{sizes['none'] / 1000:.0f} kB",
            sizes[kind] / sizes["none"],
            limit,
        )
        for kind, label, limit in (
            ("tracked", "tracked / no mapping", 1.02),
            ("delta", "Delta's names / no mapping", NO_LIMIT),
        )
    ]
