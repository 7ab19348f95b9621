# SPDX-License-Identifier: Apache-2.0
"""Writes the SQL of the random histories."""

from __future__ import annotations

import re
from typing import Any

from tests.support.reference_model import Column, Columns


def dotted(path: tuple[str, ...]) -> str:
    return ".".join(name if name in ("element", "value") else f"`{name}`" for name in path)


def clause(properties: list[str]) -> str:
    return f" TBLPROPERTIES ({', '.join(properties)})" if properties else ""


def sql_type(column: Column) -> str:
    if not column.fields:
        return column.kind
    struct = f"STRUCT<{', '.join(f'`{c.name}`: {sql_type(c)}' for c in column.fields)}>"
    return {"STRUCT": struct, "ARRAY": f"ARRAY<{struct}>", "MAP": f"MAP<STRING, {struct}>"}[
        column.kind
    ]


def definition(column: Column) -> str:
    return f"`{column.name}` {sql_type(column)}"


def literal(column: Column, row: Any) -> str:
    if not column.fields:
        value = row[column.key]
        return str(value) if column.kind == "INT" else f"'{value}'"
    fields = ", ".join(f"'{child.name}', {literal(child, row)}" for child in column.fields)
    struct = f"named_struct({fields})"
    return {"STRUCT": struct, "ARRAY": f"array({struct})", "MAP": f"map('k', {struct})"}[
        column.kind
    ]


def select(columns: Columns, rows: list[Any]) -> str:
    return " UNION ALL ".join(
        "SELECT " + ", ".join(f"{literal(column, row)} AS `{column.name}`" for column in columns)
        for row in rows
    )


def condition_of(refusal: Exception) -> str | None:
    """Returns Delta's condition, also for exceptions that PySpark does not convert."""
    condition = refusal.getCondition() if hasattr(refusal, "getCondition") else None
    cause = getattr(refusal, "java_exception", None)
    while condition is None and cause is not None:
        text = str(cause.getMessage() or "")
        condition = text[1:].partition("]")[0] if text.startswith("[") else None
        cause = cause.getCause()
    return condition


def kind_of(statement: str) -> str:
    """Returns the words of a statement up to the first name or value of a column."""
    words = re.split(r"[(`'\d]", re.sub(r"(delta|parquet)\.`[^`]*`", "", statement))[0].split()
    return " ".join(word for word in words if word.isupper())
