# SPDX-License-Identifier: Apache-2.0
"""The result of an audit, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from spark_ext.auditing.findings import DAMAGE, RISK, Finding
from spark_ext.show.tables import Lines, Part, Rendered, Table
from spark_ext.wire.rows import as_row, plain

_PLACES = ("severity", "version", "check", "column", "file")


@dataclass(frozen=True, repr=False)
class AuditResult(Rendered):
    """The findings of one table, the worst first.

    Args:
        table: The name or path that the caller gave.
        findings: Empty for a healthy table, except for risks.
    """

    table: str
    findings: tuple[Finding, ...]

    @property
    def num_damages(self) -> int:
        """Returns the number of findings of damage."""
        return sum(finding.severity == DAMAGE for finding in self.findings)

    @property
    def num_risks(self) -> int:
        """Returns the number of findings of risk."""
        return len(self.findings) - self.num_damages

    def as_objects(self) -> Iterable[dict[str, Any]]:
        """Returns each finding with its table, for JSON.

        Example:
            >>> found = Finding(3, "uuid_missing", "fare", None, "It is so.", "Do that.")
            >>> [each["table"] for each in AuditResult("db.t", (found,)).as_objects()]
            ['db.t']
        """
        return (plain({"table": self.table, **as_row(each)}) for each in self.findings)

    def _parts(self) -> Iterator[Part]:
        yield Lines(f"{self.table}: {self._counted()}")
        if self.findings:
            yield Table(
                ("", *_PLACES),
                [
                    (number, *(getattr(finding, place) for place in _PLACES))
                    for number, finding in enumerate(self.findings, 1)
                ],
                "The findings, the worst first",
            )
        for number, finding in enumerate(self.findings, 1):
            yield Lines(f"{number}. {finding.message}", [f"What to do: {finding.remedy}"])

    def _counted(self) -> str:
        if not self.findings:
            return "no findings"
        counts = {DAMAGE: self.num_damages, RISK: self.num_risks}
        parts = ", ".join(f"{number} {severity}" for severity, number in counts.items() if number)
        number = len(self.findings)
        return (
            f"1 finding ({parts})" if number == 1 else f"{number} findings ({parts}), worst first"
        )
