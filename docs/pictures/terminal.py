# SPDX-License-Identifier: Apache-2.0
"""Draws terminals with the output of real runs: `make pictures`.

The demo and the commands run in one session. `tests/integration/test_pictures.py` runs them again
and compares the pictures, except for numbers.
"""

from __future__ import annotations

import importlib.util
import io
import os
import re
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

from pyspark.sql import SparkSession
from rich.console import Console
from rich.text import Text

import spark_ext
from spark_ext.__main__ import main as command_line

FOLDER = Path(__file__).parent
DEMO = FOLDER.parents[1] / "examples" / "demo.py"
COLUMNS = 100
LEFT, TOP, LINE, LETTER = 20, 58, 17, 7.8
WIDTH = 820
# Rich names the colours of ANSI by their numbers: red, green, yellow and bright green.
COLOURS = {
    "color(1)": "#f87171",
    "color(2)": "#4ade80",
    "color(3)": "#facc15",
    "color(10)": "#15803d",
    "bold": "#ffffff",
}
STYLE = (
    "    text { font: 12.5px ui-monospace, Menlo, Consolas, monospace; fill: #e2e8f0; "
    "white-space: pre }"
)
NAME_MODE = "'delta.columnMapping.mode' = 'name'"
TRACKED = "'delta.feature.columnMappingUsageTracking' = 'supported'"
LAKE = (
    "CREATE SCHEMA sales",
    "CREATE TABLE sales.orders (id BIGINT, city STRING) USING delta "
    f"TBLPROPERTIES ({NAME_MODE}, {TRACKED})",
    "INSERT INTO sales.orders VALUES (1, 'Rome')",
    "CREATE TABLE sales.customers (id BIGINT, name STRING) USING delta "
    f"TBLPROPERTIES ({NAME_MODE})",
    "INSERT INTO sales.customers VALUES (1, 'Anna')",
    "CREATE TABLE sales.returns (id BIGINT, `paid at` DATE) USING delta "
    f"TBLPROPERTIES ({NAME_MODE}, {TRACKED})",
)


@dataclass(frozen=True)
class Screen:
    """Contains a file's name, a title, and the lines of a terminal with ANSI colours."""

    name: str
    title: str
    lines: list[str]

    @property
    def file(self) -> Path:
        """Returns the file of the picture."""
        return FOLDER / f"{self.name}.svg"

    def drawn(self) -> str:
        """Returns the SVG."""
        height = TOP + LINE * len(self.lines) + 6
        texts = [drawn(line, TOP + LINE * at) for at, line in enumerate(self.lines)]
        dots = [f'  <circle cx="{22 + 18 * at}" cy="18" r="5" fill="#475569"/>' for at in range(3)]
        return "\n".join(
            [
                # Browsers keep blanks by the style, and other renderers by this attribute.
                '<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" '
                f'viewBox="0 0 {WIDTH} {height}" '
                f'width="{WIDTH}" height="{height}" role="img" aria-labelledby="title">',
                f'  <title id="title">{escape(self.title)}</title>',
                f"  <style>\n{STYLE}\n  </style>",
                f'  <rect width="{WIDTH}" height="{height}" rx="8" fill="#0f172a"/>',
                *dots,
                *filter(None, texts),
                "</svg>\n",
            ]
        )


def drawn(line: str, y: int) -> str:
    """Returns a text element, as wide as its letters; empty for an empty line."""
    text = Text.from_ansi(line.rstrip())
    if not text.plain:
        return ""
    parts = "".join(
        f'<tspan fill="{colour}">{escape(part.plain)}</tspan>' if colour else escape(part.plain)
        for part in text.divide(sorted({end for span in text.spans for end in span[:2]}))
        for colour in [colour_of(part)]
    )
    width = round(LETTER * len(text.plain))
    return f'  <text x="{LEFT}" y="{y}" textLength="{width}">{parts}</text>'


def colour_of(part: Text) -> str | None:
    """Returns the colour of a part that has one style."""
    styles = " ".join(str(span.style) for span in part.spans)
    return next((code for name, code in COLOURS.items() if name in styles), None)


def demo_lines(spark: SparkSession, folder: Path) -> list[str]:
    """Returns what the steps 3 to 5 of the demo print."""
    demo = loaded_demo()
    screen = io.StringIO()
    console = Console(file=screen, width=COLUMNS, force_terminal=True, color_system="standard")
    vars(demo).update(console=console)
    demo.story(spark, folder)
    lines = screen.getvalue().splitlines()
    starts = [at for at, line in enumerate(lines) if re.match(r"[36]\. ", plain(line))]
    return ["$ make demo", "..", *lines[slice(*starts)]]


def loaded_demo() -> ModuleType:
    """Returns a new module of the demo."""
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(line: str) -> str:
    """Returns a line without its colours."""
    return Text.from_ansi(line).plain


def printed(command: str) -> list[str]:
    """Returns the prompt, and the lines that a command prints."""
    output = io.StringIO()
    with (
        patch.dict(os.environ, COLUMNS=str(COLUMNS)),
        redirect_stdout(output),
        redirect_stderr(output),
    ):
        command_line(command.split())
    return [f"$ spark-ext {command}", *output.getvalue().splitlines()]


def screens(spark: SparkSession, folder: Path) -> list[Screen]:
    """Returns the screens of real runs; creates a schema `sales` and tables in the folder."""
    for statement in LAKE:
        spark.sql(statement)
    return [
        Screen("terminal-demo", "Three steps of make demo", demo_lines(spark, folder)),
        Screen("terminal-survey", "A survey", printed("survey sales")),
        Screen(
            "terminal-lakehouse",
            "The plan for a lakehouse, and its run",
            [*printed("remove sales --dry-run"), "", *printed("remove sales")],
        ),
    ]


def main() -> None:
    """Starts a session and writes the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        builder = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        )
        spark = spark_ext.configure(builder).getOrCreate()
        for screen in screens(spark, Path(folder)):
            screen.file.write_text(screen.drawn())
            print(f"Written: {screen.file}", file=sys.stderr)
        spark.stop()


if __name__ == "__main__":
    main()
