# SPDX-License-Identifier: Apache-2.0
"""Reads one table through the table functions of spark-ext."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spark_ext.api.functions import answer, literal
from spark_ext.launch.releases import UNKNOWN_VERSION, require_version
from spark_ext.removal.survey import SurveyedTable
from spark_ext.wire.rows import of_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

# The text that begins a variable.
VARIABLE = "${"


def named_table(spark: SparkSession, *arguments: str) -> Row:
    """Returns the row of `column_mapping_named_table`, with the full name of a table.

    Raises:
        DifferentVersionsError: The session has a jar of another version.
    """
    (row,) = answer(spark, "column_mapping_named_table", *arguments).collect()
    # A jar without this column is older than the column.
    require_version(row.asDict().get("jarVersion", UNKNOWN_VERSION))
    return row


def sql_name(spark: SparkSession, name: str) -> str:
    """Returns a full name as SQL text that Spark reads back unchanged.

    Spark substitutes variables in statements, and readable names are not escaped for that.
    """
    return str(named_table(spark, literal(name))["sqlName"]) if VARIABLE in name else name


def rows_of(spark: SparkSession, names: Sequence[str]) -> list[SurveyedTable]:
    """Returns the current rows of a survey, in the order of the names.

    In the body of `removal_setting.copying`, untracked tables may cost COPY instead of REWRITE.
    """
    array = f"array({', '.join(map(literal, names))})"
    rows = answer(spark, "column_mapping_survey", array).collect()
    return [of_row(SurveyedTable, row) for row in rows]


class NamedTable:
    """A table that every query finds again by its full name.

    Args:
        spark: The session.
        name: The `name` of the row of `named_table`.
    """

    def __init__(self, spark: SparkSession, name: str) -> None:
        self.spark = spark
        self.name = name

    def row(self) -> Row:
        """Returns the row of `column_mapping_named_table` as it is now."""
        return named_table(self.spark, literal(self.name))

    def answer(self, function: str, *arguments: str) -> DataFrame:
        """Returns the rows of a table function for this table. Raises as `functions.answer`."""
        return answer(self.spark, function, literal(self.name), *arguments)
