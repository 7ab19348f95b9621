# SPDX-License-Identifier: Apache-2.0
"""The JSON in which the JVM tells the tables of a survey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spark_ext.wire.shapes import Shape


@dataclass(frozen=True)
class AskedTable:
    """A table of a survey, as the JVM found it.

    Args:
        name: Its full name.
        facts: The text of a request of `column_mapping_removal`, so that one that is no JSON spoils
            no other table; None where the JVM could not read it.
        error: The condition of the error then.
        message: What the error says.
    """

    name: str
    facts: str | None
    error: str | None
    message: str | None


def parse_survey(text: str) -> Sequence[AskedTable]:
    """The tables that `column_mapping_survey` is called with.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, where the text has another shape.
    """
    return SURVEY.parse(text)


def _survey(tables: tuple[AskedTable, ...]) -> Sequence[AskedTable]:
    return tables


SURVEY = Shape(_survey)
