# SPDX-License-Identifier: Apache-2.0
"""The findings of an audit, and the decorators that declare its checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from spark_ext.log.actions import TableLog
from spark_ext.log.history import State, since
from spark_ext.model.schema import Path, quoted

# The severities, which `Finding` explains.
DAMAGE, RISK = "damage", "risk"

# The order of checks, worst first: nothing can be read; rows are wrong or lost; the next change
# makes rows wrong; the table is right and misleads some readers.
UNREADABLE, WRONG_ROWS, NEXT_CHANGE, MISLEADING = 100, 200, 300, 400


@dataclass(frozen=True)
class Finding:
    """A problem that a check found.

    Args:
        version: The version that caused the problem, or the first version with the problem; None if
            that version is unknown. Versions count from 0.
        check: The name of the check, one of `spark_ext.auditing.CHECKS`.
        column: The path of the column as SQL reads it; None if the problem is of no column.
        file: A data file as its `add` action names it, the file of a deletion vector, or a file of
            `_delta_log`; None if the problem is of no file.
        message: The problem and its effect on users of the table.
        severity: `damage` if the table is not as the protocol or the RFC demand; `risk` if it is,
            and readers that do not follow the protocol may be misled.
    """

    version: int | None
    check: str
    column: str | None
    file: str | None
    message: str
    remedy: str
    severity: str = DAMAGE


@dataclass(frozen=True)
class Problem:
    """A finding before its check is named; without a remedy, it has that of the check.

    `num_files` counts the data files with the problem. Problems of files that are otherwise equal
    are one finding, whose message starts with the number of all these files.
    """

    version: int | None
    message: str
    column: Path | None = None
    file: str | None = None
    remedy: str | None = None
    num_files: int = 0


# Takes the log and its states, oldest first. A check changes neither.
Find = Callable[[TableLog, tuple[State, ...]], Iterable[Problem]]
# Returns the message of a problem of one state, or None.
Describe = Callable[[State], str | None]


@dataclass(frozen=True)
class Check:
    """A check of the audit; the worst has the lowest `order`. Most need a state (`needs_start`)."""

    name: str
    order: int
    remedy: str
    find: Find
    severity: str = DAMAGE
    needs_start: bool = True

    def findings(self, log: TableLog, states: tuple[State, ...]) -> list[Finding]:
        """Returns the findings in the order of versions, columns and files."""
        equal: dict[Problem, list[Problem]] = {}
        for problem in self.find(log, states):
            of_files = replace(problem, file=None, num_files=0) if problem.num_files else problem
            equal.setdefault(of_files, []).append(problem)
        found = [self._finding(*problems) for problems in equal.values()]
        return sorted(
            found, key=lambda each: (each.version or 0, each.column or "", each.file or "")
        )

    def _finding(self, problem: Problem, *others: Problem) -> Finding:
        num_files = sum(each.num_files for each in (problem, *others))
        of_files = f"{num_files} file(s), such as this, " if num_files else ""
        return Finding(
            version=problem.version,
            check=self.name,
            column=None if problem.column is None else quoted(problem.column),
            file=problem.file,
            message=of_files + problem.message,
            remedy=problem.remedy or self.remedy,
            severity=self.severity,
        )


DECLARED: list[Check] = []


def check(
    order: int, *, remedy: str, severity: str = DAMAGE, needs_start: bool = True
) -> Callable[[Find], Find]:
    """Declares a function as a check with the name of the function; the rest is as in `Check`."""

    def declare(find: Find) -> Find:
        DECLARED.append(Check(find.__name__, order, remedy, find, severity, needs_start))
        return find

    return declare


def state_check(order: int, *, remedy: str) -> Callable[[Describe], Describe]:
    """Declares a check of the newest state; the finding has the version since which it lasts."""

    def declare(describe: Describe) -> Describe:
        def find(_: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
            message = describe(states[-1])
            if message is not None:
                yield Problem(since(states, lambda state: describe(state) is not None), message)

        DECLARED.append(Check(describe.__name__, order, remedy, find))
        return describe

    return declare
