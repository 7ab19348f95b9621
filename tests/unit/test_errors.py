# SPDX-License-Identifier: Apache-2.0
"""The registry: an error that is left out of this list, or of the Java half, fails here."""

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

ROOT = Path(__file__).parents[2]
JAVA = ROOT / "jars/src/main/java/sparkext/error/UsageTrackingErrors.java"
LISTED = json.loads((ROOT / "spark_ext/conditions.json").read_text())

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, SparkExtError) and value is not SparkExtError
]


def test_the_registry_is_complete() -> None:
    assert {error.__name__: error.condition for error in CLASSES} == {
        "FlagNotModifiableError": "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
        "IcebergWriterCompatError": "DELTA_ICEBERG_COMPAT_VIOLATION.INCOMPATIBLE_TABLE_FEATURE",
        "IncompleteRemovalError": "USAGE_TRACKING_INCOMPLETE_REMOVAL",
        "ReservedColumnNameError": "USAGE_TRACKING_RESERVED_COLUMN_NAME",
        "RemovalOvertakenError": "USAGE_TRACKING_REMOVAL_OVERTAKEN",
        "UnreadableDataFileError": "USAGE_TRACKING_UNREADABLE_DATA_FILE",
        "UnreadableLogError": "USAGE_TRACKING_UNREADABLE_LOG",
        "RuleFailedError": "USAGE_TRACKING_RULE_FAILED",
        "MalformedMessageError": "USAGE_TRACKING_MALFORMED_MESSAGE",
        "RulesUnavailableError": "USAGE_TRACKING_RULES_UNAVAILABLE",
        "UnsupportedDeltaVersionError": "USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION",
        "UnsupportedSparkVersionError": "USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION",
        "SeveralJarsError": "USAGE_TRACKING_SEVERAL_JARS",
        "TableLikeWithFeatureError": "USAGE_TRACKING_TABLE_LIKE_WITH_FEATURE",
        "ProgressFailedError": "USAGE_TRACKING_PROGRESS_FAILED",
        "InvalidSettingError": "USAGE_TRACKING_INVALID_SETTING",
        "ExtensionJarMissingError": "USAGE_TRACKING_JAR_MISSING",
        "SessionAlreadyRunningError": "USAGE_TRACKING_SESSION_ALREADY_RUNNING",
        "JvmWithoutJarsError": "USAGE_TRACKING_JVM_WITHOUT_JARS",
        "DifferentVersionsError": "USAGE_TRACKING_DIFFERENT_VERSIONS",
        "InvalidTableNameError": "USAGE_TRACKING_INVALID_TABLE_NAME",
        "InvalidSchemaNameError": "USAGE_TRACKING_INVALID_SCHEMA_NAME",
        "AmbiguousTableNameError": "USAGE_TRACKING_AMBIGUOUS_TABLE_NAME",
        "SessionWithoutExtensionError": "USAGE_TRACKING_NOT_IN_SESSION",
        "RemoteSessionError": "USAGE_TRACKING_REMOTE_SESSION",
        "ClassicSparkMissingError": "USAGE_TRACKING_CLASSIC_SPARK_MISSING",
        "SessionNotAttachableError": "USAGE_TRACKING_SESSION_NOT_ATTACHABLE",
        "DeltaAlreadyLoadedError": "USAGE_TRACKING_DELTA_ALREADY_LOADED",
        "UnquotableArgumentError": "USAGE_TRACKING_UNQUOTABLE_ARGUMENT",
        "UnsupportedModeError": "DELTA_MODE_NOT_SUPPORTED",
        "ColumnNotResolvedError": "DELTA_CANNOT_RESOLVE_COLUMN",
        "MissingColumnIdError": "USAGE_TRACKING_MISSING_COLUMN_ID",
        "MissingPhysicalNameError": "USAGE_TRACKING_MISSING_PHYSICAL_NAME",
        "DuplicatedColumnIdError": "USAGE_TRACKING_DUPLICATED_COLUMN_ID",
        "DuplicatedPhysicalNameError": "USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME",
        "MaxColumnIdNotSetError": "DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET",
        "MaxColumnIdTooLowError": "DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET_CORRECTLY",
    }


@pytest.mark.parametrize("error", CLASSES)
class TestEveryError:
    def test_it_has_a_condition_and_an_sql_state(self, error: type[SparkExtError]) -> None:
        assert re.fullmatch(r"[A-Z][A-Z0-9_]*(\.[A-Z][A-Z0-9_]*)?", error.condition)
        assert re.fullmatch(r"[0-9A-Z]{5}", error.sql_state)

    def test_it_derives_from_a_builtin(self, error: type[SparkExtError]) -> None:
        builtins = [base for base in error.__mro__ if base.__module__ == "builtins"]

        assert builtins[0] not in (Exception, BaseException, object)

    def test_its_text_says_what_cannot_be_done_and_what_to_do(
        self, error: type[SparkExtError]
    ) -> None:
        assert re.match(r"Cannot [a-z]+ .+: .+\. [A-Z]", error.template)

    def test_its_params_fill_the_template(self, error: type[SparkExtError]) -> None:
        names = {name for _, name, _, _ in Formatter().parse(error.template) if name}
        params = {name: f"<{name}>" for name in names} or {"prop": "p"}

        raised = error(**params)

        assert raised.params == params
        assert all(value in str(raised) for value in params.values() if names)


def test_a_condition_has_one_meaning() -> None:
    assert len({error.condition for error in CLASSES}) == len(CLASSES)


def test_every_listed_condition_has_a_class() -> None:
    assert {error.condition for error in CLASSES} == LISTED.keys()


def test_what_the_java_half_raises_is_listed() -> None:
    """It reads SQLSTATE and template from the same list, by the condition's name."""
    raised = set(re.findall(r"Conditions\.error\(\s*\"([A-Z_]+)\"", JAVA.read_text()))

    assert raised == {
        error.condition for error in CLASSES if error.__doc__ and "aised in Java." in error.__doc__
    }


@pytest.mark.parametrize("error", CLASSES)
def test_an_error_can_be_pickled_and_copied(error: type[SparkExtError]) -> None:
    names = {name for _, name, _, _ in Formatter().parse(error.template) if name}
    raised = error(**{name: f"<{name}>" for name in names})

    for same in (pickle.loads(pickle.dumps(raised)), copy.copy(raised), copy.deepcopy(raised)):
        assert type(same) is error
        assert (str(same), same.params) == (str(raised), raised.params)


def test_params_are_text() -> None:
    assert errors.MaxColumnIdTooLowError(prop="p", tableMax=1, fieldMax=2).params == {
        "prop": "p",
        "tableMax": "1",
        "fieldMax": "2",
    }
