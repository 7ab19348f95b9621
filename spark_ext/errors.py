# SPDX-License-Identifier: Apache-2.0
"""Every error of the project: one root, one class a refusal.

Where Delta has a condition for the refusal, the class carries Delta's condition, SQLSTATE and
parameter names. The Java half raises some of these conditions, from templates that
tests/unit/test_errors.py compares with these; this is the only list of all.

Source:
    Delta 4.4.0, spark/src/main/resources/error/delta-error-classes.json.
"""

from __future__ import annotations

from typing import ClassVar


class SparkExtError(Exception):
    """The root of all errors of this project.

    Args:
        params: The values of the template, by the names of the condition's parameters.
    """

    condition: ClassVar[str]
    sql_state: ClassVar[str]
    template: ClassVar[str]

    def __init__(self, **params: object) -> None:
        self.params = {name: str(value) for name, value in params.items()}
        super().__init__(self.template.format(**self.params))


# Refusals of the rules.


class FlagNotModifiableError(SparkExtError, PermissionError):
    """The flag is set by a user, who may not: only a writer knows what happened to the columns."""

    condition = "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"
    sql_state = "42939"
    template = (
        "Cannot create the table: the session sets a default for `{prop}`, which only the writer"
        " may set. Unset `spark.databricks.delta.properties.defaults.columnMapping"
        ".hasDroppedOrRenamed`."
    )


class IcebergWriterCompatError(SparkExtError, ValueError):
    """Usage tracking and IcebergWriterCompatV1, which demands `col-<id>` names, are both wanted."""

    condition = "DELTA_ICEBERG_COMPAT_VIOLATION.INCOMPATIBLE_TABLE_FEATURE"
    sql_state = "KD00E"
    template = (
        "Cannot support the feature `{feature}` on this table: IcebergWriterCompatV{version}"
        " demands physical names of the form `col-<id>`. Leave out one of the two."
    )


class IncompleteRemovalError(SparkExtError, ValueError):
    """Mode none is wanted for columns that would keep their physical names."""

    condition = "USAGE_TRACKING_INCOMPLETE_REMOVAL"
    sql_state = "22023"
    template = (
        "Cannot switch column mapping off: the columns would keep physical names that nobody reads"
        " them by. Write `{property}` and `{value}` in these very letters; of RESTORE and CLONE,"
        " take a version without such columns."
    )


# Failures of the rules and of what serves them.


class RuleFailedError(SparkExtError, RuntimeError):
    """A rule failed with an error that is no refusal: a defect of this project."""

    condition = "USAGE_TRACKING_RULE_FAILED"
    sql_state = "XX000"
    template = (
        "Cannot apply the rules of usage tracking: {error}. Nothing was written. Please report this"
        " with its traceback:\n{traceback}"
    )


class MalformedMessageError(SparkExtError, ValueError):
    """A request to the rules, or their answer, has not the shape that `wire.py` describes.

    Of an answer it is raised in Java.
    """

    condition = "USAGE_TRACKING_MALFORMED_MESSAGE"
    sql_state = "XX000"
    template = (
        "Cannot read a message between the jar and the rules of usage tracking: `{path}` {problem}."
        " Nothing was written. Check that spark-ext.jar and the Python package are of one version."
    )


class RulesUnavailableError(SparkExtError, RuntimeError):
    """The rule process could not be started, ended, or gave no answer in time. Raised in Java."""

    condition = "USAGE_TRACKING_RULES_UNAVAILABLE"
    sql_state = "58000"
    template = (
        "Cannot ask the rules of usage tracking: {reason}. Command: `{command}`, exit code:"
        " {exitCode}, stderr: `{stderr}`. Nothing was written. Set"
        " `spark.sparkext.worker.python` to a Python 3.10+ interpreter, or raise"
        " `spark.sparkext.worker.timeout`."
    )


class UnsupportedDeltaVersionError(SparkExtError, RuntimeError):
    """The hooks do not fit the delta-spark that is loaded. Raised in Java."""

    condition = "USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION"
    sql_state = "0A000"
    template = (
        "Cannot start column mapping usage tracking on delta-spark {version}: {mismatches}. Use"
        " delta-spark {supported}, or remove sparkext.UsageTrackingExtension from"
        " spark.sql.extensions."
    )


class TableLikeWithFeatureError(SparkExtError, NotImplementedError):
    """CREATE TABLE LIKE asks for the feature, which Delta would drop. Raised in Java."""

    condition = "USAGE_TRACKING_TABLE_LIKE_WITH_FEATURE"
    sql_state = "0A000"
    template = (
        "Cannot add the feature `{feature}` in CREATE TABLE LIKE: the new table takes over the"
        " protocol of its source. Leave the property out, and track the new table by ALTER TABLE"
        " .. SET TBLPROPERTIES."
    )


class ProgressFailedError(SparkExtError, RuntimeError):
    """A progress callback raised, while the statement that it was called for had no error."""

    condition = "USAGE_TRACKING_PROGRESS_FAILED"
    sql_state = "38000"
    template = (
        "Cannot report the progress of `{statement}`: {error}. What the statement did stands."
        " Correct the callback, and ask `disable_column_mapping(dry_run=True)` where the table is."
    )


# Refusals of the session's configuration.


class InvalidSettingError(SparkExtError, ValueError):
    """A setting of ours has a value that says nothing. Raised in Java."""

    condition = "USAGE_TRACKING_INVALID_SETTING"
    sql_state = "22023"
    template = (
        "Cannot use the setting `{setting}`: its value `{value}` is not {expected}. Set it to one,"
        " or unset it."
    )


class ExtensionJarMissingError(SparkExtError, FileNotFoundError):
    """The package has no jar: a checkout in which it was not built."""

    condition = "USAGE_TRACKING_JAR_MISSING"
    sql_state = "58030"
    template = "Cannot find the jar: `{path}` does not exist. Run `make jar` in the checkout."


class SessionAlreadyRunningError(SparkExtError, RuntimeError):
    """A Spark context without the extension runs, and would ignore the options in silence."""

    condition = "USAGE_TRACKING_SESSION_ALREADY_RUNNING"
    sql_state = "55000"
    template = (
        "Cannot configure the session: a Spark context runs already, with spark.sql.extensions"
        " `{extensions}`. Stop it before the session is built, or start it with the arguments that"
        " `python -m spark_ext submit-args` prints."
    )


class UnquotableArgumentError(SparkExtError, ValueError):
    """An argument has white space, at which a shell would split it."""

    condition = "USAGE_TRACKING_UNQUOTABLE_ARGUMENT"
    sql_state = "22023"
    template = (
        "Cannot print the argument `{argument}`: it has white space, and a shell would split it."
        " Install the package under a path without white space."
    )


# Refusals of Delta's column-mapping functions. Delta raises the four without a condition in
# delta-error-classes.json as ColumnMappingException; their conditions are ours.


class UnsupportedModeError(SparkExtError, ValueError):
    """A column mapping mode that is none of Delta's."""

    condition = "DELTA_MODE_NOT_SUPPORTED"
    sql_state = "0AKDC"
    template = (
        "Cannot use the column mapping mode `{mode}`: it is not supported. Use one of"
        " {supportedModes}."
    )


class ColumnNotResolvedError(SparkExtError, LookupError):
    """A column of a schema is not in the table's schema."""

    condition = "DELTA_CANNOT_RESOLVE_COLUMN"
    sql_state = "42703"
    template = "Cannot resolve the column `{columnName}`: it is not in {schema}. Check its name."


class MissingColumnIdError(SparkExtError, LookupError):
    """A column of a mapped table has no column id."""

    condition = "USAGE_TRACKING_MISSING_COLUMN_ID"
    sql_state = "42703"
    template = (
        "Cannot map the column `{columnName}`: it has no column id in column mapping mode"
        " `{mode}`. Restore the table to a version in which it has one."
    )


class MissingPhysicalNameError(SparkExtError, LookupError):
    """A column of a mapped table has no physical name."""

    condition = "USAGE_TRACKING_MISSING_PHYSICAL_NAME"
    sql_state = "42703"
    template = (
        "Cannot map the column `{columnName}`: it has no physical name in column mapping mode"
        " `{mode}`. Restore the table to a version in which it has one."
    )


class DuplicatedColumnIdError(SparkExtError, ValueError):
    """Two columns of a table have one id."""

    condition = "USAGE_TRACKING_DUPLICATED_COLUMN_ID"
    sql_state = "42711"
    template = (
        "Cannot map the column `{columnName}`: its id {columnId} belongs to another column in"
        " column mapping mode `{mode}`. Restore the table to a version without it."
    )


class DuplicatedPhysicalNameError(SparkExtError, ValueError):
    """Two columns of one struct have one physical name."""

    condition = "USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME"
    sql_state = "42711"
    template = (
        "Cannot map the column `{columnName}`: its physical path `{physicalPath}` belongs to"
        " another column in column mapping mode `{mode}`. Restore the table to a version without"
        " it."
    )


class MaxColumnIdNotSetError(SparkExtError, LookupError):
    """A mapped table does not say which ids are used up."""

    condition = "DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET"
    sql_state = "42703"
    template = (
        "Cannot use the mapped table: its property `{prop}` is not set. Restore the table to a"
        " version in which it is."
    )


class MaxColumnIdTooLowError(SparkExtError, ValueError):
    """A mapped table's highest id is lower than an id in its schema."""

    condition = "DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET_CORRECTLY"
    sql_state = "42703"
    template = (
        "Cannot use the mapped table: its property `{prop}` is {tableMax}, lower than the id"
        " {fieldMax} in its schema. Restore the table to a version in which it is not."
    )
