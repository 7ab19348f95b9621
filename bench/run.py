# SPDX-License-Identifier: Apache-2.0
"""`make bench`: tracked tables beside plain delta-spark, as ratios measured in one run.

Every ratio of statements is a median over pairs: the same statement on a tracked table in a
session with the plugin, and on an untracked name-mode table in one with plain delta-spark, one
after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import audit
import disable
import dml
import first_calls
import leave
import survey
import writers
from disable import NAME_MODE, TRACKED
from rich import box
from rich.console import Console
from rich.table import Table

PAIRS = 30
STARTS = 5
PICTURE = Path(__file__).parents[1] / "docs" / "disable.png"
PICTURE_OF_COPIES = PICTURE.with_name("leave.png")
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


LAST_LOOK = re.compile(r"Committed (\d+) ms after the last look")


class Remote:
    """A `session.py` process."""

    def __init__(self, kind: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.stderr = folder / f"{kind}.stderr"
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "session.py"), kind, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr.open("w"),
            text=True,
        )
        self.start_seconds = self._answer()

    def sql(self, statement: str) -> float:
        return self._call(do="sql", statement=statement)

    def attempt(self, statement: str) -> float:
        return self._call(do="attempt", statement=statement)

    def hold(self, path: Path) -> float:
        return self._call(do="hold", path=str(path))

    def held_update(self, path: Path, condition: str) -> float:
        return self._call(do="held_update", path=str(path), condition=condition)

    def forget(self) -> float:
        return self._call(do="forget")

    def last_look(self) -> float:
        """Seconds from the last look at a table that was left to its commit."""
        return int(LAST_LOOK.findall(self.stderr.read_text())[-1]) / 1000

    def rule_call(self, path: Path) -> float:
        return self._call(do="rule_call", path=str(path))

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _call(self, **command: Any) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> float:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            raise RuntimeError(f"the session ended with {code}: {self.stderr.read_text()[-2000:]}")
        return float(json.loads(line))


@contextmanager
def one_session(kind: str, folder: Path) -> Iterator[Remote]:
    """A session until the body ends."""
    session = Remote(kind, folder)
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def both_sessions(folder: Path) -> Iterator[tuple[Remote, Remote]]:
    """One with the plugin and one with plain delta-spark, until the body ends."""
    with one_session("plugin", folder) as ours, one_session("plain", folder) as plain:
        yield ours, plain


@dataclass(frozen=True)
class Figure:
    """One row of the result."""

    what: str
    ours: str
    plain: str
    measured: float
    limit: float
    unit: str = "x"

    @property
    def verdict(self) -> str:
        return "ok" if self.measured <= self.limit else "MISSED"


def main() -> int:
    """Measures, prints the tables; the exit code is 1 where a limit is missed."""
    parts = {
        "statements": with_statements,
        "dml": with_dml,
        "first-calls": with_first_calls,
        "disable": with_disabling,
        "leave": with_leaving,
        "writers": with_writers,
        "audit": with_audit,
        "survey": with_survey,
    }
    parser = argparse.ArgumentParser(prog="python bench/run.py")
    parser.add_argument("parts", nargs="*", metavar="part", help=" | ".join(parts))
    chosen = parser.parse_args().parts or list(parts)
    print(machine())
    folder = Path(tempfile.mkdtemp(prefix="spark-ext-bench-"))
    try:
        return max(parts[part](folder) for part in chosen)
    finally:
        shutil.rmtree(folder)


def with_statements(folder: Path) -> int:
    """What tracking costs elsewhere."""
    return report([session_start(folder), *with_sessions(folder)], f"{PAIRS} pairs, medians")


def with_dml(folder: Path) -> int:
    """What the comparison of a plan with the table costs."""
    figures = [
        Figure(
            f"{row.what} (quartiles {row.quartiles[0]:.3f} to {row.quartiles[1]:.3f})",
            milliseconds(row.ours),
            milliseconds(row.plain),
            row.ratio,
            row.limit,
        )
        for row in dml.measured(both_sessions, folder)
    ]
    return report(figures, f"{dml.SESSIONS} times {dml.PAIRS} pairs, medians")


def with_writers(folder: Path) -> int:
    """How leaving goes beside steady writers."""
    with (
        one_session("plugin", folder / "leaver") as leaver,
        one_session("plugin", folder / "appender") as appender,
        one_session("plugin", folder / "deleter") as deleter,
    ):
        beside = writers.measured(leaver, (appender, deleter), folder)
    table = Table(box=box.SIMPLE_HEAD, title="leaving beside an append each 1 s, a DELETE each 2 s")
    for heading in ("left", "seconds", "rounds", "copied", "appends", "deletes", "failed writes"):
        table.add_column(heading, justify="right")
    for one in beside.tries:
        table.add_row(
            "yes" if one.is_left else "NO",
            f"{one.seconds:.1f} s",
            str(one.rounds),
            f"{one.copied_again:.3f} x",
            str(one.appends),
            str(one.deletes),
            str(one.failed_writes),
        )
    Console(width=110, highlight=False).print(table)
    left = sum(one.is_left for one in beside.tries)
    quiet = f"{beside.quiet:.1f} s"
    most = max(one.copied_again for one in beside.tries)
    return report(
        [
            Figure(
                "not left, of all",
                str(len(beside.tries) - left),
                "",
                1 - left / len(beside.tries),
                0,
            ),
            Figure("bytes copied / table and appended", "", "", most, 1.1),
            Figure(
                "beside writers / quiet",
                f"{beside.seconds:.1f} s",
                quiet,
                beside.seconds / beside.quiet,
                float("inf"),
            ),
        ],
        "leaving beside writers",
    )


def with_first_calls(folder: Path) -> int:
    """What the first call of each kind costs in a fresh session."""
    figures = [
        Figure(
            f"first {row.what}",
            f"{row.ours:.2f} s",
            f"{row.plain:.2f} s",
            row.ours - row.plain,
            1,
            "s",
        )
        for row in first_calls.measured(one_session, folder)
    ]
    return report(figures, f"a process for each call, medians of {first_calls.REPEATS}")


def with_disabling(folder: Path) -> int:
    """What switching column mapping off costs, and its picture."""
    with both_sessions(folder) as (ours, plain):
        sizes = disable.by_size(ours, plain, folder)
        counts = disable.by_files(ours, plain, folder)
    disable.draw(sizes, counts, machine(), PICTURE)
    print(f"Drew {PICTURE}")
    largest = sizes[-1]
    report_disabling([*sizes, *counts])
    return report(
        [
            *(
                Figure(
                    f"ours / floor, {row.files} files, {row.megabytes:.0f} MB",
                    milliseconds(row.ours),
                    milliseconds(row.floor),
                    row.over_floor,
                    1.2,
                )
                for row in (*sizes, *counts)
            ),
            Figure(
                f"ours / Delta's, {largest.megabytes:.0f} MB",
                milliseconds(largest.ours),
                milliseconds(largest.delta),
                largest.ours / largest.delta,
                1 / 50,
            ),
        ],
        f"{disable.PAIRS} pairs, medians",
    )


def with_leaving(folder: Path) -> int:
    """What leaving column mapping costs where files are copied, and its picture."""
    with both_sessions(folder) as (ours, plain):
        sizes = leave.by_size(ours, plain, folder)
        counts = leave.by_files(ours, plain, folder)
        small = leave.of_small_files(ours, plain, folder)
    with one_session("plugin", folder / "young-session") as young:
        first, later = leave.in_young_session(young, folder)
    leave.draw(sizes, counts, machine(), PICTURE_OF_COPIES)
    print(f"Drew {PICTURE_OF_COPIES}")
    report_leaving([*sizes, *counts, small])
    large = [row for row in sizes if row.megabytes > 900]
    (thousand,) = (row for row in counts if row.files == 1_000)
    return report(
        [
            *(
                Figure(
                    f"(ours - a statement) / cp -r, {row.case}, {row.megabytes:,.0f} MB",
                    f"{row.ours - row.floor:.2f} s",
                    f"{row.cp:.2f} s",
                    row.over_cp,
                    1.3,
                )
                for row in large
            ),
            *(
                Figure(
                    f"last look to commit, {row.files:,} files, {row.megabytes:,.0f} MB",
                    f"{row.last_look:.2f} s",
                    "",
                    row.last_look,
                    limit,
                    "s",
                )
                for row, limit in ((sizes[-1], 2), (small, 10))
            ),
            *(against(row, "Delta's", row.delta, 1 / 8) for row in large),
            Figure(
                "ours, 1,000 clean files",
                f"{thousand.ours:.2f} s",
                f"{thousand.delta:.2f} s",
                thousand.ours,
                2,
                "s",
            ),
            Figure(
                f"ours, {small.files:,} small files copied",
                f"{small.ours:.2f} s",
                f"{small.delta:.2f} s",
                small.ours,
                12,
                "s",
            ),
            Figure(
                f"first in a session / later, {leave.YOUNG_MB:,} MB",
                f"{first:.2f} s",
                f"{later:.2f} s",
                first / later,
                2,
            ),
        ],
        "leaving by copies, medians",
    )


def with_audit(folder: Path) -> int:
    """What an audit costs as the table grows, and the questions that look at no file."""
    with one_session("plugin", folder) as ours:
        rows = audit.measured(ours, folder)
    table = Table(box=box.SIMPLE_HEAD, title="asking about a table")
    for heading in ("commits", "files", *audit.STATEMENTS, "audit of 1,000 files"):
        table.add_column(heading, justify="right")
    for row in rows:
        each = [f"{seconds:.2f} s" for seconds in row.seconds.values()]
        per_files = milliseconds(row.seconds["audit"] / row.files * 1_000)
        table.add_row(f"{row.commits:,}", f"{row.files:,}", *each, per_files)
    Console(width=110, highlight=False).print(table)
    return 0


def with_survey(folder: Path) -> int:
    """How many tables a second a survey looks at."""
    with one_session("plugin", folder) as ours:
        rows = survey.measured(ours, folder)
    table = Table(box=box.SIMPLE_HEAD, title="a survey of tables in the session catalog")
    for heading in ("", "tables", "time", "tables/s"):
        table.add_column(heading, justify="left" if heading == "" else "right")
    for row in rows:
        table.add_row(row.what, f"{row.tables:,}", f"{row.seconds:.1f} s", f"{row.rate:.0f}")
    Console(width=110, highlight=False).print(table)
    return 0


def against(row: leave.Leaving, name: str, other: float, limit: float) -> Figure:
    """Ours beside another way at one size."""
    what = f"ours / {name}, {row.case}, {row.megabytes:,.0f} MB"
    return Figure(what, f"{row.ours:.2f} s", f"{other:.2f} s", row.ours / other, limit)


def report_leaving(rows: list[leave.Leaving]) -> None:
    """Prints how long leaving takes at each size."""
    table = Table(box=box.SIMPLE_HEAD, title="leaving column mapping by copies")
    for heading in (
        "case",
        "files",
        "data",
        "ours",
        "a statement",
        "Delta's",
        "cp -r",
        "ours / cp",
        "Delta's / ours",
    ):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for row in rows:
        table.add_row(
            row.case,
            f"{row.files:,}",
            f"{row.megabytes:,.1f} MB",
            f"{row.ours:.2f} s",
            f"{row.floor:.2f} s",
            f"{row.delta:.2f} s",
            f"{row.cp:.2f} s",
            f"{row.ours / row.cp:.2f}",
            f"{row.delta / row.ours:.1f}",
        )
    Console(width=110, highlight=False).print(table)


def machine() -> str:
    """The machine in a few words."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "")
    return f"{os.cpu_count()} cores, {model or platform.machine()}"


def session_start(folder: Path) -> Figure:
    """How much longer a session takes to its first answer."""
    seconds: dict[str, list[float]] = {"plugin": [], "plain": []}
    for number in range(STARTS):
        for kind, measured in seconds.items():
            remote = Remote(kind, folder / f"start-{kind}-{number}")
            measured.append(remote.start_seconds)
            remote.stop()
    ours, plain = (statistics.median(seconds[kind]) for kind in ("plugin", "plain"))
    return Figure(
        "session start to first answer", f"{ours:.2f} s", f"{plain:.2f} s", ours - plain, 0.5, "s"
    )


def with_sessions(folder: Path) -> list[Figure]:
    """All that is measured between two running sessions."""
    with both_sessions(folder) as (ours, plain):
        return [
            *alters_of_one_session(ours, folder / "one-session"),
            *statements((ours, plain), folder),
            wide_table(ours, folder / "wide"),
            *log_bytes(ours, folder),
        ]


def alters_of_one_session(ours: Remote, folder: Path) -> list[Figure]:
    """ALTER of 40 columns in a fresh session, tracked and untracked tables in turns."""
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
    """Statements on a tracked and an untracked table; the first call of each kind is left out."""
    sides = (
        (sessions[0], folder / "tracked", f"{TRACKED}, {NAME_MODE}"),
        (sessions[1], folder / "plain", NAME_MODE),
    )
    for session, path, properties in sides:
        session.sql(create(f"delta.`{path}`", columns, properties))
    seconds: dict[str, tuple[list[float], list[float]]] = {what: ([], []) for what in kinds}
    for number in range(PAIRS + 1):
        for what in kinds:
            # In turns also who is first: the second finds the caches warm.
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
    """The rule call's share of an ALTER on 10,000 columns at three levels."""
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
    """Fields of a struct."""
    return ", ".join(f"f{number}: INT" for number in range(count))


def log_bytes(ours: Remote, folder: Path) -> list[Figure]:
    """Bytes of log per added file at 32 indexed columns, against no column mapping."""
    kinds = {"tracked": (TRACKED, NAME_MODE), "delta": (NAME_MODE,), "none": ()}
    sizes: dict[str, float] = {}
    for kind, properties in kinds.items():
        path = folder / f"bytes-{kind}"
        columns = ", ".join(f"column_{number:02} BIGINT" for number in range(32))
        ours.sql(create(f"delta.`{path}`", columns, ", ".join(properties)))
        values = ", ".join(f"id + {number}" for number in range(32))
        ours.sql(
            f"INSERT INTO delta.`{path}` SELECT /*+ REPARTITION({FILES}) */ {values}"
            f" FROM range({FILES * 10})"
        )
        lines = (path / "_delta_log" / f"{1:020}.json").read_text().splitlines()
        adds = [line for line in lines if line.startswith('{"add"')]
        sizes[kind] = sum(map(len, adds)) / len(adds)
    return [
        Figure(
            f"log bytes per file: {label}",
            f"{sizes[kind]:.0f}",
            f"{sizes['none']:.0f}",
            sizes[kind] / sizes["none"],
            limit,
        )
        for kind, label, limit in (
            ("tracked", "tracked / no mapping", 1.02),
            ("delta", "Delta's names / no mapping", float("inf")),
        )
    ]


def create(table: str, columns: str, properties: str) -> str:
    """A CREATE TABLE statement."""
    clause = f"TBLPROPERTIES ({properties})" if properties else ""
    return f"CREATE TABLE {table} ({columns}) USING delta {clause}"


def milliseconds(seconds: float) -> str:
    """Seconds as text."""
    return f"{seconds * 1000:.0f} ms"


def report_disabling(rows: list[disable.Disabling]) -> None:
    """Prints how long switching off takes at each size."""
    table = Table(box=box.SIMPLE_HEAD, title="switching column mapping off")
    for heading in ("files", "data", "floor", "ours", "Delta's", "Delta's / ours"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            f"{row.files:,}",
            f"{row.megabytes:.1f} MB",
            milliseconds(row.floor),
            milliseconds(row.ours),
            milliseconds(row.delta),
            f"{row.delta / row.ours:.1f}",
        )
    Console(width=110, highlight=False).print(table)


def report(figures: list[Figure], title: str) -> int:
    """Prints the figures; 1 where a limit is missed."""
    table = Table(box=box.SIMPLE_HEAD, title=title)
    for heading in ("what", "ours", "plain", "ratio", "limit", ""):
        table.add_column(heading, justify="left" if heading in ("what", "") else "right")
    for figure in figures:
        table.add_row(
            figure.what,
            figure.ours,
            figure.plain,
            f"{figure.measured:.3f} {figure.unit}",
            f"{figure.limit:g} {figure.unit}",
            figure.verdict,
        )
    Console(width=110, highlight=False).print(table)
    return int(any(figure.verdict != "ok" for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
