# SPDX-License-Identifier: Apache-2.0
"""Renders a result for people: as text for a terminal, as HTML for a notebook.

A result consists of parts: a title, facts, tables and lists of lines. None is an empty cell,
booleans are Delta's `true` and `false`, and a tuple or list is its values with commas. A character
that could move the cursor of a terminal or break a line is escaped, because names of columns may
have any character; HTML is also escaped.

HTML shows states in colours and bytes with a unit. Text has exact bytes, which programs may read,
except in tables that fit a terminal. The styles are in each element: a notebook aligns all cells to
the right, and removes style sheets.
"""

from __future__ import annotations

import re
import shutil
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Final, Protocol

# A background and a text, so that both themes of a notebook show the same.
GOOD: Final = ";background:#dcfce7;color:#14532d"
CARE: Final = ";background:#fef3c7;color:#78350f"
BAD: Final = ";background:#fee2e2;color:#7f1d1d"

STATES: Final = {
    # The costs of a removal stage.
    **dict.fromkeys(("NOTHING", "METADATA"), GOOD),
    **dict.fromkeys(("COPY", "HISTORY"), CARE),
    **dict.fromkeys(("REWRITE", "BLOCKED"), BAD),
    # The outcomes of a table in a lakehouse.
    **dict.fromkeys(("DONE", "ALREADY_DONE"), GOOD),
    **dict.fromkeys(("WAITING", "NOT_BEGUN", "CANCELLED"), CARE),
    **dict.fromkeys(("FAILED", "UNREADABLE"), BAD),
    # The verdicts about an erased column.
    **dict.fromkeys(("ERASED", "NEVER_HAD"), GOOD),
    **dict.fromkeys(("STILL_PRESENT", "NOT_READ", "UNKNOWN"), CARE),
    "LIVE": BAD,
    # The severities of an audit's findings.
    "damage": BAD,
    "risk": CARE,
}
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_NUMBER = re.compile(r"\d[\d,]*")


class Coloured(str):
    """A text with a colour of its own, which is not in `STATES`."""

    colour: str

    def __new__(cls, text: str, colour: str) -> Coloured:
        """Returns the text in one of the colours above."""
        made = super().__new__(cls, text)
        made.colour = colour
        return made


def colours(value: Any) -> str:
    """Returns the style of a state; empty for other values."""
    if isinstance(value, Coloured):
        return value.colour
    return STATES.get(value, "") if isinstance(value, str) else ""


def in_units(text: str) -> str:
    """Returns a text whose numbers of bytes have a decimal unit.

    Example:
        >>> in_units("941"), in_units("at most 5,000"), in_units("34567890123")
        ('941 B', 'at most 5.0 kB', '34.6 GB')
    """
    return _NUMBER.sub(lambda found: size(int(found[0].replace(",", ""))), text)


def size(number: int) -> str:
    """Returns bytes with a decimal unit.

    Example:
        >>> size(0), size(999_950), size(12_000_000)
        ('0 B', '1.0 MB', '12.0 MB')
    """
    if number < 1000:
        return f"{number} B"
    scaled, unit = float(number), 0
    while scaled >= 999.95 and unit < len(_UNITS) - 1:
        scaled, unit = scaled / 1000, unit + 1
    return f"{scaled:.1f} {_UNITS[unit]}"


# The headings of columns with bytes.
_BYTES = ("bytes", "sizeInBytes")
# A last column of a table keeps this width in a narrow terminal.
_LEAST = 20


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
        return _text(self._parts())

    def _repr_html_(self) -> str:
        return "".join(part.html() for part in self._parts())


class ManyTables(Rendered):
    """A result about many tables: its sums, the tables that need a person, and all tables.

    Text fits the terminal. A notebook and text have the first hundred tables.
    """

    def text(self, *, all_tables: bool = False) -> str:
        """Returns the sums and the tables that need a person.

        Args:
            all_tables: Whether a row for every table follows.
        """
        return _text(self._parts(None) if all_tables else self._parts(has_rows=False))

    def __repr__(self) -> str:
        return self.text()

    def html(self) -> str:
        """Returns the HTML of the text with all tables."""
        return "".join(part.html() for part in self._parts(None))

    def _parts(self, shown: int | None = 100, *, has_rows: bool = True) -> Iterator[Part]:
        yield from self._sums()
        parts = (self._cases(), self._rows()) if has_rows else (self._cases(),)
        for part in parts:
            if part.rows:
                yield replace(part, rows=part.rows[:shown])
            if shown is not None and len(part.rows) > shown:
                yield Lines(f"({len(part.rows) - shown:,} more tables)")
        yield from self._next()

    def _sums(self) -> Iterable[Part]:
        raise NotImplementedError

    def _cases(self) -> Cases:
        raise NotImplementedError

    def _rows(self) -> Table:
        raise NotImplementedError

    def _next(self) -> Iterable[Part]:
        raise NotImplementedError


def _text(parts: Iterable[Part]) -> str:
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

    Args:
        values: The values by their names.
        fits: Whether long values wrap at the width of the terminal.

    Example:
        >>> print(Facts({"mode": "name", "tracked": True}).text())
        mode:    name
        tracked: true
        >>> Facts({"cost": "COPY", "bytes": 5000}).html().count("5.0 kB")
        1
    """

    values: Mapping[str, Any]
    fits: bool = False

    @classmethod
    def known(cls, values: Mapping[str, Any], *, fits: bool = False) -> Facts:
        """Returns the facts without values that are None or an empty list."""
        return cls(
            {name: each for name, each in values.items() if each not in (None, (), [])}, fits
        )

    def text(self) -> str:
        """Returns a line for each value."""
        width = max(map(_width, self.values), default=0) + 1
        rows = [[f"{name}:", cell(known)] for name, known in self.values.items()]
        if self.fits:
            rows = list(_fitting(rows, width + 1))
        return "\n".join(f"{_padded(name, width)} {text}".rstrip() for name, text in rows)

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
        narrow: The columns in text. The last one wraps at the width of the terminal, and bytes have
            a unit. If empty, text has all columns, and no row wraps.

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
    narrow: Sequence[str] = ()

    @classmethod
    def of(
        cls, columns: Mapping[str, str], values: Iterable[Any], caption: str, *narrow: str
    ) -> Table:
        """Returns a table with a row for each value, by the attribute of each heading."""
        rows = [[getattr(each, name) for name in columns.values()] for each in values]
        return cls(tuple(columns), rows, caption, narrow)

    def text(self) -> str:
        """Returns the head, a rule and a line for each row."""
        shown: Sequence[int] = range(len(self.columns))
        if self.narrow:
            shown = [self.columns.index(column) for column in self.narrow]
        sizes = [bool(self.narrow) and self.columns[at] in _BYTES for at in shown]
        right = [size or self._right()[at] for at, size in zip(shown, sizes, strict=True)]
        cells = [[cell(self.columns[at]) for at in shown]]
        for row in self.rows:
            texts = (cell(row[at]) for at in shown)
            cells.append([in_units(t) if size else t for t, size in zip(texts, sizes, strict=True)])
        if self.narrow:
            taken = sum(max(map(_width, column)) + 2 for column in [*zip(*cells, strict=True)][:-1])
            cells = list(_fitting(cells, taken))
        widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
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


@dataclass(frozen=True)
class Cases:
    """Tables for a person to read, each with what has happened and what to do.

    Args:
        columns: The headings in HTML.
        rows: The values: a state, a name, and texts.
        caption: The caption in HTML.

    Example:
        >>> rows = [("FAILED", "db.t", "The disk is full.", "Delete files.")]
        >>> print(Cases(["state", "table", "because", "what to do"], rows).text())
        FAILED  db.t
          The disk is full.
          Delete files.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str | None = None

    def text(self) -> str:
        """Returns a line for each row, and below it the texts, which wrap in a terminal."""
        width = max((_width(row[0]) for row in self.rows), default=0)
        lines = []
        for state, name, *texts in self.rows:
            lines += _wrapped(f"{_padded(state, width)}  {cell(name)}", "")
            for line in (line for text in texts for line in text.splitlines()):
                lines += _wrapped(cell(line), "  ")
        return "\n".join(lines)

    def html(self) -> str:
        """Returns a table with a head."""
        rows = [
            (state, name, *(" ".join(text.splitlines()) for text in texts))
            for state, name, *texts in self.rows
        ]
        return Table(self.columns, rows, self.caption).html()


def error_in_words(condition: str | None, message: str | None) -> str:
    """Returns the text of an error, after its condition if the text lacks the condition.

    Example:
        >>> error_in_words("DELTA_X", "Lost."), error_in_words("DELTA_X", "[DELTA_X] Lost.")
        ('[DELTA_X] Lost.', '[DELTA_X] Lost.')
    """
    text = message or ""
    return text if condition is None or condition in text else f"[{condition}] {text}".rstrip()


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
    wrap = ";white-space:nowrap" if is_size else ""
    return f'<{tag}{title} style="text-align:{align}{wrap}{colours(value)}">{shown}</{tag}>'


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


def _fitting(rows: Iterable[Sequence[str]], taken: int) -> Iterator[list[str]]:
    """Yields rows that fit a terminal: the last cell continues in further rows.

    Args:
        rows: The cells.
        taken: The width of all cells but the last one.
    """
    room = max(_LEAST, shutil.get_terminal_size().columns - taken)
    for *cells, last in rows:
        for part in textwrap.wrap(last, room, break_on_hyphens=False) or [""]:
            yield [*cells, part]
            cells = [""] * len(cells)


def _wrapped(text: str, indent: str) -> list[str]:
    width = shutil.get_terminal_size().columns
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


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
