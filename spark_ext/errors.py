# SPDX-License-Identifier: Apache-2.0
"""The errors with a condition that Python raises: one root, one class for each condition.

Conditions, SQLSTATEs and templates are in `conditions.json`, which the Java half reads too. An
error of the Java half reaches Python as PySpark's `AnalysisException`. If Delta has a condition for
an error, the class has Delta's condition, SQLSTATE and names of parameters.
Source: Delta 4.4.0, spark/src/main/resources/error/delta-error-classes.json.
"""

from __future__ import annotations

import json
import pkgutil
import re
from functools import partial
from types import new_class
from typing import Any, ClassVar

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


def _error(name: str, base: type[Exception], condition: str | None = None) -> type[SparkExtError]:
    """Returns an error of this module, which programs may also catch as a builtin error."""
    made: Any = new_class(name, (SparkExtError, base), {"condition": condition})
    made.__module__ = __name__
    error: type[SparkExtError] = made
    return error


# Errors of the rules.
FlagNotModifiableError = _error(
    "FlagNotModifiableError", PermissionError, "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"
)
IcebergWriterCompatError = _error(
    "IcebergWriterCompatError",
    ValueError,
    "DELTA_ICEBERG_COMPAT_VIOLATION.INCOMPATIBLE_TABLE_FEATURE",
)
IncompleteRemovalError = _error("IncompleteRemovalError", ValueError)
ReservedColumnNameError = _error("ReservedColumnNameError", ValueError)

# Failures of the rules and of the rule process.
RuleFailedError = _error("RuleFailedError", RuntimeError)
MalformedMessageError = _error("MalformedMessageError", ValueError)
ProgressFailedError = _error("ProgressFailedError", RuntimeError)

# Errors of remove_column_mapping(), align_names(), certificates and reports.
CannotRemoveColumnMappingError = _error("CannotRemoveColumnMappingError", RuntimeError)
NotACertificateError = _error("NotACertificateError", ValueError)
InvalidFileNameError = _error("InvalidFileNameError", ValueError)
NotMappedError = _error("NotMappedError", ValueError)
ModeIdLostError = _error("ModeIdLostError", ValueError)
CannotAlignNamesError = _error("CannotAlignNamesError", RuntimeError)
AlignmentConflictError = _error("AlignmentConflictError", RuntimeError)

# Errors of the session's configuration.
ExtensionJarMissingError = _error(
    "ExtensionJarMissingError", FileNotFoundError, "USAGE_TRACKING_JAR_MISSING"
)
SessionAlreadyRunningError = _error("SessionAlreadyRunningError", RuntimeError)
SessionNotAttachableError = _error("SessionNotAttachableError", RuntimeError)
SessionWithoutExtensionError = _error(
    "SessionWithoutExtensionError", RuntimeError, "USAGE_TRACKING_NOT_IN_SESSION"
)
RemoteSessionError = _error("RemoteSessionError", ValueError)
JvmWithoutJarsError = _error("JvmWithoutJarsError", RuntimeError)
DifferentVersionsError = _error("DifferentVersionsError", RuntimeError)
ClassicSparkMissingError = _error("ClassicSparkMissingError", ImportError)
DeltaPackageMissingError = _error("DeltaPackageMissingError", ImportError)
UnquotableArgumentError = _error("UnquotableArgumentError", ValueError)

# Errors of Delta's column mapping functions. Delta raises four of them as ColumnMappingException
# without a condition; their conditions are our own.
UnsupportedModeError = _error("UnsupportedModeError", ValueError, "DELTA_MODE_NOT_SUPPORTED")
ColumnNotResolvedError = _error(
    "ColumnNotResolvedError", LookupError, "DELTA_CANNOT_RESOLVE_COLUMN"
)
ModeChangeError = _error(
    "ModeChangeError", ValueError, "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE"
)
SchemaChangeWithModeError = _error(
    "SchemaChangeWithModeError", ValueError, "DELTA_UNSUPPORTED_COLUMN_MAPPING_SCHEMA_CHANGE"
)
MappingMetadataExistsError = _error(
    "MappingMetadataExistsError",
    ValueError,
    "DELTA_ENABLING_COLUMN_MAPPING_DISALLOWED_WHEN_COLUMN_MAPPING_METADATA_ALREADY_EXISTS",
)
MissingColumnIdError = _error("MissingColumnIdError", LookupError)
MissingPhysicalNameError = _error("MissingPhysicalNameError", LookupError)
DuplicatedColumnIdError = _error("DuplicatedColumnIdError", ValueError)
DuplicatedPhysicalNameError = _error("DuplicatedPhysicalNameError", ValueError)
MaxColumnIdNotSetError = _error(
    "MaxColumnIdNotSetError", LookupError, "DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET"
)
MaxColumnIdTooLowError = _error(
    "MaxColumnIdTooLowError", ValueError, "DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET_CORRECTLY"
)
