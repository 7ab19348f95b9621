# SPDX-License-Identifier: Apache-2.0
"""Reads the commands of the pages about sessions."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ("install.md", "errors.md")
PAGES = [DOCS / name for name in NAMES]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def block(section: str, language: str, containing: str = "", **placeholders: str) -> str:
    """Returns the only block of a section that contains a text.

    `placeholders` are words for which each machine has another value: folders and ports.
    """
    found = [code for code in blocks(section, language) if containing in code]
    assert len(found) == 1, f"{len(found)} blocks of {language} under {section!r}"
    (code,) = found
    for word, value in placeholders.items():
        word = PORT if word == "port" else word
        assert word in code
        code = code.replace(word, value)
    return code


def blocks(section: str, language: str) -> list[str]:
    """Returns all blocks of a section in one language."""
    (text,) = (
        part.partition("\n")[2]
        for page in PAGES
        for part in re.split(r"^#+ ", page.read_text(), flags=re.MULTILINE)
        if part.partition("\n")[0] == section
    )
    return [code for found, code in BLOCK.findall(text) if found == language]


PORT = "10000"
