# SPDX-License-Identifier: Apache-2.0
"""Reads the commands of the pages about sessions."""

from __future__ import annotations

from tests.support import pages

PAGES = ("docs/install.md", "docs/errors.md")
PORT = "10000"


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
    found = [each for page in PAGES for each in pages.blocks(page) if each.section == section]
    assert found, section
    return [f"{each.text}\n" for each in found if each.language == language]
