# SPDX-License-Identifier: Apache-2.0
"""What an audit found, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from spark_ext.auditing.findings import Finding
from spark_ext.show.tables import as_html, as_text, cell

_COLUMNS = tuple(field.name for field in fields(Finding))
_PLACES = ("version", "check", "column", "file")


@dataclass(frozen=True, repr=False)
class AuditResult:
    """The findings of one table, the worst first.

    Args:
        table: As it was asked for.
        findings: None of them in a healthy table.
    """

    table: str
    findings: tuple[Finding, ...]

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
        head = f"{cell(self.table)}: {_counted(len(self.findings))}"
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


def _counted(number: int) -> str:
    return "1 finding" if number == 1 else f"{number} findings, the worst first"
