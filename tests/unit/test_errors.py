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
# The placeholders in the order in which Java passes their values. Python raises some of these
# conditions too.
RAISED_IN_JAVA = {
    "USAGE_TRACKING_INVALID_SETTING": "setting value expected",
    "USAGE_TRACKING_SEVERAL_JARS": "jars",
    "USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION": "version mismatches supported",
    "USAGE_TRACKING_DELTA_ALREADY_LOADED": "type error",
    "USAGE_TRACKING_INVALID_TABLE_NAME": "name",
    "USAGE_TRACKING_INVALID_SCHEMA_NAME": "name",
    "USAGE_TRACKING_AMBIGUOUS_TABLE_NAME": "name one other",
    "USAGE_TRACKING_TABLE_LIKE_WITH_FEATURE": "feature",
    "USAGE_TRACKING_UNREADABLE_DATA_FILE": "path reason",
    "USAGE_TRACKING_UNREADABLE_LOG": "path reason",
    "USAGE_TRACKING_REMOVAL_CONFLICT": "timeout rounds attempts version operation",
    "USAGE_TRACKING_RULES_UNAVAILABLE": "reason command exitCode stderr",
    "USAGE_TRACKING_MALFORMED_MESSAGE": "path problem",
    "USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION": "spark delta supported",
    "USAGE_TRACKING_COPY_FAILED": "source target reason",
    "USAGE_TRACKING_STORAGE_FAILED": "table reason",
    "USAGE_TRACKING_COMMIT_STATUS_UNKNOWN": "table reason version",
    "USAGE_TRACKING_SESSION_NOT_ATTACHABLE": "reason",
    "USAGE_TRACKING_KERNEL_TABLE": "table setting value",
    "USAGE_TRACKING_TABLE_FUNCTION_FAILED": "function error",
    "USAGE_TRACKING_FAILED_AFTER_COMMIT": "operation table version reason",
    "USAGE_TRACKING_STREAM_RESTART_REQUIRED": "table start version",
}


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


@pytest.mark.parametrize("condition", RAISED_IN_JAVA)
def test_java_passes_values_in_the_order_of_the_template(condition: str) -> None:
    places = re.findall(r"{(\w+)}", LISTED[condition]["template"])

    assert " ".join(dict.fromkeys(places)) == RAISED_IN_JAVA[condition]


def test_parameters_are_text() -> None:
    assert errors.MaxColumnIdTooLowError(prop="p", tableMax=1, fieldMax=2).params == {
        "prop": "p",
        "tableMax": "1",
        "fieldMax": "2",
    }
