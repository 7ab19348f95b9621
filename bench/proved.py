# SPDX-License-Identifier: Apache-2.0
"""Removes the tables of benches. `bench/run.py --proof` checks them first, as the tests do."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHOWN = 20
"""The largest number of findings that are printed."""


@dataclass
class Proof:
    """Counts the tables that were checked, and keeps their findings."""

    is_wanted: bool = False
    tables: int = 0
    findings: list[str] = field(default_factory=list)

    def discard(self, folder: Path) -> None:
        """Removes a folder, and checks the tables in it before."""
        self.check(folder)
        shutil.rmtree(folder)

    def check(self, folder: Path) -> None:
        """Checks all tables below a folder, if that is wanted."""
        if not self.is_wanted:
            return
        if str(ROOT) not in sys.path:
            sys.path.append(str(ROOT))
        from tests.support.left_tables import Folders
        from tests.support.proof import findings

        for table in Folders().tables(str(folder)):
            self.tables += 1
            self.findings += [f"{table}: {each}" for each in findings(Path(table))]

    def is_failed(self) -> bool:
        """Prints and forgets what was found. A bench without a table fails."""
        if not self.is_wanted:
            return False
        is_failed = bool(self.findings) or not self.tables
        sums = f"{self.tables} tables, {len(self.findings)} findings"
        print(sums, *self.findings[:SHOWN], sep="\n")
        self.tables, self.findings = 0, []
        return is_failed


PROOF = Proof()
discard = PROOF.discard
