# SPDX-License-Identifier: Apache-2.0
"""Tests that Python and the page have the declared settings.

Run as a script, this writes the table of the page: `.venv/bin/python tests/unit/test_settings.py`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[2]
PAGE = CHECKOUT / "docs" / "settings.md"
DECLARED: dict[str, dict[str, Any]] = json.loads(
    (CHECKOUT / "spark_ext" / "settings.json").read_text()
)
TABLE = re.compile(r"\| setting \| values .*?\n\n", re.DOTALL)
# A prefix of settings, as in `spark.sparkext.worker.*`, is not a setting.
SETTING = re.compile(r'spark\.sparkext(?:\.\w+)+(?!\w|\.[\w*"])')
VALUES = {"boolean": "`true`, `false`", "time": "a time", "text": "a text"}


def page_with_table(page: str) -> str:
    rows = [row(name, declared) for name, declared in DECLARED.items()]
    head = "| setting | values | default | read from | meaning |\n|---|---|---|---|---|\n"
    written, tables = TABLE.subn(lambda _: head + "".join(rows) + "\n", page)
    assert tables == 1
    return written


def row(name: str, declared: dict[str, Any]) -> str:
    choices = ", ".join(f"`{value}`" for value in declared.get("values", ()))
    default = "not set" if declared["default"] is None else f"`{declared['default']}`"
    cells = (choices or VALUES[declared["type"]], default, f"the {declared['scope']}")
    return f"| `{name}` | {' | '.join(cells)} | {declared['doc']} |\n"


def test_page_shows_every_declared_setting() -> None:
    page = PAGE.read_text()

    assert page == page_with_table(page)


def test_sources_name_declared_settings_only() -> None:
    """Java fails at the start if it reads an undeclared setting."""
    sources = (source.read_text() for source in (CHECKOUT / "spark_ext").rglob("*.py"))
    named = {name for source in sources for name in SETTING.findall(source)}

    assert sorted(named - DECLARED.keys()) == []


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text()))
