# SPDX-License-Identifier: Apache-2.0
"""Draws the badges of the README from `pyproject.toml` and `releases.json`: `make pictures`.

Nothing is published, so no badge comes from a server. `tests/unit/test_diagrams.py` compares the
stored file.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

FILE = Path(__file__).with_name("badges.svg")
CHECKOUT = FILE.parents[2]
LETTER, HEIGHT = 6.2, 20


def badges() -> dict[str, str]:
    """Returns the value of each badge."""
    project = (CHECKOUT / "pyproject.toml").read_text()
    releases = json.loads((CHECKOUT / "spark_ext" / "releases.json").read_text())
    (license,) = re.findall(r'^license = "([\w.-]+)', project, re.MULTILINE)
    (python,) = re.findall(r'^requires-python = ">=([\d.]+)"$', project, re.MULTILINE)
    sparks, deltas = list(releases["sparks"]), [*map(minor, releases["deltas"])]
    return {
        "license": license,
        "Spark": f"{sparks[0]} to {sparks[-1]}",
        "Delta Lake": f"{deltas[0]} to {deltas[-1]}",
        "Python": f"{python} or later",
    }


def minor(version: str) -> str:
    """Returns the first two numbers of a version."""
    return ".".join(version.split(".")[:2])


def drawn() -> str:
    """Returns the SVG."""
    parts, left = [], 0
    for name, value in badges().items():
        for text, colour in ((name, "#475569"), (value, "#1d4ed8")):
            width = round(LETTER * len(text)) + 12
            parts.append(
                f'  <rect x="{left}" width="{width}" height="{HEIGHT}" fill="{colour}"/>\n'
                f'  <text x="{left + 6}" y="14" textLength="{width - 12}">{escape(text)}</text>'
            )
            left += width
        left += 6
    about = ", ".join(f"{name} {value}" for name, value in badges().items())
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left - 6} {HEIGHT}" '
            f'width="{left - 6}" height="{HEIGHT}" role="img" aria-labelledby="title">',
            f'  <title id="title">{escape(about)}</title>',
            "  <style>text { font: 12px system-ui, sans-serif; fill: #ffffff }</style>",
            *parts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    FILE.write_text(drawn())
