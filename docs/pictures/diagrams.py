# SPDX-License-Identifier: Apache-2.0
"""Draws the diagrams of the pages: `make pictures`.

A diagram is a list of boxes and arrows. `tests/unit/test_diagrams.py` compares the stored files.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent
STYLE = """\
    text { font: 14px system-ui, sans-serif; fill: #0f172a }
    .code { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #334155 }
    .small { font-size: 12.5px; fill: #475569 }
    rect.box { stroke-width: 1.5 }
    .plain { fill: #e2e8f0; stroke: #64748b } .ours { fill: #dbeafe; stroke: #2563eb }
    .good { fill: #dcfce7; stroke: #15803d } .warn { fill: #fef3c7; stroke: #b45309 }
    path { stroke: #334155; stroke-width: 1.5; fill: none; marker-end: url(#arrow) }"""
ARROW = (
    '<marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path d="M0 0 10 5 0 10z" style="fill:#334155;stroke:none;'
    'marker-end:none"/></marker>'
)


@dataclass(frozen=True)
class Box:
    """Has a kind, and lines of text. A line that starts with a backtick is code."""

    x: int
    y: int
    width: int
    kind: str
    lines: tuple[str, ...]

    def drawn(self) -> list[str]:
        """Returns lines of SVG."""
        height = 18 + 20 * len(self.lines)
        box = f'  <rect class="box {self.kind}" x="{self.x}" y="{self.y}" rx="6" '
        texts = [
            words(self.x + 14, self.y + 24 + 20 * at, line) for at, line in enumerate(self.lines)
        ]
        return [f'{box}width="{self.width}" height="{height}"/>', *texts]


@dataclass(frozen=True)
class Way:
    """Is an arrow along a path of SVG, with a label."""

    path: str
    x: int = 0
    y: int = 0
    label: str = ""

    def drawn(self) -> list[str]:
        """Returns lines of SVG."""
        label = [words(self.x, self.y, self.label, "small")] if self.label else []
        return [f'  <path d="{self.path}"/>', *label]


@dataclass(frozen=True)
class Diagram:
    """Is a file, its size, its title, a description for readers without the picture, and parts."""

    name: str
    width: int
    height: int
    title: str
    about: str
    parts: tuple[Box | Way, ...]

    @property
    def file(self) -> Path:
        """Returns the file of the diagram."""
        return FOLDER / f"{self.name}.svg"

    def drawn(self) -> str:
        """Returns the SVG."""
        size = (
            f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        )
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" '
            'aria-labelledby="title desc">',
            f'  <title id="title">{escape(self.title)}</title>',
            f'  <desc id="desc">{escape(self.about)}</desc>',
            f"  <defs>{ARROW}</defs>",
            f"  <style>\n{STYLE}\n  </style>",
            f'  <rect width="{self.width}" height="{self.height}" fill="#f8fafc" '
            'stroke="#cbd5e1"/>',
            *(line for part in self.parts for line in part.drawn()),
        ]
        return "\n".join([*lines, "</svg>\n"])


def words(x: int, y: int, line: str, kind: str = "") -> str:
    """Returns a text element."""
    if line.startswith("`"):
        kind, line = "code", line.strip("`")
    attribute = f' class="{kind}"' if kind else ""
    return f'  <text x="{x}" y="{y}"{attribute}>{escape(line)}</text>'


FLAG = Diagram(
    "flag",
    820,
    290,
    "The life of the flag",
    "A table is tracked with the flag false, or with the flag true if it already has column "
    "mapping. The first drop or rename sets the flag to true. align_names() makes it false again. "
    "DROP FEATURE ends tracking.",
    (
        Box(20, 115, 210, "plain", ("not tracked", "new columns: col-<uuid>")),
        Box(400, 25, 230, "good", ("tracked, flag false", "readable names")),
        Box(400, 205, 230, "warn", ("tracked, flag true", "new columns: col-<uuid>")),
        Way("M125 115V54H398", 135, 46, "without column mapping, or new"),
        Way("M125 173V234H398", 135, 252, "with column mapping"),
        Way("M470 83V203", 338, 180, "first drop or rename"),
        Way("M560 203V85", 570, 180, "align_names()"),
        Way("M630 54H790V144H232", 640, 46, "DROP FEATURE"),
        Way("M630 234H790V144", 640, 252, "DROP FEATURE"),
    ),
)

WHICH = Diagram(
    "which",
    820,
    470,
    "Which operation do you need?",
    "New tables: track. Readers show nulls: align names if you keep column mapping, remove it "
    "otherwise. Data of a dropped column: purge for live files, erase for everything.",
    (
        Box(20, 20, 330, "plain", ("Should new tables have readable names?",)),
        Way("M350 39H548", 420, 32, "yes"),
        Box(550, 20, 250, "ours", ("track",)),
        Box(20, 100, 330, "plain", ("Do readers of an old table show nulls?",)),
        Way("M185 138V178", 195, 163, "yes"),
        Box(20, 180, 330, "plain", ("Do you still rename or drop columns?",)),
        Way("M350 199H548", 420, 192, "yes"),
        Box(550, 180, 250, "ours", ("align names", "`align_names()`")),
        Way("M185 218V258H548", 420, 251, "no"),
        Box(550, 258, 250, "ours", ("remove column mapping", "`remove_column_mapping()`")),
        Box(20, 340, 330, "plain", ("Must the data of a dropped column go?",)),
        Way("M350 354H548", 355, 347, "from files that queries read"),
        Box(550, 335, 250, "ours", ("purge", "`REORG TABLE .. APPLY (PURGE)`")),
        Way("M185 378V428H548", 355, 421, "also from the log"),
        Box(550, 405, 250, "ours", ("erase",)),
    ),
)

STAGES = Diagram(
    "stages",
    820,
    180,
    "The stages of removal",
    "unmapped needs metadata or a byte copy; readers that ignore column mapping are right. readers "
    "needs metadata; readers of protocol version 1 read the table. writers needs the retention "
    "period; other engines write the table.",
    (
        Box(
            20,
            50,
            230,
            "ours",
            ("`unmapped`", "metadata or byte copy", "readers without mapping"),
        ),
        Box(295, 50, 230, "ours", ("`readers`", "metadata", "readers of protocol 1")),
        Box(570, 50, 230, "good", ("`writers`", "24 hours, old versions", "other engines write")),
        Way("M250 88H293"),
        Way("M525 88H568"),
    ),
)

CALENDAR = Diagram(
    "erasure-calendar",
    820,
    200,
    "The calendar of an erasure",
    "Day 0: DROP COLUMN and PURGE. After 7 days: VACUUM. After 30 days: log cleanup with a "
    "checkpoint. The days are Delta's defaults.",
    (
        Box(
            20,
            60,
            220,
            "plain",
            ("day 0", "`ALTER .. DROP COLUMN`", "`REORG .. APPLY (PURGE)`"),
        ),
        Box(300, 60, 220, "plain", ("7 days later", "`VACUUM`", "removed files")),
        Box(
            580,
            60,
            220,
            "good",
            ("30 days later", "checkpoint, log cleanup", "statistics in the log"),
        ),
        Way("M240 100H298"),
        Way("M520 100H578"),
    ),
)

DIAGRAMS = (FLAG, WHICH, STAGES, CALENDAR)


def main() -> None:
    """Writes every diagram."""
    for diagram in DIAGRAMS:
        diagram.file.write_text(diagram.drawn())


if __name__ == "__main__":
    main()
