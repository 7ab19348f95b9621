# SPDX-License-Identifier: Apache-2.0
"""Calls the table functions of spark-ext by SQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from spark_ext.api.refusals import run
from spark_ext.errors import SessionWithoutExtensionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def answer(spark: SparkSession, function: str, *arguments: str) -> DataFrame:
    """Returns the rows of a table function.

    Spark resolves function and table in this call, and reads the table when rows are collected.

    Raises:
        SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION.
    """
    try:
        return run(spark, f"SELECT * FROM {function}({', '.join(arguments)})")
    except PySparkException as refusal:
        if refusal.getCondition() != "UNRESOLVABLE_TABLE_VALUED_FUNCTION":
            raise
        raise SessionWithoutExtensionError(function=function) from refusal


def literal(name: str) -> str:
    """Returns a text as a SQL expression that Spark reads back unchanged.

    Spark substitutes variables in statements, unescapes strings depending on a setting, and binds
    no parameters in a session with Delta's parser (Spark 4.1, Delta 4.4.0).

    Raises:
        TypeError: The name is not a text.
    """
    if not isinstance(name, str):
        raise TypeError(f"Cannot find the table {name!r}: its name is not a string.")
    return f"CAST(X'{name.encode().hex()}' AS STRING)"


def is_path(text: str) -> bool:
    """Returns whether a text is a path and not a name: it has a slash outside of backticks.

    Example:
        >>> [is_path(text) for text in ("/data/t", "db.t", "db.`a/b`")]
        [True, False, False]
    """
    return "/" in re.sub(r"`(?:[^`]|``)*`", "", text)
