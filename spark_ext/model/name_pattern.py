# SPDX-License-Identifier: Apache-2.0
"""Compares paths of columns with a name or a shell pattern."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from spark_ext.model.schema import Path, quoted


@dataclass(frozen=True)
class NamePattern:
    """A name or a shell pattern of columns.

    Args:
        text: A last name, a path with dots, a path as SQL quotes it, or a pattern with `*`, `?` and
            `[..]` of one of them.
        case_sensitive: Whether letter case counts, as `spark.sql.caseSensitive` says.
    """

    text: str
    case_sensitive: bool = False

    def matches(self, path: Path) -> bool:
        """Returns whether a path, or its last name, is the name or matches the pattern.

        Example:
            >>> pattern = NamePattern("ss?")
            >>> [pattern.matches(path) for path in (("SSN",), ("person", "ssn"), ("ssn", "id"))]
            [True, True, False]
            >>> NamePattern("a[1]").matches(("a[1]",))
            True
        """
        wanted = self._folded(self.text)
        names = map(self._folded, (path[-1], ".".join(path), quoted(path)))
        return any(name == wanted or fnmatchcase(name, wanted) for name in names)

    def _folded(self, text: str) -> str:
        return text if self.case_sensitive else text.lower()
