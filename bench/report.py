# SPDX-License-Identifier: Apache-2.0
"""Prints the results of a bench: figures with a limit, and tables without one."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

NO_LIMIT = float("inf")


@dataclass(frozen=True)
class Figure:
    """Contains a measured number, its limit, and the texts of the two sides."""

    what: str
    ours: str
    plain: str
    measured: float
    limit: float
    unit: str = "x"
    interval: tuple[float, float] | None = None
    """The bounds between which the number is with 95 % confidence."""

    @property
    def verdict(self) -> str:
        low, high = self.interval or (self.measured, self.measured)
        if low > self.limit:
            return "MISSED"
        return "ok" if high <= self.limit else "undecided"

    @property
    def text(self) -> str:
        bounds = f" ({self.interval[0]:.3f} to {self.interval[1]:.3f})" if self.interval else ""
        return f"{self.measured:.3f}{bounds} {self.unit}"


@dataclass(frozen=True)
class Report:
    """Contains the results of one bench.

    Args:
        title: The title of the table of figures.
        figures: The numbers with a limit.
        tables: The tables that are printed before the figures.
    """

    title: str = ""
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()

    @property
    def is_missed(self) -> bool:
        return any(figure.verdict == "MISSED" for figure in self.figures)

    def print(self) -> None:
        console = Console(width=110, highlight=False)
        for each in self.tables:
            console.print(each)
        if self.figures:
            console.print(self._table())

    def _table(self) -> Table:
        rows = (
            (
                figure.what,
                figure.ours,
                figure.plain,
                figure.text,
                f"{figure.limit:g} {figure.unit}",
                figure.verdict,
            )
            for figure in self.figures
        )
        headings = ("what", "ours", "plain", "ratio", "limit", "")
        return table(self.title, headings, rows, to_the_left=("what", ""))


def table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    to_the_left: Sequence[str] = (),
) -> Table:
    """Returns a table. Columns are aligned to the right unless listed."""
    made = Table(box=box.SIMPLE_HEAD, title=title)
    for heading in headings:
        made.add_column(heading, justify="left" if heading in to_the_left else "right")
    for row in rows:
        made.add_row(*row)
    return made


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


def in_seconds(seconds: float) -> str:
    return f"{seconds:.2f} s"


def machine() -> str:
    """Returns the number of cores and the model of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "")
    return f"{os.cpu_count()} cores, {model or platform.machine()}"
