# SPDX-License-Identifier: Apache-2.0
"""Compares paths of columns with a name or a shell pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from unicodedata import normalize

from spark_ext.model.schema import INNER, Path, path_of, quoted

# SQL allows blanks around a dot outside of backticks.
_DOT = re.compile(r"(`(?:[^`]|``)*`)|\s*\.\s*")


@dataclass(frozen=True)
class NamePattern:
    """A name or a shell pattern of columns.

    Comparisons ignore letter case and the Unicode form, because Delta and people write one name in
    several ways. A proof that data does not exist has to consider all of them.

    Args:
        text: The last part or parts of a path, or a whole path after the last parts of the
            table's name; with dots or as SQL quotes it, with or without `element`, `key` and
            `value`; or a pattern with `*`, `?` and `[..]` for one of these.
        table: The parts of the table's name.
    """

    text: str
    table: Path = ()

    def matches(self, path: Path) -> bool:
        """Returns whether a path is the name or matches the pattern.

        Example:
            >>> pattern = NamePattern("ss?")
            >>> [pattern.matches(path) for path in (("SSN",), ("person", "ssn"), ("ssn", "id"))]
            [True, True, False]
            >>> NamePattern("p.`ssn`").matches(("a", "p", "element", "ssn"))
            True
            >>> NamePattern("a[1]").matches(("a[1]",))
            True
        """
        folded = tuple(map(_folded, path))
        return any(map(self._matches_end, _ends(folded))) or self._matches_below_table(folded)

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset((_folded(self.text), _folded(self.text.strip())))

    @cached_property
    def _parts(self) -> tuple[str, ...]:
        text = _DOT.sub(lambda found: found[1] or ".", self.text.strip())
        return tuple(map(_folded, path_of(text)))

    @cached_property
    def _of_table(self) -> tuple[str, ...]:
        return tuple(map(_folded, self.table))

    def _matches_end(self, end: Path) -> bool:
        names = (".".join(end), quoted(end))
        if any(_matches(name, wanted) for name in names for wanted in self._texts):
            return True
        return _match(end, self._parts)

    def _matches_below_table(self, path: Path) -> bool:
        for whole in _ends(path):
            above = self._parts[: -len(whole)]
            is_whole = whole[0] == path[0] and above and len(above) <= len(self._of_table)
            if is_whole and _match((*self._of_table[-len(above) :], *whole), self._parts):
                return True
        return False


def _ends(path: Path) -> Iterator[Path]:
    """Yields the last parts of a path, with and without the segments of arrays and maps.

    Example:
        >>> list(_ends(("a", "key", "x")))
        [('x',), ('key', 'x'), ('a', 'x'), ('a', 'key', 'x')]
    """
    ends: dict[Path, None] = {(): None}
    for name in reversed(path):
        longer = [(name, *end) for end in ends]
        yield from longer
        ends = dict.fromkeys([*(ends if name in INNER else ()), *longer])


def _match(path: Path, wanted: Path) -> bool:
    return len(path) == len(wanted) and all(map(_matches, path, wanted))


def _matches(name: str, wanted: str) -> bool:
    return name == wanted or fnmatchcase(name, wanted)


def _folded(text: str) -> str:
    return normalize("NFC", normalize("NFC", text).casefold())
