# SPDX-License-Identifier: Apache-2.0
"""The questions of the JVM by name; `messages.py` has their JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spark_ext.errors import MalformedMessageError
from spark_ext.model.column_mapping import is_mapped, schema_has_column_mapping_metadata
from spark_ext.model.keys import MAX_COLUMN_ID
from spark_ext.model.metadata import CommitContext, Protocol, TableMetadata
from spark_ext.process.messages import changed_metadata, parse, render, render_error
from spark_ext.removal.copy_plan import copy_plan, purge_plan
from spark_ext.removal.reasons import is_free
from spark_ext.rules import next_metadata
from spark_ext.rules.names import name_warning


def ask(question: str, request: str) -> str:
    """Returns the answer to a question; an error becomes an answer too."""
    try:
        if question in QUESTIONS:
            return render(parse(QUESTIONS[question], request))
        # Imported late, because the process usually starts for a commit, which waits for the start.
        from spark_ext.process.table_functions import FUNCTIONS, erasure_question

        if question == "erasure_start":
            return render(parse(erasure_question, request))
        if question not in FUNCTIONS:
            raise MalformedMessageError(path="question", problem=f"is unknown: {question!r}")
        _, rows = FUNCTIONS[question]()
        return render({"rows": list(rows(request))})
    except Exception as error:
        # py4j would pass only the text of an error to the JVM, without condition and SQLSTATE.
        return render_error(error)


def start() -> dict[str, Any]:
    """Returns nothing; the JVM asks it to start the process before a change needs it."""
    return {}


def metadata_change(
    old: TableMetadata, proposed: TableMetadata, assigned: TableMetadata, commit: CommitContext
) -> dict[str, Any]:
    """Returns the difference between the metadata to commit and `assigned`.

    `old` is the table before the transaction, or the session's defaults. `assigned` is `proposed`
    with the ids and physical names of Delta; `commit` contains `proposed` too.
    """
    result = next_metadata(old=old, new=assigned, commit=commit)
    return changed_metadata(result, assigned, warning=name_warning(old=old, new=result))


def removal(table: TableMetadata, protocol: Protocol, copies: bool) -> dict[str, Any]:
    """Returns whether a removal of column mapping is metadata only, or else the plan of copies.

    Delta removes column mapping again if another driver has removed it since the statement began:
    then nothing in the files changes. If mapping keys or the highest id remain in mode `none`,
    column mapping was only partly removed, and `is_free` decides.

    Raises ReservedColumnNameError: Delta's rewrite would read the internal column too. Source:
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


# The questions of the commit, the removal and the purge: their parameters are the keys.
QUESTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "start": start,
    "next_metadata": metadata_change,
    "removal": removal,
    "purge": purge,
}
