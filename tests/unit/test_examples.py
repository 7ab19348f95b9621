# SPDX-License-Identifier: Apache-2.0
"""Runs the examples in docstrings. Every rule has an example."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from spark_ext.model.metadata import flag
from spark_ext.rules import RULES, MetadataRule
from tests.unit import tables

ROOT = Path(__file__).parents[2]
# Names that examples use, unless the module defines the same name.
NOTATION = {name: getattr(tables, name) for name in ("columns", "commit", "protocol", "table")}
NOTATION |= {"flag": flag}


def modules_with_examples() -> list[str]:
    files = [file for file in (ROOT / "spark_ext").rglob("*.py") if ">>> " in file.read_text()]
    names = (".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files)
    return sorted(name.removesuffix(".__init__") for name in names)


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_of_a_module_pass(name: str) -> None:
    module = importlib.import_module(name)

    results = doctest.testmod(
        module, globs={**NOTATION, **vars(module)}, optionflags=doctest.ELLIPSIS
    )

    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("rule", RULES)
def test_rules_have_an_example(rule: MetadataRule) -> None:
    assert ">>> " in str(rule.__doc__)
