# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON of the tables of a survey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spark_ext.wire.shapes import Shape


@dataclass(frozen=True)
class AskedTable:
    """A table of a survey, as the JVM read it.

    Args:
        name: The full name of the table.
        facts: The text of a request of `column_mapping_removal`, so that invalid JSON affects no
            other table; None if the JVM could not read the table.
        version: The version that the facts describe; None if the JVM could not read the table.
        location: The table's folder, a URI without escapes; None in the same case.
        error: The condition of the error in that case.
        message: The text of the error.
    """

    name: str
    facts: str | None
    version: int | None
    location: str | None
    error: str | None
    message: str | None


def parse_survey(text: str) -> Sequence[AskedTable]:
    """Reads the request of `column_mapping_survey`.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, if the text has another shape.
    """
    return SURVEY.parse(text)


def _survey(tables: tuple[AskedTable, ...]) -> Sequence[AskedTable]:
    return tables


SURVEY = Shape(_survey)
