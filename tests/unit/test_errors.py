# SPDX-License-Identifier: Apache-2.0
"""Tests that all conditions are listed, name a remedy, and are raised in Python or Java."""

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
PYTHON = ROOT / "spark_ext"
JAVA = ROOT / "jars/src/main/java/sparkext/common/UsageTrackingErrors.java"
LISTED = json.loads((ROOT / "spark_ext/conditions.json").read_text())

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, SparkExtError) and value is not SparkExtError
]
# Python raises some of these conditions too.
RAISED_IN_JAVA = {
    *("USAGE_TRACKING_INVALID_SETTING", "USAGE_TRACKING_SEVERAL_JARS"),
    *("USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION", "USAGE_TRACKING_DELTA_ALREADY_LOADED"),
    *("USAGE_TRACKING_INVALID_TABLE_NAME", "USAGE_TRACKING_INVALID_SCHEMA_NAME"),
    *("USAGE_TRACKING_AMBIGUOUS_TABLE_NAME", "USAGE_TRACKING_TABLE_LIKE_WITH_FEATURE"),
    *("USAGE_TRACKING_UNREADABLE_DATA_FILE", "USAGE_TRACKING_UNREADABLE_LOG"),
    *("USAGE_TRACKING_REMOVAL_CONFLICT", "USAGE_TRACKING_RULES_UNAVAILABLE"),
    *("USAGE_TRACKING_MALFORMED_MESSAGE", "USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION"),
    *("USAGE_TRACKING_COPY_FAILED", "USAGE_TRACKING_STORAGE_FAILED"),
    *("USAGE_TRACKING_COMMIT_STATUS_UNKNOWN", "USAGE_TRACKING_SESSION_NOT_ATTACHABLE"),
    *("USAGE_TRACKING_KERNEL_TABLE", "USAGE_TRACKING_TABLE_FUNCTION_FAILED"),
    *("USAGE_TRACKING_FAILED_AFTER_COMMIT", "USAGE_TRACKING_STREAM_RESTART_REQUIRED"),
}


def test_registry_is_complete() -> None:
    assert {error.__name__: error.condition for error in CLASSES} == {
        "FlagNotModifiableError": "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
        "IcebergWriterCompatError": "DELTA_ICEBERG_COMPAT_VIOLATION.INCOMPATIBLE_TABLE_FEATURE",
        "IncompleteRemovalError": "USAGE_TRACKING_INCOMPLETE_REMOVAL",
        "ReservedColumnNameError": "USAGE_TRACKING_RESERVED_COLUMN_NAME",
        "RuleFailedError": "USAGE_TRACKING_RULE_FAILED",
        "MalformedMessageError": "USAGE_TRACKING_MALFORMED_MESSAGE",
        "ProgressFailedError": "USAGE_TRACKING_PROGRESS_FAILED",
        "CannotRemoveColumnMappingError": "USAGE_TRACKING_CANNOT_REMOVE_COLUMN_MAPPING",
        "NotACertificateError": "USAGE_TRACKING_NOT_A_CERTIFICATE",
        "InvalidFileNameError": "USAGE_TRACKING_INVALID_FILE_NAME",
        "NotMappedError": "USAGE_TRACKING_NOT_MAPPED",
        "ModeIdLostError": "USAGE_TRACKING_MODE_ID_LOST",
        "CannotAlignNamesError": "USAGE_TRACKING_CANNOT_ALIGN_NAMES",
        "AlignmentConflictError": "USAGE_TRACKING_ALIGNMENT_CONFLICT",
        "ExtensionJarMissingError": "USAGE_TRACKING_JAR_MISSING",
        "SessionAlreadyRunningError": "USAGE_TRACKING_SESSION_ALREADY_RUNNING",
        "JvmWithoutJarsError": "USAGE_TRACKING_JVM_WITHOUT_JARS",
        "DifferentVersionsError": "USAGE_TRACKING_DIFFERENT_VERSIONS",
        "SessionWithoutExtensionError": "USAGE_TRACKING_NOT_IN_SESSION",
        "RemoteSessionError": "USAGE_TRACKING_REMOTE_SESSION",
        "ClassicSparkMissingError": "USAGE_TRACKING_CLASSIC_SPARK_MISSING",
        "DeltaPackageMissingError": "USAGE_TRACKING_DELTA_PACKAGE_MISSING",
        "SessionNotAttachableError": "USAGE_TRACKING_SESSION_NOT_ATTACHABLE",
        "UnquotableArgumentError": "USAGE_TRACKING_UNQUOTABLE_ARGUMENT",
        "UnsupportedModeError": "DELTA_MODE_NOT_SUPPORTED",
        "ColumnNotResolvedError": "DELTA_CANNOT_RESOLVE_COLUMN",
        "ModeChangeError": "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
        "SchemaChangeWithModeError": "DELTA_UNSUPPORTED_COLUMN_MAPPING_SCHEMA_CHANGE",
        "MappingMetadataExistsError": "DELTA_ENABLING_COLUMN_MAPPING_DISALLOWED_WHEN_COLUMN_MAPPING"
        "_METADATA_ALREADY_EXISTS",
        "MissingColumnIdError": "USAGE_TRACKING_MISSING_COLUMN_ID",
        "MissingPhysicalNameError": "USAGE_TRACKING_MISSING_PHYSICAL_NAME",
        "DuplicatedColumnIdError": "USAGE_TRACKING_DUPLICATED_COLUMN_ID",
        "DuplicatedPhysicalNameError": "USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME",
        "MaxColumnIdNotSetError": "DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET",
        "MaxColumnIdTooLowError": "DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET_CORRECTLY",
    }


@pytest.mark.parametrize("condition", LISTED)
class TestEveryCondition:
    def test_condition_has_a_name_and_an_sql_state(self, condition: str) -> None:
        assert re.fullmatch(r"[A-Z][A-Z0-9_]*(\.[A-Z][A-Z0-9_]*)?", condition)
        assert re.fullmatch(r"[0-9A-Z]{5}", LISTED[condition]["sqlState"])

    def test_text_contains_the_failure_and_the_remedy(self, condition: str) -> None:
        assert re.match(r"Cannot [a-z]+ .+: .+\. [A-Z]", LISTED[condition]["template"])

    def test_text_names_no_page(self, condition: str) -> None:
        """The package does not contain the pages of `docs/`."""
        assert re.search(r"\.md\b| page\b", LISTED[condition]["template"]) is None

    def test_quoted_name_is_quoted_once(self, condition: str) -> None:
        class Error(SparkExtError, condition=condition):
            pass

        template = LISTED[condition]["template"]
        places = {name for _, name, _, _ in Formatter().parse(template) if name}

        assert "``" not in str(Error(**dict.fromkeys(places, "`a`.`b c`")))
        assert str(Error(**dict.fromkeys(places, "a {b}"))) == template.format(
            **dict.fromkeys(places, "a {b}")
        )


@pytest.mark.parametrize("error", CLASSES)
class TestEveryError:
    def test_error_has_the_listed_values(self, error: type[SparkExtError]) -> None:
        listed = {"sqlState": error.sql_state, "template": error.template}

        assert listed == LISTED[error.condition]

    def test_error_derives_from_a_builtin(self, error: type[SparkExtError]) -> None:
        builtins = [base for base in error.__mro__ if base.__module__ == "builtins"]

        assert builtins[0] not in (Exception, BaseException, object)

    def test_parameters_fill_the_template(self, error: type[SparkExtError]) -> None:
        names = {name for _, name, _, _ in Formatter().parse(error.template) if name}
        params = {name: f"<{name}>" for name in names} or {"prop": "p"}

        raised = error(**params)

        assert raised.params == params
        assert all(value in str(raised) for value in params.values() if names)


def test_condition_has_one_class() -> None:
    assert len({error.condition for error in CLASSES}) == len(CLASSES)


def test_every_listed_condition_is_raised() -> None:
    assert {error.condition for error in CLASSES} | RAISED_IN_JAVA == LISTED.keys()


def test_python_raises_every_class() -> None:
    others = [path.read_text() for path in PYTHON.rglob("*.py") if path.name != "errors.py"]
    made = {name for text in others for name in re.findall(r"(\w+Error)\(", text)}

    assert {error.__name__ for error in CLASSES} - made == set()


def test_java_raises_the_listed_conditions() -> None:
    """Java reads SQLSTATE and template from the same list by the condition's name."""
    raised = re.findall(r"Conditions\.error\(\s*\"([A-Z_]+)\"", JAVA.read_text())

    assert set(raised) == RAISED_IN_JAVA


@pytest.mark.parametrize("error", CLASSES)
def test_error_can_be_pickled_and_copied(error: type[SparkExtError]) -> None:
    names = {name for _, name, _, _ in Formatter().parse(error.template) if name}
    raised = error(**{name: f"<{name}>" for name in names})

    for same in (pickle.loads(pickle.dumps(raised)), copy.copy(raised), copy.deepcopy(raised)):
        assert type(same) is error
        assert (str(same), same.params) == (str(raised), raised.params)


def test_parameters_are_text() -> None:
    assert errors.MaxColumnIdTooLowError(prop="p", tableMax=1, fieldMax=2).params == {
        "prop": "p",
        "tableMax": "1",
        "fieldMax": "2",
    }
