# SPDX-License-Identifier: Apache-2.0
"""Renders a result for people: as text for a terminal, as HTML for a notebook.

A result consists of parts: a title, facts, tables and lists of lines. None is an empty cell,
booleans are Delta's `true` and `false`, and a tuple or list is its values with commas. A character
that could move the cursor of a terminal or break a line is escaped, since names of columns may have
any character; HTML is escaped besides.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol


class Part(Protocol):
    """A part of a result."""

    def text(self) -> str:
        """Returns the lines, without a line break at the end."""

    def html(self) -> str:
        """Returns one or more HTML elements."""


class Rendered:
    """A result that prints as text and shows as HTML; both have the same parts, totals first."""

    def _parts(self) -> Iterable[Part]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return as_text(self._parts())

    def _repr_html_(self) -> str:
        return "".join(part.html() for part in self._parts())


def as_text(parts: Iterable[Part]) -> str:
    """Returns the text of parts, with an empty line between two of them."""
    return "\n\n".join(part.text() for part in parts)


@dataclass(frozen=True)
class Lines:
    """A title, and lines below it.

    Example:
        >>> print(Lines("remaining:", ["FIRST", "SECOND"]).text())
        remaining:
          FIRST
          SECOND
        >>> Lines("a < b").html()
        '<p>a &lt; b</p>'
    """

    title: str
    lines: Sequence[str] = ()

    def text(self) -> str:
        """Returns the title and the indented lines."""
        return "\n".join([cell(self.title), *(f"  {cell(line)}" for line in self.lines)])

    def html(self) -> str:
        """Returns a paragraph and a list."""
        items = "".join(f"<li>{_html(line)}</li>" for line in self.lines)
        return f"<p>{_html(self.title)}</p>" + (f"<ul>{items}</ul>" if items else "")


@dataclass(frozen=True)
class Facts:
    """Named values, a line each.

    Example:
        >>> print(Facts({"mode": "name", "tracked": True}).text())
        mode:    name
        tracked: true
        >>> Facts({"tracked": True}).html()
        '<table><tbody><tr><th>tracked</th><td>true</td></tr></tbody></table>'
    """

    values: Mapping[str, Any]

    def text(self) -> str:
        """Returns a line for each value."""
        width = max(map(_width, self.values), default=0) + 1
        lines = (
            f"{_padded(f'{name}:', width)} {cell(known)}" for name, known in self.values.items()
        )
        return "\n".join(line.rstrip() for line in lines)

    def html(self) -> str:
        """Returns a table with a row for each value."""
        rows = (
            f"<tr><th>{_html(name)}</th><td>{_html(known)}</td></tr>"
            for name, known in self.values.items()
        )
        return f"<table><tbody>{''.join(rows)}</tbody></table>"


@dataclass(frozen=True)
class Table:
    """Rows under the names of their columns; a column of numbers is aligned to the right.

    Example:
        >>> table = Table(["name", "version"], [("fare", 3), ("a<b", None)])
        >>> print(table.text())
        name  version
        ----  -------
        fare        3
        a<b
        >>> Table(["name"], [("a<b",)]).html()
        '<table><thead><tr><th>name</th></tr></thead><tbody><tr><td>a&lt;b</td></tr></tbody></table>'
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def text(self) -> str:
        """Returns the head, a rule and a line for each row."""
        cells = [tuple(self.columns), *(tuple(map(cell, row)) for row in self.rows)]
        widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
        right = [_is_numeric(row[number] for row in self.rows) for number in range(len(widths))]
        rule = tuple("-" * width for width in widths)
        return "\n".join(_line(line, widths, right) for line in (cells[0], rule, *cells[1:]))

    def html(self) -> str:
        """Returns a table with a head."""
        body = "".join(_html_row(row, "td") for row in self.rows)
        head = _html_row(self.columns, "th")
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def cell(value: Any) -> str:
    r"""Returns the text of a value, which is one line.

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
    """Returns the number of columns that a terminal needs for a text."""
    return sum(map(_places, text))


def _places(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
