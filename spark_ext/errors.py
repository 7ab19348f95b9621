# SPDX-License-Identifier: Apache-2.0
"""The errors with a condition that Python raises: one root, one class for each condition.

Conditions, SQLSTATEs and templates are in `conditions.json`, which the Java half reads too. An
error of the Java half reaches Python as PySpark's `AnalysisException`. If Delta has a condition for
an error, the class has Delta's condition, SQLSTATE and names of parameters.

Source:
    Delta 4.4.0, spark/src/main/resources/error/delta-error-classes.json.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Callable
from typing import ClassVar

# The import of importlib.resources takes a fifth of the rule process's start.
_CONDITIONS: dict[str, dict[str, str]] = json.loads(
    pkgutil.get_data("spark_ext", "conditions.json") or ""
)

_PLACE = re.compile(r"`\{\w+\}`|\{\w+\}")


class SparkExtError(Exception):
    """The root of all errors of spark-ext.

    Args:
        params: The values of the template by the names of the parameters.
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
        """Returns the text of a placeholder; a name with backticks gets no second pair."""
        value = self.params[place.strip("`{}")]
        return f"`{value}`" if place[0] == "`" and "`" not in value else value

    def __reduce__(self) -> tuple[Callable[..., SparkExtError], tuple[object, ...]]:
        # Python pickles an exception by its positional arguments, and this class has none.
        return _raised, (type(self), self.params)


def _raised(error: type[SparkExtError], params: dict[str, str]) -> SparkExtError:
    return error(**params)


# Errors of the rules.


class FlagNotModifiableError(
    SparkExtError, PermissionError, condition="DELTA_CANNOT_MODIFY_TABLE_PROPERTY"
):
    """A user sets the flag, which only writers may set."""


class IcebergWriterCompatError(
    SparkExtError, ValueError, condition="DELTA_ICEBERG_COMPAT_VIOLATION.INCOMPATIBLE_TABLE_FEATURE"
):
    """A table requests usage tracking and IcebergWriterCompatV1 at the same time."""


class IncompleteRemovalError(
    SparkExtError, ValueError, condition="USAGE_TRACKING_INCOMPLETE_REMOVAL"
):
    """A commit sets the mode `none` and keeps the physical names of the columns."""


class ReservedColumnNameError(
    SparkExtError, ValueError, condition="USAGE_TRACKING_RESERVED_COLUMN_NAME"
):
    """Without column mapping, Spark or Delta would read a column as an internal column."""


# Failures of the rules and of the rule process.


class RuleFailedError(SparkExtError, RuntimeError, condition="USAGE_TRACKING_RULE_FAILED"):
    """A rule raised an error without a condition, which is a defect of spark-ext."""


class MalformedMessageError(
    SparkExtError, ValueError, condition="USAGE_TRACKING_MALFORMED_MESSAGE"
):
    """A request to the rules or an answer does not have the shape of `process/messages.py`."""


class ProgressFailedError(SparkExtError, RuntimeError, condition="USAGE_TRACKING_PROGRESS_FAILED"):
    """A progress callback raised an error while its statement succeeded."""


# Errors of remove_column_mapping(), align_names(), certificates and reports.


class CannotRemoveColumnMappingError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_CANNOT_REMOVE_COLUMN_MAPPING"
):
    """A table cannot reach the requested stage of removal."""


class NotACertificateError(SparkExtError, ValueError, condition="USAGE_TRACKING_NOT_A_CERTIFICATE"):
    """A file is not a certificate of erasure for the requested column."""


class InvalidFileNameError(SparkExtError, ValueError, condition="USAGE_TRACKING_INVALID_FILE_NAME"):
    """The file name of a report or a certificate ends with no known extension."""


class NotMappedError(SparkExtError, ValueError, condition="USAGE_TRACKING_NOT_MAPPED"):
    """A table has no column mapping, and no alignment of its names was interrupted."""


class ModeIdLostError(SparkExtError, ValueError, condition="USAGE_TRACKING_MODE_ID_LOST"):
    """A table would lose the mode `id`, which Delta allows for new tables only."""


class CannotAlignNamesError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_CANNOT_ALIGN_NAMES"
):
    """A table cannot remove column mapping, which is the first step of an alignment."""


class AlignmentConflictError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_ALIGNMENT_CONFLICT"
):
    """Another writer undid a step of an alignment before the next step."""


# Errors of the session's configuration.


class ExtensionJarMissingError(
    SparkExtError, FileNotFoundError, condition="USAGE_TRACKING_JAR_MISSING"
):
    """The package has no jar, because the jar was not built in this checkout."""


class SessionAlreadyRunningError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_SESSION_ALREADY_RUNNING"
):
    """A running Spark context has no extension, and would ignore the options without an error."""


class SessionNotAttachableError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_SESSION_NOT_ATTACHABLE"
):
    """A running session cannot load the extension."""


class SessionWithoutExtensionError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_NOT_IN_SESSION"
):
    """A session has no table functions of spark-ext, because it has no extension."""


class RemoteSessionError(SparkExtError, ValueError, condition="USAGE_TRACKING_REMOTE_SESSION"):
    """A client configures a session of a Spark Connect server, which has its own settings."""


class JvmWithoutJarsError(SparkExtError, RuntimeError, condition="USAGE_TRACKING_JVM_WITHOUT_JARS"):
    """The running JVM has no extension, and Spark would start a session without it."""


class DifferentVersionsError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_DIFFERENT_VERSIONS"
):
    """The Python package and the jar in the JVM have different versions."""


class ClassicSparkMissingError(
    SparkExtError, ImportError, condition="USAGE_TRACKING_CLASSIC_SPARK_MISSING"
):
    """PySpark is missing or only a client of Spark Connect, which cannot configure a session."""


class DeltaPackageMissingError(
    SparkExtError, ImportError, condition="USAGE_TRACKING_DELTA_PACKAGE_MISSING"
):
    """The Python package delta-spark, its metadata, or a package that it imports is missing."""


class UnquotableArgumentError(
    SparkExtError, ValueError, condition="USAGE_TRACKING_UNQUOTABLE_ARGUMENT"
):
    """An argument contains white space or a comma, where a shell or Spark splits arguments."""


# Errors of Delta's column mapping functions. Delta raises four of them as ColumnMappingException
# without a condition; their conditions are our own.


class UnsupportedModeError(SparkExtError, ValueError, condition="DELTA_MODE_NOT_SUPPORTED"):
    """Delta has no such column mapping mode."""


class ColumnNotResolvedError(SparkExtError, LookupError, condition="DELTA_CANNOT_RESOLVE_COLUMN"):
    """A column of a schema is not in the table's schema."""


class ModeChangeError(
    SparkExtError, ValueError, condition="DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE"
):
    """A table may not change from one column mapping mode to another."""


class SchemaChangeWithModeError(
    SparkExtError, ValueError, condition="DELTA_UNSUPPORTED_COLUMN_MAPPING_SCHEMA_CHANGE"
):
    """One commit changes the column mapping mode and the schema."""


class MappingMetadataExistsError(
    SparkExtError,
    ValueError,
    condition="DELTA_ENABLING_COLUMN_MAPPING_DISALLOWED_WHEN_COLUMN_MAPPING_METADATA_ALREADY_EXISTS",
):
    """A table without column mapping already has column mapping metadata in its schema."""


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
    """Two columns of a table have the same column id."""


class DuplicatedPhysicalNameError(
    SparkExtError, ValueError, condition="USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME"
):
    """Two columns of a struct have the same physical name."""


class MaxColumnIdNotSetError(
    SparkExtError, LookupError, condition="DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET"
):
    """A mapped table has no property for the highest column id."""


class MaxColumnIdTooLowError(
    SparkExtError, ValueError, condition="DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET_CORRECTLY"
):
    """The highest column id of a mapped table is lower than an id in its schema."""
