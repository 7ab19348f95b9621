# SPDX-License-Identifier: Apache-2.0
"""The questions of the JVM by name; `spark_ext.wire` has their JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spark_ext.errors import MalformedMessageError
from spark_ext.model.column_mapping import is_mapped, schema_has_column_mapping_metadata
from spark_ext.model.keys import MAX_COLUMN_ID
from spark_ext.model.metadata import Protocol, TableMetadata
from spark_ext.removal.copy_plan import copy_plan, purge_plan
from spark_ext.removal.reasons import is_free
from spark_ext.rules import next_metadata
from spark_ext.rules.name_warning import name_warning
from spark_ext.wire import messages as wire
from spark_ext.wire.failures import described


def ask(question: str, request: str) -> str:
    """Returns the answer to a question; an error becomes an answer too."""
    try:
        if question in QUESTIONS:
            return QUESTIONS[question](request)
        return _relation(question, request)
    except Exception as error:
        # py4j would pass only the text of an error to the JVM, without condition and SQLSTATE.
        return wire.render_error(described(error))


def _next_metadata(request: str) -> str:
    change = wire.parse_metadata_change(request)
    result = next_metadata(old=change.old, new=change.assigned, commit=change.commit)
    warning = name_warning(old=change.old, new=result)
    return wire.render_metadata(result, change.assigned, warning=warning)


def removal(table: TableMetadata, protocol: Protocol, copies: bool) -> dict[str, Any]:
    """Returns whether a removal of column mapping is metadata only (`free`).

    If not, and if files are copied, the answer for a mapped table has the plan for the columns in
    the files. Delta removes column mapping again if another driver has removed it since the
    statement began: then nothing in the files changes. If mapping keys or the highest id remain in
    mode `none`, column mapping was only partly removed, and `is_free` decides.

    Raises:
        ReservedColumnNameError: As `is_free`. Delta's rewrite would read the internal column too.

    Source:
        Delta 4.4.0, alterDeltaTableCommands.scala, `AlterTableSetPropertiesDeltaCommand`.
    """
    has_ids = (
        schema_has_column_mapping_metadata(table.schema) or MAX_COLUMN_ID in table.configuration
    )
    is_off = not is_mapped(table) and not has_ids
    free = is_free(table=table, protocol=protocol) or is_off
    plan = copy_plan(table) if copies and not free and is_mapped(table) else None
    return {"free": free, "plan": plan}


def purge(table: TableMetadata) -> dict[str, Any]:
    """Returns the plan for the columns in the files of a purge; None if column mapping is off."""
    return {"plan": purge_plan(table) if is_mapped(table) else None}


def _erasure_start(request: str) -> str:
    from spark_ext.erasure.moment import erasure_start
    from spark_ext.wire.logs import parse_erasure_start

    return wire.render(erasure_start(*parse_erasure_start(request)))


def _relation(question: str, request: str) -> str:
    # Imported late, because the process usually starts for a commit, which waits for the start.
    from spark_ext.process.table_functions import FUNCTIONS

    if question not in FUNCTIONS:
        raise MalformedMessageError(path="question", problem=f"is unknown: {question!r}")
    row, rows = FUNCTIONS[question]()
    return wire.render_relation(row, rows(request))


# The questions that are not table functions.
QUESTIONS: dict[str, Callable[[str], str]] = {
    "next_metadata": _next_metadata,
    "removal": wire.answered_by(removal),
    "purge": wire.answered_by(purge),
    "erasure_start": _erasure_start,
}
