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
from functools import partial
from typing import ClassVar

# The import of importlib.resources takes a fifth of the rule process's start.
_CONDITIONS: dict[str, dict[str, str]] = json.loads(
    pkgutil.get_data("spark_ext", "conditions.json") or ""
)

_PLACE = re.compile(r"`\{\w+\}`|\{\w+\}")
_PREFIX = "USAGE_TRACKING_"
_WORD = re.compile("[A-Z][a-z]*")


class SparkExtError(Exception):
    """The root of all errors of spark-ext.

    A class has the condition of its name: `NotMappedError` has USAGE_TRACKING_NOT_MAPPED. A class
    with another condition names it. `params` has the values of the template by name.
    """

    condition: ClassVar[str]
    sql_state: ClassVar[str]
    template: ClassVar[str]

    def __init_subclass__(cls, *, condition: str | None = None) -> None:
        super().__init_subclass__()
        cls.condition = condition or _PREFIX + "_".join(_WORD.findall(cls.__name__)[:-1]).upper()
        cls.sql_state = _CONDITIONS[cls.condition]["sqlState"]
        cls.template = _CONDITIONS[cls.condition]["template"]

    def __init__(self, **params: object) -> None:
        self.params = {name: str(value) for name, value in params.items()}
        super().__init__(_PLACE.sub(lambda place: self._value(place[0]), self.template))

    def _value(self, place: str) -> str:
        """Returns the text of a placeholder; a name with backticks gets no second pair."""
        value = self.params[place.strip("`{}")]
        return f"`{value}`" if place[0] == "`" and "`" not in value else value

    def __reduce__(self) -> tuple[partial[SparkExtError], tuple[()]]:
        # Python pickles an exception by its positional arguments, and this class has none.
        return partial(type(self), **self.params), ()


# Errors of the rules.


class FlagNotModifiableError(
    SparkExtError, PermissionError, condition="DELTA_CANNOT_MODIFY_TABLE_PROPERTY"
):
    """A user sets the flag, which only writers may set."""


class IcebergWriterCompatError(
    SparkExtError, ValueError, condition="DELTA_ICEBERG_COMPAT_VIOLATION.INCOMPATIBLE_TABLE_FEATURE"
):
    """A table requests usage tracking and IcebergWriterCompatV1 at the same time."""


class IncompleteRemovalError(SparkExtError, ValueError):
    """A commit sets the mode `none` and keeps the physical names of the columns."""


class ReservedColumnNameError(SparkExtError, ValueError):
    """Without column mapping, Spark or Delta would read a column as an internal column."""


# Failures of the rules and of the rule process.


class RuleFailedError(SparkExtError, RuntimeError):
    """A rule raised an error without a condition, which is a defect of spark-ext."""


class MalformedMessageError(SparkExtError, ValueError):
    """A request to the rules or an answer does not have the shape of `process/messages.py`."""


class ProgressFailedError(SparkExtError, RuntimeError):
    """A progress callback raised an error while its statement succeeded."""


# Errors of remove_column_mapping(), align_names(), certificates and reports.


class CannotRemoveColumnMappingError(SparkExtError, RuntimeError):
    """A table cannot reach the requested stage of removal."""


class NotACertificateError(SparkExtError, ValueError):
    """A file is not a certificate of erasure for the requested column."""


class InvalidFileNameError(SparkExtError, ValueError):
    """The file name of a report or a certificate ends with no known extension."""


class NotMappedError(SparkExtError, ValueError):
    """A table has no column mapping, and no alignment of its names was interrupted."""


class ModeIdLostError(SparkExtError, ValueError):
    """A table would lose the mode `id`, which Delta allows for new tables only."""


class CannotAlignNamesError(SparkExtError, RuntimeError):
    """A table cannot remove column mapping, which is the first step of an alignment."""


class AlignmentConflictError(SparkExtError, RuntimeError):
    """Another writer undid a step of an alignment before the next step."""


# Errors of the session's configuration.


class ExtensionJarMissingError(
    SparkExtError, FileNotFoundError, condition="USAGE_TRACKING_JAR_MISSING"
):
    """The package has no jar, because the jar was not built in this checkout."""


class SessionAlreadyRunningError(SparkExtError, RuntimeError):
    """A running Spark context has no extension, and would ignore the options without an error."""


class SessionNotAttachableError(SparkExtError, RuntimeError):
    """A running session cannot load the extension."""


class SessionWithoutExtensionError(
    SparkExtError, RuntimeError, condition="USAGE_TRACKING_NOT_IN_SESSION"
):
    """A session has no table functions of spark-ext, because it has no extension."""


class RemoteSessionError(SparkExtError, ValueError):
    """A client configures a session of a Spark Connect server, which has its own settings."""


class JvmWithoutJarsError(SparkExtError, RuntimeError):
    """The running JVM has no extension, and Spark would start a session without it."""


class DifferentVersionsError(SparkExtError, RuntimeError):
    """The Python package and the jar in the JVM have different versions."""


class ClassicSparkMissingError(SparkExtError, ImportError):
    """PySpark is missing or only a client of Spark Connect, which cannot configure a session."""


class DeltaPackageMissingError(SparkExtError, ImportError):
    """The Python package delta-spark, its metadata, or a package that it imports is missing."""


class UnquotableArgumentError(SparkExtError, ValueError):
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


class MissingColumnIdError(SparkExtError, LookupError):
    """A column of a mapped table has no column id."""


class MissingPhysicalNameError(SparkExtError, LookupError):
    """A column of a mapped table has no physical name."""


class DuplicatedColumnIdError(SparkExtError, ValueError):
    """Two columns of a table have the same column id."""


class DuplicatedPhysicalNameError(SparkExtError, ValueError):
    """Two columns of a struct have the same physical name."""


class MaxColumnIdNotSetError(
    SparkExtError, LookupError, condition="DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET"
):
    """A mapped table has no property for the highest column id."""


class MaxColumnIdTooLowError(
    SparkExtError, ValueError, condition="DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET_CORRECTLY"
):
    """The highest column id of a mapped table is lower than an id in its schema."""
