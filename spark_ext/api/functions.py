# SPDX-License-Identifier: Apache-2.0
"""Our table functions, called by SQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from spark_ext.api.refusals import run
from spark_ext.errors import SessionWithoutExtensionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def answer(spark: SparkSession, function: str, *arguments: str) -> DataFrame:
    """What one of our table functions answers.

    Spark finds the function and the table before this returns, and reads the table later.

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
    """A text as SQL that nothing changes on its way.

    Spark substitutes variables in statements, un-escapes strings as a setting says, and binds no
    parameters in a session with Delta's parser (Spark 4.1, Delta 4.4.0).

    Raises:
        TypeError: It is not a text.
    """
    if not isinstance(name, str):
        raise TypeError(f"Cannot find the table {name!r}: its name is not a string.")
    return f"CAST(X'{name.encode().hex()}' AS STRING)"


def is_path(text: str) -> bool:
    """Whether a text is a table's path and no name: it has a slash outside of backticks.

    Example:
        >>> [is_path(text) for text in ("/data/t", "db.t", "db.`a/b`")]
        [True, False, False]
    """
    return "/" in re.sub(r"`(?:[^`]|``)*`", "", text)
