# SPDX-License-Identifier: Apache-2.0
"""Lists the points at which a driver is killed during a statement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.concurrency.statements import (
    ADD,
    ALIGN,
    APPEND_WITH_NEW_COLUMN,
    CREATE_AS_SELECT,
    DROP_MAPPING_FEATURE,
    ENABLE_TRACKING,
    REMOVE_MAPPING,
    RENAME,
    REPLACE,
    RESTORE,
    Kind,
    Statement,
)
from tests.support.held_statement import Step

UNUSED = Kind()
USED = Kind(is_used=True)
UNTRACKED = Kind(is_tracked=False)
COMMITS = {
    # The mode becomes none, three checkpoints follow with a commit each, and the feature goes.
    DROP_MAPPING_FEATURE: 5,
    # Sets the mark, removes mapping, drops tracking, enables both again, and unsets the mark.
    ALIGN: 5,
}


@dataclass(frozen=True)
class Stop:
    """Names a statement, the number of its transaction, and the step; None is the rule call."""

    statement: Statement
    step: Step | None
    kind: Kind = UNUSED
    nth: int = 1

    def __str__(self) -> str:
        step = self.step.name if self.step else "RULE_CALL"
        used = " of a used table" if self.kind.is_used else ""
        return f"{self.statement}{used} {step} {self.nth}".replace(" ", "-")

    @property
    def is_before_the_log_entry(self) -> bool:
        return self.step not in (Step.WRITTEN, Step.AFTERWARDS)

    @property
    def has_written_files(self) -> bool:
        """Returns whether the disk has data files that no log entry names."""
        copies = self.statement is REMOVE_MAPPING and self.kind.is_used
        writes = copies or self.statement in (APPEND_WITH_NEW_COLUMN, REPLACE, CREATE_AS_SELECT)
        return writes and self.step in (Step.PREPARE, Step.COMMIT)


# All steps of a statement that writes metadata only.
EVERYWHERE = (*Step, None)
PARTS = tuple(
    Stop(statement, Step.COMMIT, USED, nth)
    for statement, commits in COMMITS.items()
    for nth in range(1, commits + 1)
)
CREATES = tuple(Stop(CREATE_AS_SELECT, step) for step in (Step.PREPARE, Step.COMMIT))

# A rename stops at every step. The steps of other statements before they write a file equal those
# of a rename, so most statements omit these steps.
STOPS: tuple[Stop, ...] = (
    *CREATES,
    Stop(ADD, Step.COMMIT),
    Stop(ENABLE_TRACKING, Step.COMMIT, UNTRACKED),
    Stop(APPEND_WITH_NEW_COLUMN, Step.COMMIT),
    Stop(REPLACE, Step.COMMIT),
    Stop(REPLACE, Step.WRITTEN),
    Stop(RESTORE, Step.COMMIT),
    Stop(RESTORE, Step.AFTERWARDS),
    *(Stop(RENAME, step) for step in EVERYWHERE),
    *PARTS,
    *(Stop(REMOVE_MAPPING, step, USED) for step in Step),
    *(Stop(REMOVE_MAPPING, step) for step in EVERYWHERE),
)


def drivers(stops: Iterable[Stop]) -> list[list[Stop]]:
    """Returns the stops of two drivers, because a driver starts more slowly than a statement runs.

    The stop in a rule call is the last one, because the rules answer nobody afterwards.
    """
    known = [stop for stop in STOPS if stop in set(stops)]
    shares = [[stop for stop in known if stop.step][half::2] for half in (0, 1)]
    for share, stop in zip(shares, [stop for stop in known if not stop.step], strict=False):
        share.append(stop)
    return [share for share in shares if share]
