# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings do what they show, and every rule and every check has one."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
from pathlib import Path
from typing import Any

import pytest

from spark_ext.auditing import CHECKS
from spark_ext.model.usage import flag
from spark_ext.rules import RULES
from tests.unit import audited_logs, tables

ROOT = Path(__file__).parents[2]
WITH_EXAMPLES = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for file in sorted((ROOT / "spark_ext").rglob("*.py"))
    if ">>>" in file.read_text()
]

# What examples of rules and checks are written in, unless the module has such a name itself.
NOTATION = {name: getattr(tables, name) for name in ("columns", "commit", "protocol", "table")}
NOTATION |= {"flag": flag, "history": audited_logs.history, "replace": dataclasses.replace}


def test_every_rule_and_every_check_has_an_example() -> None:
    functions: list[Any] = [*RULES, *CHECKS]

    assert {function.__module__ for function in functions} <= set(WITH_EXAMPLES)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)

    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS, extraglobs=NOTATION)

    assert results.attempted > 0
    assert results.failed == 0
