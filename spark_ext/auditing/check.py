# SPDX-License-Identifier: Apache-2.0
"""The decorators that declare checks of an audit, and functions that several checks share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from spark_ext.auditing.findings import DAMAGE, Finding
from spark_ext.log.actions import FileGroup, TableLog
from spark_ext.log.replay import State, since
from spark_ext.model.schema import Path, quoted

# The order of checks, worst first: nothing can be read; rows are wrong or lost; the next change
# makes rows wrong; the table is right and misleads some readers.
UNREADABLE, WRONG_ROWS, NEXT_CHANGE, MISLEADING = 100, 200, 300, 400

_Key = TypeVar("_Key", bound=Hashable)
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Problem:
    """A finding before its check is named; the fields are those of `Finding`."""

    version: int | None
    message: str
    remedy: str
    column: Path | None = None
    file: str | None = None


# Takes the log and its states, oldest first. A check changes neither.
Find = Callable[[TableLog, tuple[State, ...]], Iterable[Problem]]
# Returns the message of a problem of one state, or None.
Describe = Callable[[State], str | None]


@dataclass(frozen=True)
class Check:
    """A check of the audit.

    Args:
        name: The name of the function.
        order: The place among all checks; the worst problem has the lowest number.
        severity: The severity of all its findings.
        needs_start: Whether the check needs at least one state.
        find: Finds the problems.
        doc: The docstring of the function.
    """

    name: str
    order: int
    severity: str
    needs_start: bool
    find: Find
    doc: str

    def findings(self, log: TableLog, states: tuple[State, ...]) -> list[Finding]:
        """Returns the findings in the order of versions, columns and files."""
        found = [
            Finding(
                version=problem.version,
                check=self.name,
                column=None if problem.column is None else quoted(problem.column),
                file=problem.file,
                message=problem.message,
                remedy=problem.remedy,
                severity=self.severity,
            )
            for problem in self.find(log, states)
        ]
        return sorted(
            found, key=lambda each: (each.version or 0, each.column or "", each.file or "")
        )


_declared: list[Check] = []


def check(
    order: int, *, severity: str = DAMAGE, needs_start: bool = True
) -> Callable[[Find], Find]:
    """Declares a function as a check with the name of the function; the rest is as in `Check`."""

    def declare(find: Find) -> Find:
        doc = str(find.__doc__)
        _declared.append(Check(find.__name__, order, severity, needs_start, find, doc))
        return find

    return declare


def state_check(order: int, *, remedy: str) -> Callable[[Describe], Describe]:
    """Declares a check of the newest state; the finding has the version since which it lasts."""

    def declare(describe: Describe) -> Describe:
        def find(_: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
            message = describe(states[-1])
            if message is not None:
                version = since(states, lambda state: describe(state) is not None)
                yield Problem(version, message, remedy)

        doc = str(describe.__doc__)
        _declared.append(Check(describe.__name__, order, DAMAGE, True, find, doc))
        return describe

    return declare


def declared() -> tuple[Check, ...]:
    """Returns the checks of all modules that are imported, worst first."""
    return tuple(sorted(_declared, key=lambda check: check.order))


@dataclass
class Files:
    """Data files with one problem.

    Args:
        example: The path of the first file.
        num_files: The number of files.
    """

    example: str
    num_files: int = 0


def grouped(found: Iterable[tuple[_Key, FileGroup]]) -> dict[_Key, Files]:
    """Returns the files of each key, in the order of first appearance."""
    files: dict[_Key, Files] = {}
    for key, group in found:
        files.setdefault(key, Files(group.example)).num_files += group.num_files
    return files


def is_below(path: Path, others: Collection[Path]) -> bool:
    """Returns whether a path is inside a struct, array or map of one of the others.

    Example:
        >>> is_below(("s", "x"), {("s",)}), is_below(("s",), {("s",)})
        (True, False)
    """
    return any(path[:length] in others for length in range(1, len(path)))


def topmost(items: Iterable[_Item], path: Callable[[_Item], Path]) -> Iterator[_Item]:
    """Yields the items that are not inside an earlier item; of a struct, only the struct.

    Example:
        >>> list(topmost([("s",), ("s", "x"), ("t", "x")], lambda path: path))
        [('s',), ('t', 'x')]
    """
    found: set[Path] = set()
    for item in items:
        if not is_below(path(item), found):
            found.add(path(item))
            yield item
