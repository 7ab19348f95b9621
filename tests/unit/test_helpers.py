# SPDX-License-Identifier: Apache-2.0
"""Tests where helpers are, and what the lists of tests name."""

from __future__ import annotations

import ast
import runpy
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUPPORT = "support"
SHARED = {SUPPORT, "matrix"}  # `matrix` has no tests and lists the pairs
# The differential tests pass the same schemas to Delta's own functions.
BORROWED = {("differential", "unit")}


def folder_of(file: Path) -> str:
    """Returns the folder of a file below `tests`. `tests/conftest.py` is in the root, `.`."""
    folders = file.relative_to(ROOT / "tests").parent.parts
    return folders[0] if folders else "."


def helpers(file: Path) -> Iterator[Path]:
    """Yields the files below `tests` that a file imports."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
            names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
            files = [ROOT / f"{name.replace('.', '/')}.py" for name in names]
            yield from (file for file in files if file.exists())


IMPORTED = {file: set(helpers(file)) for file in sorted((ROOT / "tests").rglob("*.py"))}


def users() -> dict[Path, set[str]]:
    """Returns the folders that import a helper, directly or through another helper."""
    found: dict[Path, set[str]] = defaultdict(set)
    for file in IMPORTED:
        seen, to_see = {file}, [file]
        while to_see:
            new = IMPORTED[to_see.pop()] - seen
            seen |= new
            to_see += new
        for helper in seen:
            found[helper].add(folder_of(file))
    return found


def test_matrix_names_existing_files() -> None:
    matrix = runpy.run_path(str(ROOT / "tests" / "matrix" / "__main__.py"))
    named = [matrix["CONNECT_TESTS"], matrix["HELD_TESTS"]]
    named += [matrix["TESTS"] / name for name in matrix["SHORT_TESTS"]]

    assert (ROOT / matrix["STORE_TESTS"]).is_dir()
    assert [file for file in named if not (ROOT / file).is_file()] == []


def test_first_tier_names_existing_tests_of_every_folder() -> None:
    lines = (ROOT / "tests" / "first_tier.txt").read_text().splitlines()
    named = [line.partition("::") for line in lines if not line.startswith("#")]
    tested = {folder_of(file) for file in IMPORTED if file.name.startswith("test_")}

    # A random history, and a start of S3, take longer than a minute.
    slow = {"histories", "object_stores"}
    assert {folder_of(ROOT / file) for file, _, _ in named} == tested - {"unit"} - slow
    for file, _, test in named:
        assert f"def {test.rpartition('::')[2]}" in (ROOT / file).read_text(), test


def test_support_contains_only_helpers_of_two_folders() -> None:
    support = (file for file in IMPORTED if folder_of(file) == SUPPORT)
    found = users()

    alone = {file.name: found[file] - {SUPPORT} for file in support}

    # `tests/conftest.py` serves every folder.
    assert {name: by for name, by in alone.items() if len(by) < 2 and "." not in by} == {}


def test_folder_imports_only_its_own_or_shared_helpers() -> None:
    found = {(folder_of(file), folder_of(helper)) for file in IMPORTED for helper in IMPORTED[file]}

    assert {(one, other) for one, other in found if other not in {one, *SHARED}} == BORROWED
