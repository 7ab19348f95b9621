# SPDX-License-Identifier: Apache-2.0
"""Renders a result for people: as text for a terminal, as HTML for a notebook.

None is an empty cell, booleans are Delta's `true` and `false`, and a tuple or list is its values
with commas. A character that could move the cursor of a terminal or break a line is escaped,
because names of columns may have any character; HTML is also escaped.

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
from typing import Any, Final, TypeAlias

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


@dataclass(frozen=True)
class Coloured:
    """A text with one of the colours above, which is not in `STATES`."""

    text: str
    colour: str

    def __str__(self) -> str:
        return self.text


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
# A notebook has the rows of this number of tables.
_SHOWN = 100


Part: TypeAlias = "Lines | Facts | Table"


class Rendered:
    """A result that prints as text and shows as HTML; both have the same parts, totals first."""

    def _parts(self) -> Iterable[Part]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n\n".join(part.text() for part in self._parts())

    def _repr_html_(self) -> str:
        return "".join(part.html() for part in self._parts())


class ManyTables(Rendered):
    """A result about many tables: its sums, the tables that need a person, and all tables.

    The last two are its `Cases` and its table with `narrow` columns. Text fits the terminal. A
    notebook and text have the first hundred tables.
    """

    def text(self, *, all_tables: bool = False) -> str:
        """Returns the sums and the tables that need a person, or a row for every table too."""
        parts = self._limited(None) if all_tables else self._limited(_SHOWN, has_rows=False)
        return "\n\n".join(part.text() for part in parts)

    def __repr__(self) -> str:
        return self.text()

    def html(self) -> str:
        """Returns the HTML of the text with all tables."""
        return "".join(part.html() for part in self._limited(None))

    def _repr_html_(self) -> str:
        return "".join(part.html() for part in self._limited(_SHOWN))

    def _limited(self, shown: int | None, *, has_rows: bool = True) -> Iterator[Part]:
        for part in self._parts():
            if not isinstance(part, Table) or not (part.narrow or isinstance(part, Cases)):
                yield part
            elif has_rows or isinstance(part, Cases):
                if part.rows:
                    yield replace(part, rows=part.rows[:shown])
                if shown is not None and len(part.rows) > shown:
                    yield Lines(f"({len(part.rows) - shown:,} more tables)")


@dataclass(frozen=True)
class Lines:
    """A title, and lines below it; in HTML, a paragraph and a list."""

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
    """Named values, a line each. Long values wrap at the width of the terminal if `fits`."""

    values: Mapping[str, Any]
    fits: bool = False

    @classmethod
    def known(cls, values: Mapping[str, Any], *, fits: bool = False) -> Facts:
        """Returns the facts without values that are None or an empty list."""
        return cls({name: at for name, at in values.items() if at not in (None, (), [])}, fits)

    def text(self) -> str:
        """Returns a line for each value."""
        rows = [[f"{name}:", cell(known)] for name, known in self.values.items()]
        return "\n".join(_aligned(rows, (False, False), " ", fits=self.fits))

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

    `narrow` are the columns in text, if each row is one of many tables. The last one wraps at the
    width of the terminal, and bytes have a unit.
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
        shown = [self.columns.index(column) for column in self.narrow or self.columns]
        sizes = [at for at in shown if self.narrow and self.columns[at] in _BYTES]
        numbers = self._right()
        right = [numbers[at] or at in sizes for at in shown]
        cells = [[cell(self.columns[at]) for at in shown]]
        for row in self.rows:
            texts = [(at, cell(row[at])) for at in shown]
            cells.append([in_units(text) if at in sizes else text for at, text in texts])
        return "\n".join(_aligned(cells, right, "  ", fits=bool(self.narrow), has_head=True))

    def html(self) -> str:
        """Returns a table with a head."""
        sizes = [column in _BYTES for column in self.columns]
        right = [*map(bool.__or__, self._right(), sizes)]

        def line(tag: str, values: Sequence[Any], sizes: Sequence[bool]) -> str:
            cells = (
                _element(tag, value, to_the_right=is_right, is_size=is_size)
                for value, is_right, is_size in zip(values, right, sizes, strict=True)
            )
            return f"<tr>{''.join(cells)}</tr>"

        head = line("th", self.columns, [False] * len(sizes))
        body = "".join(line("td", row, sizes) for row in self.rows)
        caption = "" if self.caption is None else _element("caption", self.caption)
        return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"

    def _right(self) -> list[bool]:
        """Returns which columns have numbers only."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns)
        known = [[value for value in column if value is not None] for column in columns]
        return [bool(each) and {*map(type, each)} <= {int, float} for each in known]


class Cases(Table):
    """Tables for a person to read: a state, a name, and texts of one or more lines below it."""

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
        rows = [[*row[:2], *(" ".join(text.splitlines()) for text in row[2:])] for row in self.rows]
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


def _element(tag: str, value: Any, *, to_the_right: bool = False, is_size: bool = False) -> str:
    """Returns a cell. The exact number of a size is its tooltip."""
    colour = value.colour if isinstance(value, Coloured) else STATES.get(cell(value), "")
    align = "right" if to_the_right else "left"
    exact = _html(value)
    title = f' title="{exact} bytes"' if is_size and exact else ""
    shown = in_units(exact) if is_size else exact
    wrap = ";white-space:nowrap" if is_size else ""
    return f'<{tag}{title} style="text-align:{align}{wrap}{colour}">{shown}</{tag}>'


def _html(value: Any) -> str:
    return escape(cell(value))


def _aligned(
    rows: Iterable[Sequence[str]],
    right: Sequence[bool],
    gap: str,
    *,
    fits: bool,
    has_head: bool = False,
) -> Iterator[str]:
    """Yields the lines of rows. The last cell continues at the width of the terminal if `fits`."""
    lines = [[*row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    if fits:
        room = shutil.get_terminal_size().columns - sum(widths[:-1]) - len(gap) * (len(widths) - 1)
        lines = list(_fitting(lines, max(_LEAST, room)))
        widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    if has_head:
        lines.insert(1, ["-" * width for width in widths])
    for line in lines:
        padded = map(_padded, line, widths, right)
        yield gap.join(padded).rstrip()


def _fitting(rows: Iterable[Sequence[str]], room: int) -> Iterator[list[str]]:
    for *cells, last in rows:
        for part in textwrap.wrap(last, room, break_on_hyphens=False) or [""]:
            yield [*cells, part]
            cells = [""] * len(cells)


def _wrapped(text: str, indent: str) -> list[str]:
    width = shutil.get_terminal_size().columns
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _padded(text: str, width: int, to_the_right: object = False) -> str:
    blanks = " " * (width - _width(text))
    return blanks + text if to_the_right else text + blanks


def _width(text: str) -> int:
    """Returns the number of columns that a terminal needs for a text."""
    shown = [char for char in text if not unicodedata.combining(char)]
    return len(shown) + sum(unicodedata.east_asian_width(char) in "WF" for char in shown)
