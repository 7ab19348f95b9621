# SPDX-License-Identifier: Apache-2.0
"""What an audit found, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from spark_ext.auditing.findings import DAMAGE, Finding
from spark_ext.show.tables import as_html, as_text, cell

_COLUMNS = tuple(field.name for field in fields(Finding))
_PLACES = ("severity", "version", "check", "column", "file")


@dataclass(frozen=True, repr=False)
class AuditResult:
    """The findings of one table, the worst first.

    Args:
        table: As it was asked for.
        findings: None of them in a healthy table, but for risks.
    """

    table: str
    findings: tuple[Finding, ...]

    @property
    def num_damages(self) -> int:
        """How many findings are damage."""
        return sum(finding.severity == DAMAGE for finding in self.findings)

    @property
    def num_risks(self) -> int:
        """How many findings are a risk."""
        return len(self.findings) - self.num_damages

    def __repr__(self) -> str:
        """A table of the findings, and of each what it means and what to do."""
        if not self.findings:
            return f"{cell(self.table)}: no findings"
        rows = [
            (number, *(getattr(finding, place) for place in _PLACES))
            for number, finding in enumerate(self.findings, 1)
        ]
        said = (
            f"{number}. {cell(finding.message)}\n   What to do: {cell(finding.remedy)}"
            for number, finding in enumerate(self.findings, 1)
        )
        head = f"{cell(self.table)}: {self._counted()}"
        return "\n".join([head, "", as_text(rows, ("", *_PLACES)), "", *said])

    def _repr_html_(self) -> str:
        """The findings as a table for a notebook, escaped."""
        if not self.findings:
            return as_html([(self.table, "no findings")], ("table", "audit"))
        return as_html(
            [tuple(getattr(finding, name) for name in _COLUMNS) for finding in self.findings],
            _COLUMNS,
        )

    def as_objects(self) -> Iterable[dict[str, Any]]:
        """Each finding with its table, for JSON.

        Example:
            >>> found = Finding(3, "uuid_missing", "fare", None, "It is so.", "Do that.")
            >>> [each["table"] for each in AuditResult("db.t", (found,)).as_objects()]
            ['db.t']
        """
        return ({"table": self.table, **asdict(finding)} for finding in self.findings)

    def _counted(self) -> str:
        counts = {"damage": self.num_damages, "risk": self.num_risks}
        parts = ", ".join(f"{number} {severity}" for severity, number in counts.items() if number)
        number = len(self.findings)
        return (
            f"1 finding ({parts})" if number == 1 else f"{number} findings ({parts}), worst first"
        )
