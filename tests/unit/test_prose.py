# SPDX-License-Identifier: Apache-2.0
"""Tests that pages, error texts and help texts keep the rules for prose."""

from __future__ import annotations

import argparse
import ast
import json
from pathlib import Path

import pytest

from spark_ext.cli.commands import COMMANDS, Command
from tests.unit.prose import objections, sentences

CHECKOUT = Path(__file__).parents[2]
FOLDERS = ("README.md", "CHANGELOG.md", "docs/*.md", ".github/*.md")
PAGES = sorted(
    path.relative_to(CHECKOUT).as_posix() for folder in FOLDERS for path in CHECKOUT.glob(folder)
)
CHECKS = sorted((CHECKOUT / "spark_ext" / "auditing").glob("*.py"))
CONDITIONS = json.loads((CHECKOUT / "spark_ext" / "conditions.json").read_text())


@pytest.mark.parametrize("page", PAGES)
def test_page_follows_the_rules_for_prose(page: str) -> None:
    assert objections((CHECKOUT / page).read_text()) == []


@pytest.mark.parametrize("condition", CONDITIONS)
def test_text_of_an_error_follows_the_rules_for_prose(condition: str) -> None:
    assert objections(CONDITIONS[condition]["template"]) == []


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_of_a_command_follows_the_rules_for_prose(command: Command) -> None:
    parser = argparse.ArgumentParser(add_help=False)
    command.add_arguments(parser)
    helps = [command.help, *(action.help for action in parser._actions)]

    assert [objection for text in helps for objection in objections(text or "no help")] == []
    assert None not in helps


@pytest.mark.parametrize("module", CHECKS, ids=lambda module: module.stem)
def test_message_or_remedy_of_a_finding_follows_the_rules_for_prose(module: Path) -> None:
    tree = ast.parse(module.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node):
            del node.body[0]

    texts = [
        "".join(
            str(part.value) if isinstance(part, ast.Constant) else "x"
            for part in getattr(node, "values", [node])
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.JoinedStr)
    ]
    assert [objection for text in texts for objection in objections(text)] == []


def test_sentences_end_at_stops_cells_items_and_headings() -> None:
    page = "# Title\nOne `a. b` [link](y.md).\nTwo\nlines: three.\n\n- item\n- item\n\n| a | b |\n"

    assert list(sentences(page)) == [
        *("Title", "One x link.", "Two lines:", "three."),
        *("item", "item", "a", "b"),
    ]


def test_code_is_not_a_sentence() -> None:
    assert list(sentences("```sql\nSELECT gone\n```\n")) == []


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("word " * 25, 0),
        ("word " * 26, 1),
        ("The values are gone.", 1),
        ("`gone` is a column.", 0),
        ("Leaving column mapping costs nothing.", 2),
        ("The exit code is 1.", 0),
    ],
)
def test_objections_are_long_sentences_and_unwanted_words(page: str, found: int) -> None:
    assert len(objections(page)) == found
