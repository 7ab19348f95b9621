# SPDX-License-Identifier: Apache-2.0
"""Rows as a table for people: as text for a terminal, as HTML for a notebook.

None is an empty cell, booleans are Delta's `true` and `false`, a tuple or list is its values with
commas. What could move a terminal's cursor or break a line is escaped: names of columns may have
any character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any


def as_text(rows: Iterable[Sequence[Any]], columns: Sequence[str]) -> str:
    """Rows under the names of their columns, numbers to the right.

    Returns:
        The lines, without a line break at the end; the head alone without any row.

    Example:
        >>> print(as_text([("fare", 3), ("a b", None)], ["name", "version"]))
        name  version
        ----  -------
        fare        3
        a b
    """
    values = [tuple(row) for row in rows]
    cells = [tuple(columns), *(tuple(map(cell, row)) for row in values)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    right = [_is_numeric(column) for column in zip(*values, strict=True)] or [False] * len(widths)
    rule = tuple("-" * width for width in widths)
    lines = [cells[0], rule, *cells[1:]]
    return "\n".join(_line(line, widths, right) for line in lines)


def as_html(rows: Iterable[Sequence[Any]], columns: Sequence[str]) -> str:
    """Rows under the names of their columns as an HTML table, escaped.

    Example:
        >>> as_html([("a<b", 3)], ["name", "version"])
        '<table><thead><tr><th>name</th><th>version</th></tr></thead><tbody><tr><td>a&lt;b</td><td>3</td></tr></tbody></table>'
    """
    head = _html_row(columns, "th")
    body = "".join(_html_row(row, "td") for row in rows)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def facts_as_text(facts: Mapping[str, Any]) -> str:
    """What is known of one thing, a line each.

    Example:
        >>> print(facts_as_text({"mode": "name", "tracked": True}))
        mode:    name
        tracked: true
    """
    width = max((_width(name) for name in facts), default=0) + 1
    lines = (_padded(f"{name}:", width) + " " + cell(value) for name, value in facts.items())
    return "\n".join(line.rstrip() for line in lines)


def facts_as_html(facts: Mapping[str, Any]) -> str:
    """What is known of one thing as an HTML table, escaped.

    Example:
        >>> facts_as_html({"tracked": True})
        '<table><tbody><tr><th>tracked</th><td>true</td></tr></tbody></table>'
    """
    body = "".join(
        f"<tr><th>{_html(name)}</th><td>{_html(value)}</td></tr>" for name, value in facts.items()
    )
    return f"<table><tbody>{body}</tbody></table>"


def cell(value: Any) -> str:
    r"""A value as the text of a cell, which is one line.

    Example:
        >>> cell(("a\nb", None, False))
        'a\\nb, , false'
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        return ", ".join(map(cell, value))
    return "".join(map(_printable, str(value)))


def _printable(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")


def _html_row(values: Iterable[Any], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{_html(value)}</{tag}>' for value in values)}</tr>"


def _html(value: Any) -> str:
    return escape(cell(value))


def _is_numeric(values: Iterable[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(type(value) in (int, float) for value in known)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        _padded(text, width, to_the_right=is_right)
        for text, width, is_right in zip(cells, widths, right, strict=True)
    )
    return "  ".join(padded).rstrip()


def _padded(text: str, width: int, *, to_the_right: bool = False) -> str:
    blanks = " " * (width - _width(text))
    return blanks + text if to_the_right else text + blanks


def _width(text: str) -> int:
    """How many places a terminal takes for it."""
    return sum(map(_places, text))


def _places(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
