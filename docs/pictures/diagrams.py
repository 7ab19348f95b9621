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
    560,
    476,
    "Which operation do you need?",
    "New tables: track. Readers show nulls: align names if you keep column mapping, remove it "
    "otherwise. Data of a dropped column: purge for live files, erase for everything.",
    (
        Box(16, 16, 210, "plain", ("Should new tables", "have readable names?")),
        Way("M226 45H334", 275, 38, "yes"),
        Box(336, 26, 208, "ours", ("track",)),
        Box(16, 104, 210, "plain", ("Do readers of an", "old table show nulls?")),
        Way("M121 162V202", 130, 186, "yes"),
        Box(16, 204, 210, "plain", ("Do you still rename", "or drop columns?")),
        Way("M226 233H334", 275, 226, "yes"),
        Box(336, 204, 208, "ours", ("align names", "`align_names()`")),
        Way("M121 262V305H334", 275, 298, "no"),
        Box(336, 276, 208, "ours", ("remove column mapping", "`remove_column_mapping()`")),
        Box(16, 360, 210, "plain", ("Must a dropped column's", "data be deleted?")),
        Way("M226 379H334", 240, 372, "from live files"),
        Box(336, 350, 208, "ours", ("purge", "`REORG .. APPLY (PURGE)`")),
        Way("M121 418V441H334", 240, 434, "and the log"),
        Box(336, 422, 208, "ours", ("erase",)),
    ),
)

STAGES = Diagram(
    "stages",
    560,
    318,
    "The stages of removal",
    "unmapped needs metadata or a byte copy; readers that ignore column mapping are right. readers "
    "needs metadata; readers of protocol version 1 read the table. writers needs the retention "
    "period; other engines write the table.",
    (
        Box(
            16,
            16,
            528,
            "ours",
            (
                "`unmapped`",
                "Takes metadata only, or a byte copy.",
                "Readers that ignore column mapping show the right values.",
            ),
        ),
        Way("M280 94V118"),
        Box(
            16,
            120,
            528,
            "ours",
            (
                "`readers`",
                "Takes metadata only.",
                "Readers of protocol version 1, such as polars, read the table.",
            ),
        ),
        Way("M280 198V222"),
        Box(
            16,
            224,
            528,
            "good",
            (
                "`writers`",
                "Deletes older versions after 24 hours.",
                "Other engines, such as deltalake, write the table.",
            ),
        ),
    ),
)

DIAGRAMS = (FLAG, WHICH, STAGES)


def main() -> None:
    """Writes every diagram."""
    for diagram in DIAGRAMS:
        diagram.file.write_text(diagram.drawn())


if __name__ == "__main__":
    main()
