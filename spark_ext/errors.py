# SPDX-License-Identifier: Apache-2.0
"""Every error that Python raises: one root, one class a refusal.

Conditions, SQLSTATEs and templates stand in `conditions.json`, which the Java half reads as well;
what it raises reaches Python as PySpark's `AnalysisException`. Where Delta has a condition for the
refusal, it is Delta's, with its SQLSTATE and the names of its parameters.

Source:
    Delta 4.4.0, spark/src/main/resources/error/delta-error-classes.json.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Callable
from typing import ClassVar

# Not importlib.resources: its import alone is a fifth of the rule process's start.
_CONDITIONS: dict[str, dict[str, str]] = json.loads(
    pkgutil.get_data("spark_ext", "conditions.json") or ""
)

_PLACE = re.compile(r"`\{\w+\}`|\{\w+\}")


class SparkExtError(Exception):
    """The root of all errors of this project.

    Args:
        params: The values of the template, by the names of the condition's parameters.
    """

    condition: ClassVar[str]
    sql_state: ClassVar[str]
    template: ClassVar[str]

    def __init_subclass__(cls, *, condition: str) -> None:
        super().__init_subclass__()
        cls.condition = condition
        cls.sql_state = _CONDITIONS[condition]["sqlState"]
        cls.template = _CONDITIONS[condition]["template"]

    def __init__(self, **params: object) -> None:
        self.params = {name: str(value) for name, value in params.items()}
        super().__init__(_PLACE.sub(lambda place: self._value(place[0]), self.template))

    def _value(self, place: str) -> str:
        """What stands in a place of the template: a name that SQL wants quoted is quoted once."""
        value = self.params[place.strip("`{}")]
        return f"`{value}`" if place[0] == "`" and "`" not in value else value

    def __reduce__(self) -> tuple[Callable[..., SparkExtError], tuple[object, ...]]:
        # An exception is copied and pickled by its positional arguments, which are not ours.
        return _raised, (type(self), self.params)


def _raised(error: type[SparkExtError], params: dict[str, str]) -> SparkExtError:
    return error(**params)


# Refusals of the rules.


class FlagNotModifiableError(
    SparkExtError, PermissionError, condition="DELTA_CANNOT_MODIFY_TABLE_PROPERTY"
):
    """The flag is set by a user, who may not: only a writer knows what happened to the columns."""


class IcebergWriterCompatError(
    SparkExtError, ValueError, condition="DELTA_ICEBERG_COMPAT_VIOLATION.INCOMPATIBLE_TABLE_FEATURE"
):
    """Usage tracking and IcebergWriterCompatV1, which demands `col-<id>` names, are both wanted."""


class IncompleteRemovalError(
    SparkExtError, ValueError, condition="USAGE_TRACKING_INCOMPLETE_REMOVAL"
):
    """Mode none is wanted for columns that would keep their physical names."""


class ReservedColumnNameError(
    SparkExtError, ValueError, condition="USAGE_TRACKING_RESERVED_COLUMN_NAME"
):
    """Without column mapping a column would be taken for one of Spark's or Delta's own."""


# Failures of the rules and of what serves them.


class RuleFailedError(SparkExtError, RuntimeError, condition="USAGE_TRACKING_RULE_FAILED"):
    """A rule failed with an error that is not a refusal: a defect of this project."""


class MalformedMessageError(
    SparkExtError, ValueError, condition="USAGE_TRACKING_MALFORMED_MESSAGE"
):
    """A request to the rules, or their answer, has not the shape that `wire/` describes."""


class UnsupportedSparkVersionError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION"
):
    """Spark and Delta do not work together, or not with spark-ext."""


class ProgressFailedError(SparkExtError, RuntimeError, condition="USAGE_TRACKING_PROGRESS_FAILED"):
    """A progress callback raised, while the statement that it was called for had no error."""


# Refusals of remove_column_mapping() and align_names().


class CannotRemoveColumnMappingError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_CANNOT_REMOVE_COLUMN_MAPPING"
):
    """A table that cannot reach the stage of removal that is asked for."""


class NotMappedError(SparkExtError, ValueError, condition="USAGE_TRACKING_NOT_MAPPED"):
    """A table without column mapping, and not on its way to names that are aligned."""


class ModeIdLostError(SparkExtError, ValueError, condition="USAGE_TRACKING_MODE_ID_LOST"):
    """A table in mode id, which no existing table can be brought back to."""


class CannotAlignNamesError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_CANNOT_ALIGN_NAMES"
):
    """A table that cannot remove column mapping, which is the first step."""


class AlignmentConflictError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_ALIGNMENT_CONFLICT"
):
    """Others undid a step while the next one was to come."""


# Refusals of the session's configuration.


class ExtensionJarMissingError(
    SparkExtError, FileNotFoundError, condition="USAGE_TRACKING_JAR_MISSING"
):
    """The package has no jar: a checkout in which it was not built."""


class SessionAlreadyRunningError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_SESSION_ALREADY_RUNNING"
):
    """A Spark context without the extension runs, and would ignore the options in silence."""


class SessionNotAttachableError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_SESSION_NOT_ATTACHABLE"
):
    """A session that runs already cannot be given what it lacks."""


class SessionWithoutExtensionError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_NOT_IN_SESSION"
):
    """A session is asked that has not our table functions: nobody gave it the extension."""


class RemoteSessionError(SparkExtError, ValueError, condition="USAGE_TRACKING_REMOTE_SESSION"):
    """A session of a Spark Connect server is configured, which its server alone can be."""


class JvmWithoutJarsError(SparkExtError, RuntimeError, condition="USAGE_TRACKING_JVM_WITHOUT_JARS"):
    """No context runs, but a JVM without the extension: Spark would warn and go on without it."""


class DifferentVersionsError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_DIFFERENT_VERSIONS"
):
    """The Python package is of another version than the jar in the JVM."""


class ClassicSparkMissingError(
    SparkExtError, ImportError, condition="USAGE_TRACKING_CLASSIC_SPARK_MISSING"
):
    """A session is configured where only a client of Spark Connect is installed."""


class UnquotableArgumentError(
    SparkExtError, ValueError, condition="USAGE_TRACKING_UNQUOTABLE_ARGUMENT"
):
    """An argument has white space or a comma, at which a shell or Spark would split it."""


# Refusals of Delta's column-mapping functions. Delta raises the four without a condition in
# delta-error-classes.json as ColumnMappingException; their conditions are ours.


class UnsupportedModeError(SparkExtError, ValueError, condition="DELTA_MODE_NOT_SUPPORTED"):
    """A column mapping mode that is none of Delta's."""


class ColumnNotResolvedError(SparkExtError, LookupError, condition="DELTA_CANNOT_RESOLVE_COLUMN"):
    """A column of a schema is not in the table's schema."""


class MissingColumnIdError(
    SparkExtError, LookupError, condition="USAGE_TRACKING_MISSING_COLUMN_ID"
):
    """A column of a mapped table has no column id."""


class MissingPhysicalNameError(
    SparkExtError, LookupError, condition="USAGE_TRACKING_MISSING_PHYSICAL_NAME"
):
    """A column of a mapped table has no physical name."""


class DuplicatedColumnIdError(
    SparkExtError, ValueError, condition="USAGE_TRACKING_DUPLICATED_COLUMN_ID"
):
    """Two columns of a table have one id."""


class DuplicatedPhysicalNameError(
    SparkExtError, ValueError, condition="USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME"
):
    """Two columns of one struct have one physical name."""


class MaxColumnIdNotSetError(
    SparkExtError, LookupError, condition="DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET"
):
    """A mapped table does not say which ids are used up."""


class MaxColumnIdTooLowError(
    SparkExtError, ValueError, condition="DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET_CORRECTLY"
):
    """A mapped table's highest id is lower than an id in its schema."""
