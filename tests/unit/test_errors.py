# SPDX-License-Identifier: Apache-2.0
"""Tests that each condition names a remedy, and that errors can be raised, caught and copied."""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path
from string import Formatter

import pytest

from spark_ext import errors
from spark_ext.errors import SparkExtError

LISTED = json.loads((Path(__file__).parents[2] / "spark_ext" / "conditions.json").read_text())
CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, SparkExtError) and value is not SparkExtError
]


def places(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@pytest.mark.parametrize("condition", LISTED)
def test_condition_has_an_sql_state_and_a_text_with_failure_and_remedy(condition: str) -> None:
    template = LISTED[condition]["template"]

    assert re.fullmatch(r"[A-Z][A-Z0-9_]*(\.[A-Z][A-Z0-9_]*)?", condition)
    assert re.fullmatch(r"[0-9A-Z]{5}", LISTED[condition]["sqlState"])
    assert re.match(r"Cannot [a-z]+ .+: .+\. [A-Z]", template)
    assert re.search(r"\.md\b| page\b", template) is None  # the package has no pages


@pytest.mark.parametrize("condition", LISTED)
def test_quoted_name_is_quoted_once(condition: str) -> None:
    class Error(SparkExtError, condition=condition):
        pass

    template = LISTED[condition]["template"]
    braces = dict.fromkeys(places(template), "a {b}")
    assert "``" not in str(Error(**dict.fromkeys(places(template), "`a`.`b c`")))
    assert str(Error(**braces)) == template.format(**braces)


@pytest.mark.parametrize("error", CLASSES)
def test_error_has_its_values_also_when_it_is_pickled_or_copied(error: type[SparkExtError]) -> None:
    params = {name: f"<{name}>" for name in places(error.template)}

    raised = error(**params)

    builtins = [base for base in error.__mro__ if base.__module__ == "builtins"]
    assert builtins[0] not in (Exception, BaseException, object)
    assert {"sqlState": error.sql_state, "template": error.template} == LISTED[error.condition]
    assert all(value in str(raised) for value in params.values())
    for same in (
        raised,
        pickle.loads(pickle.dumps(raised)),
        copy.copy(raised),
        copy.deepcopy(raised),
    ):
        assert (type(same), str(same), same.params) == (error, str(raised), params)


def test_condition_has_one_class() -> None:
    assert len({error.condition for error in CLASSES}) == len(CLASSES)


def test_parameters_are_text() -> None:
    assert errors.MaxColumnIdTooLowError(prop="p", tableMax=1, fieldMax=2).params == {
        "prop": "p",
        "tableMax": "1",
        "fieldMax": "2",
    }
