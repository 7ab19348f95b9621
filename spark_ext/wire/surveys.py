# SPDX-License-Identifier: Apache-2.0
"""The JSON in which the JVM tells the tables of a survey.

Shape:
    `facts` is the text of a request of `column_mapping_exit` (`spark_ext.wire.messages`), so that
    one table that cannot be read as JSON spoils no other; null where the JVM could not read the
    table, and `error` is the condition then::

        {"tables": [{"name": "db.t", "facts": "{..}", "error": null, "message": null},
                    {"name": "db.u", "facts": null, "error": "DELTA_..", "message": ".."}]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_ext.leave.survey import SurveyedTable, surveyed
from spark_ext.wire.failures import described
from spark_ext.wire.messages import parse_table_facts
from spark_ext.wire.shapes import request_of, shaped


def parse_survey(text: str) -> Sequence[SurveyedTable]:
    """The tables that `column_mapping_survey` is called with, each surveyed or with its error.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, where the text has another shape.
    """
    request = request_of(text, _SURVEY)
    return [_surveyed(shaped(table, "tables", _TABLE)) for table in request["tables"]]


def _surveyed(table: dict[str, Any]) -> SurveyedTable:
    name, facts = table["name"], table["facts"]
    if facts is None:
        return SurveyedTable(name, error=table["error"], message=table["message"])
    try:
        return surveyed(parse_table_facts(facts))
    except Exception as error:  # whatever is wrong with one table
        refusal = described(error)
        return SurveyedTable(name, error=refusal.condition, message=str(refusal))


_SURVEY = {"tables": (list,)}
_TEXT_OR_NULL = (str, type(None))
_TABLE = {
    "name": (str,),
    "facts": _TEXT_OR_NULL,
    "error": _TEXT_OR_NULL,
    "message": _TEXT_OR_NULL,
}
