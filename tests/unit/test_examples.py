# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings do what they show, and every rule and every check has one."""

from __future__ import annotations

import dataclasses
import doctest
import importlib

import pytest

from spark_ext.auditing import CHECKS
from spark_ext.model.usage import flag
from spark_ext.rules import RULES
from tests.unit import audited_logs, tables

MODULES = [
    "spark_ext.model.changes",
    "spark_ext.model.column_mapping",
    "spark_ext.rules",
    "spark_ext.model.schema",
]
MODULES += ["spark_ext.api.audit", "spark_ext.api.audit_result"]
MODULES += ["spark_ext.leave.copy_plan", "spark_ext.leave.exits", "spark_ext.leave.removal"]
MODULES += [rule.__module__ for rule in (*RULES, *CHECKS)]

# What examples of rules and checks are written in, unless the module has such a name itself.
NOTATION = {name: getattr(tables, name) for name in ("columns", "commit", "protocol", "table")}
NOTATION |= {"flag": flag, "history": audited_logs.history, "replace": dataclasses.replace}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)

    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS, extraglobs=NOTATION)

    assert results.attempted > 0
    assert results.failed == 0
