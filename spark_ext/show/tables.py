# SPDX-License-Identifier: Apache-2.0
"""Renders a result for people: as text for a terminal, as HTML for a notebook.

A result consists of parts: a title, facts, tables and lists of lines. None is an empty cell,
booleans are Delta's `true` and `false`, and a tuple or list is its values with commas. A character
that could move the cursor of a terminal or break a line is escaped, because names of columns may
have any character; HTML is also escaped.

HTML shows states in colours and bytes with a unit. Text has exact bytes, which programs may read.
The styles are in each element: a notebook aligns all cells to the right, and removes style sheets.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol

from spark_ext.show.states import colours, in_units

# The headings of columns with bytes.
_BYTES = ("bytes", "sizeInBytes")


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
        >>> Facts({"cost": "COPY", "bytes": 5000}).html().count("5.0 kB")
        1
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
            f"<tr>{_element('th', name)}{_element('td', known, is_size=name in _BYTES)}</tr>"
            for name, known in self.values.items()
        )
        return f"<table><tbody>{''.join(rows)}</tbody></table>"


@dataclass(frozen=True)
class Table:
    """Rows under the names of their columns; a column of numbers is aligned to the right.

    Args:
        columns: The headings.
        rows: The values.
        caption: The caption in HTML.

    Example:
        >>> table = Table(["name", "version"], [("fare", 3), ("a<b", None)])
        >>> print(table.text())
        name  version
        ----  -------
        fare        3
        a<b
        >>> table.html().count('<td style="text-align:right">3</td>')
        1
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str | None = None

    def text(self) -> str:
        """Returns the head, a rule and a line for each row."""
        cells = [tuple(self.columns), *(tuple(map(cell, row)) for row in self.rows)]
        widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
        right = self._right()
        rule = tuple("-" * width for width in widths)
        return "\n".join(_line(line, widths, right) for line in (cells[0], rule, *cells[1:]))

    def html(self) -> str:
        """Returns a table with a head."""
        sizes = [column in _BYTES for column in self.columns]
        right = [*map(bool.__or__, self._right(), sizes)]
        head = _html_row("th", self.columns, right, [False] * len(sizes))
        body = "".join(_html_row("td", row, right, sizes) for row in self.rows)
        caption = "" if self.caption is None else _element("caption", self.caption)
        return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"

    def _right(self) -> list[bool]:
        """Returns which columns have numbers."""
        columns = range(len(self.columns))
        return [_is_numeric(row[number] for row in self.rows) for number in columns]


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


def _html_row(tag: str, values: Sequence[Any], right: Sequence[bool], sizes: Sequence[bool]) -> str:
    cells = (
        _element(tag, value, to_the_right=is_right, is_size=is_size)
        for value, is_right, is_size in zip(values, right, sizes, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _element(tag: str, value: Any, *, to_the_right: bool = False, is_size: bool = False) -> str:
    """Returns a cell. The exact number of a size is its tooltip."""
    align = "right" if to_the_right else "left"
    exact = _html(value)
    title = f' title="{exact} bytes"' if is_size and exact else ""
    shown = in_units(exact) if is_size else exact
    return f'<{tag}{title} style="text-align:{align}{colours(value)}">{shown}</{tag}>'


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
