# SPDX-License-Identifier: Apache-2.0
"""Reads the files of `cases/`, in which each case of a rule is a heading and a commit.

    drop_column: A dropped column sets the flag.
        name false {a: 1 a, b: 2 b} -> name false {a: 1 a} => true {a: 1 a}

A commit is `[features; facts] old -> proposed -> assigned => expected`. The brackets list the
writer features of the protocol and what else is true of the commit. Without brackets, the table is
tracked. Without `assigned`, `fake_delta` assigns ids and names.

A table is its mode, its flag, its columns in the words of `tables.py`, and its properties. The
expected table is its flag, its columns and the properties that the rules changed. A refusal is a
condition, a SQLSTATE and the parameters that the test compares.

An object is a flow mapping of YAML in which everything but a number is text. A name without a value
is an unmapped column.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from spark_ext.model.metadata import TableMetadata
from tests.unit.tables import TRACKED, table

CASES = Path(__file__).parent / "cases"
MODES = ("none", "name", "id")
CASE = re.compile(r"^(\w+): .*\n((?: +.*\n)+)", re.M)


class _Words(yaml.SafeLoader):  # type: ignore[misc]
    """Reads only numbers as another type than text."""


_Words.yaml_implicit_resolvers = {
    digit: [("tag:yaml.org,2002:int", re.compile(r"\d+$"))] for digit in "0123456789"
}


def cases() -> dict[str, dict[str, Any]]:
    """Returns every case by `<rule>/<name>`.

    Raises:
        ValueError: A line belongs to no case, or two cases of a rule have the same name.
    """
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(CASES.glob("*.txt")):
        text = file.read_text()
        named = {f"{file.stem}/{name}": case(commit) for name, commit in CASE.findall(text)}
        if CASE.sub("", text) or len(named) < len(CASE.findall(text)):
            raise ValueError(f"{file.name} has a line without a case, or one name twice.")
        found |= named
    return found


def case(text: str) -> dict[str, Any]:
    """Returns the parts of a commit."""
    line = " ".join(line.strip() for line in text.splitlines())
    commit, _, expected = line.partition(" => ")
    brackets = "tracked"
    if commit.startswith("["):
        brackets, commit = commit[1:].split("] ", 1)
    features, _, facts = brackets.partition(";")
    parts = zip(("old", "proposed", "new"), commit.split(" -> "), strict=False)
    return {
        "features": list(TRACKED) if features == "tracked" else features.split(),
        "facts": facts.split(),
        "expected": {"error": _refusal(expected)} if expected[0].isupper() else _table(expected),
        **{part: None if words == "no table" else _table(words) for part, words in parts},
    }


def table_of(text: str) -> TableMetadata:
    return table(**_table(text))


def _refusal(text: str) -> dict[str, Any]:
    words, objects = _parsed(text)
    return dict(zip(("condition", "sqlState", "parameters"), [*words, *objects], strict=False))


def _table(text: str) -> dict[str, Any]:
    words, objects = _parsed(text)
    mode = words.pop(0) if words and words[0] in MODES else None
    flag = words[0].strip('"') if words else None
    parts = ("mode", "flag", "columns", "properties")
    return dict(zip(parts, [mode, flag, *objects], strict=False))


def _parsed(text: str) -> tuple[list[str], list[Any]]:
    """Returns the words before the first brace, and the objects in braces."""
    words, brace, rest = text.partition("{")
    objects = re.sub(r"\}\s+\{", "}, {", brace + rest)
    return words.split(), yaml.load(f"[{objects}]", Loader=_Words)
