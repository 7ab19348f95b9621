# SPDX-License-Identifier: Apache-2.0
"""Looks at the page of `--report` in a browser.

A notebook aligns all cells to the right, so the page of the test does the same.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from spark_ext import LakehouseReport, TableResult
from spark_ext.model.metadata import FileCount

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome is on PATH")

# The rule of JupyterLab's style sheet that results have to survive.
NOTEBOOK_STYLE = "<style>td,th,tr{text-align:right}</style>"
LOOK = """<script>
addEventListener("load", () => {
  const cells = [...document.querySelectorAll("td")].map(cell => {
    const style = getComputedStyle(cell);
    return {text: cell.innerText, title: cell.title, align: style.textAlign,
            color: style.color, background: style.backgroundColor, width: cell.offsetWidth};
  });
  const captions = [...document.querySelectorAll("caption")].map(each => each.innerText);
  const seen = document.createElement("pre");
  seen.id = "seen";
  seen.textContent = JSON.stringify({cells, captions, text: document.body.innerText});
  document.body.append(seen);
});
</script>"""
NUMBER = re.compile(r"(at most )?[\d.,]+( [kMGT]?B)?")
TRANSPARENT = "rgba(0, 0, 0, 0)"


@dataclass(frozen=True)
class Seen:
    """Contains the visible parts of a page."""

    cells: list[dict[str, Any]]
    captions: list[str]
    text: str

    def cell(self, text: str) -> dict[str, Any]:
        return next(cell for cell in self.cells if cell["text"] == text)


def dumped(page: Path, id: str) -> Any:
    """Opens a page in a browser, and returns the JSON that its script leaves in an element."""
    assert BROWSER is not None
    options = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"),
        *("--virtual-time-budget=5000", f"--user-data-dir={page.with_name('profile')}"),
    ]
    finished = subprocess.run(
        [BROWSER, *options, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = re.search(rf'<pre id="{id}">(.*)</pre>', finished.stdout, re.DOTALL)
    assert found is not None, finished.stderr
    return json.loads(unescape(found[1]))


def look(page: Path) -> Seen:
    """Opens a page, and returns the values that the browser computed."""
    page.write_text(page.read_text() + NOTEBOOK_STYLE + LOOK)
    return Seen(**dumped(page, "seen"))


def brightness(color: str) -> float:
    """Returns the relative luminance of a colour, as WCAG 2 defines it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def assert_readable(seen: Seen) -> None:
    """Requires that only numbers are right-aligned, and that coloured cells have contrast."""
    assert [cell["text"] for cell in seen.cells if cell["width"] == 0] == []
    for cell in seen.cells:
        if cell["align"] == "right":
            assert cell["text"] == "" or NUMBER.fullmatch(cell["text"]), cell
        if cell["background"] != TRANSPARENT:
            dark, light = sorted(map(brightness, (cell["color"], cell["background"])))
            assert (light + 0.05) / (dark + 0.05) > 4.5, cell


def test_page_of_a_report_shows_sizes_and_states(tmp_path: Path) -> None:
    tables = (
        TableResult(
            table="db.big", outcome="DONE", cost="COPY", num_files=78, size_in_bytes=34_567_890_123,
            copied=FileCount(78, 34_567_890_123), seconds=61.5, version_before=3, version_after=4,
        ),
        TableResult(table="db.<odd>", outcome="BLOCKED", reasons=("unmapped: OTHER_FEATURE",)),
    )  # fmt: skip
    page = tmp_path / "out.html"
    LakehouseReport("align names", ("db",), tables).write(page)

    seen = look(page)

    assert_readable(seen)
    assert seen.text.startswith("goal\talign names\n")
    size = seen.cell("34.6 GB")
    assert (size["align"], size["title"]) == ("right", "34567890123 bytes")
    assert seen.cell("db.<odd>")["align"] == "left"
    backgrounds = {text: seen.cell(text)["background"] for text in ("DONE", "BLOCKED", "db.big")}
    assert len(set(backgrounds.values())) == 3
    assert backgrounds["db.big"] == TRANSPARENT
