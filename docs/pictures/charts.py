# SPDX-License-Identifier: Apache-2.0
"""Draws the charts of `docs/benchmarks.md` from the tables of that page: `make pictures`.

A row of a table is a group of bars. All bars of a chart have one axis, which is logarithmic.
`tests/unit/test_diagrams.py` compares the stored files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from pathlib import Path

PAGE = Path(__file__).parents[1] / "benchmarks.md"
FOLDER = Path(__file__).parent
WIDTH, LEFT, AXIS = 820, 230, 520
TOP, BAR, GAP = 84, 13, 12
# The axis begins at 10 ms and ends at 100 s.
FIRST, LAST = -2, 2
TICKS = {-2: "10 ms", -1: "0.1 s", 0: "1 s", 1: "10 s", 2: "100 s"}
STYLE = """\
    text { font: 13px system-ui, sans-serif; fill: #0f172a }
    .small { font-size: 11px; fill: #475569 }
    .right { text-anchor: end } .middle { text-anchor: middle }
    .plain { fill: #64748b } .ours { fill: #2563eb } .floor { fill: #a3b8cc }
    line { stroke: #cbd5e1 }"""


@dataclass(frozen=True)
class Chart:
    """Contains a file's name, the heading of its table, a title, and the columns of the bars."""

    name: str
    heading: str
    title: str
    labels: tuple[str, ...]
    bars: dict[str, str]  # the heading of a column and the class of its bars

    @property
    def file(self) -> Path:
        """Returns the file of the chart."""
        return FOLDER / f"{self.name}.svg"

    def rows(self) -> list[dict[str, str]]:
        """Returns the rows of the table by the headings of its columns."""
        section = PAGE.read_text().split(f"\n## {self.heading}\n")[1].split("\n## ")[0]
        lines = [line for line in section.splitlines() if line.startswith("|")]
        head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
        return [dict(zip(head, row, strict=True)) for row in rows]

    def drawn(self) -> str:
        """Returns the SVG."""
        rows = self.rows()
        step = BAR * len(self.bars) + GAP
        height = TOP + step * len(rows) + 16
        names = [self.label(row) for row in rows]
        about = "; ".join(
            f"{name}: " + ", ".join(f"{bar} {row[bar]}" for bar in self.bars)
            for name, row in zip(names, rows, strict=True)
        )
        parts = [*self.legend(), *axis(height - 12)]
        for at, (name, row) in enumerate(zip(names, rows, strict=True)):
            parts += self.group(name, row, TOP + step * at)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
                f'width="{WIDTH}" height="{height}" role="img" aria-labelledby="title desc">',
                f'  <title id="title">{escape(self.title)}</title>',
                f'  <desc id="desc">{escape(about)}</desc>',
                f"  <style>\n{STYLE}\n  </style>",
                f'  <rect width="{WIDTH}" height="{height}" fill="#f8fafc" stroke="#cbd5e1"/>',
                text(20, 26, self.title),
                *parts,
                "</svg>\n",
            ]
        )

    def label(self, row: dict[str, str]) -> str:
        """Returns the label of a row: a case, a number of files, a size."""
        cells = [row[name] + (" files" if name == "files" else "") for name in self.labels]
        return ", ".join(cells).replace("`", "")

    def legend(self) -> list[str]:
        """Returns a square and a name for each kind of bar."""
        parts = []
        for at, (bar, kind) in enumerate(self.bars.items()):
            left = LEFT + 170 * at
            parts.append(f'  <rect class="{kind}" x="{left}" y="40" width="12" height="12"/>')
            parts.append(text(left + 18, 51, bar.strip("`")))
        return parts

    def group(self, name: str, row: dict[str, str], top: int) -> list[str]:
        """Returns the bars of a row, each with its figure."""
        middle = top + BAR * len(self.bars) // 2 + 4
        parts = [text(LEFT - 10, middle, name, "right")]
        for at, (bar, kind) in enumerate(self.bars.items()):
            length = along(seconds(row[bar]))
            top_of_bar = top + BAR * at
            parts.append(
                f'  <rect class="{kind}" x="{LEFT}" y="{top_of_bar}" width="{length}" '
                f'height="{BAR - 2}"/>'
            )
            parts.append(text(LEFT + length + 5, top_of_bar + 10, row[bar], "small"))
        return parts


def axis(bottom: int) -> list[str]:
    """Returns the lines and labels of the one axis."""
    parts = []
    for power, label in TICKS.items():
        x = LEFT + along(10.0**power)
        parts.append(f'  <line x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{bottom}"/>')
        parts.append(text(x, TOP - 12, label, "small middle"))
    return parts


def along(time: float) -> int:
    """Returns the length of a bar; a time below the axis has none."""
    if time <= 10.0**FIRST:
        return 0
    return round(AXIS * (math.log10(time) - FIRST) / (LAST - FIRST))


def seconds(cell: str) -> float:
    """Returns the seconds of a cell such as `167 ms` or `2.4 s`."""
    number, unit = cell.split()
    return float(number) / {"ms": 1000, "s": 1}[unit]


def text(x: int, y: int, words: str, kind: str = "") -> str:
    """Returns a text element."""
    attribute = f' class="{kind}"' if kind else ""
    return f'  <text x="{x}" y="{y}"{attribute}>{escape(words)}</text>'


CHARTS = (
    Chart(
        "removal-by-metadata",
        "Removal by metadata",
        "Time to remove column mapping by metadata only, on a logarithmic axis",
        ("files", "data"),
        {"plain Delta": "plain", "spark-ext": "ours", "floor": "floor"},
    ),
    Chart(
        "removal-by-copy",
        "Removal by byte copies",
        "Time to remove column mapping by byte copies, on a logarithmic axis",
        ("", "data"),
        {"plain Delta": "plain", "spark-ext": "ours", "`cp -r`": "floor"},
    ),
)


def main() -> None:
    """Writes every chart."""
    for chart in CHARTS:
        chart.file.write_text(chart.drawn())


if __name__ == "__main__":
    main()
