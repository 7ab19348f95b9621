# SPDX-License-Identifier: Apache-2.0
"""Makes tables whose files contain a column under the present name of another column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.engines.filtered import Filter
from tests.support.delta_table import Table
from tests.support.removal import insert_one_file

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """Describes a table of two files, with names changed between the two.

    Args:
        steps: Values to insert, or the rest of an ALTER TABLE statement.
        filters: The filters, each with the ids of its rows.
    """

    columns: str
    steps: tuple[str, ...]
    rows: Rows
    filters: dict[Filter, list[int]]

    def make(self, table: Table, *properties: str) -> Table:
        table.create(self.columns, *properties, "'delta.enableDeletionVectors' = 'false'")
        for step in self.steps:
            if step.startswith("("):
                insert_one_file(table, step)
            else:
                table.alter(step)
        return table


CASES = {
    "rename and add": Case(
        "id INT, city STRING",
        ("(1, 'Rome')", "RENAME COLUMN city TO town", "ADD COLUMN city STRING", "(2, 'Oslo', 'X')"),
        [{"id": 1, "town": "Rome"}, {"id": 2, "town": "Oslo", "city": "X"}],
        {
            Filter("town", "Rome"): [1],
            Filter("town", "Oslo"): [2],
            Filter("city", "X"): [2],
            Filter("city", "Rome"): [],
            Filter("city"): [1],
        },
    ),
    "swap": Case(
        "id INT, a STRING, b STRING",
        (
            "(1, 'a1', 'b1')",
            "RENAME COLUMN a TO x",
            "RENAME COLUMN b TO a",
            "RENAME COLUMN x TO b",
            "(2, 'b2', 'a2')",
        ),
        [{"id": 1, "a": "b1", "b": "a1"}, {"id": 2, "a": "a2", "b": "b2"}],
        {
            Filter("a", "b1"): [1],
            Filter("b", "a1"): [1],
            Filter("a", "a2"): [2],
            Filter("b", "b2"): [2],
            Filter("a", "a1"): [],
        },
    ),
    "drop and add": Case(
        "id INT, city STRING",
        ("(1, 'Rome')", "DROP COLUMN city", "ADD COLUMN city STRING", "(2, 'X')"),
        [{"id": 1}, {"id": 2, "city": "X"}],
        {Filter("city", "X"): [2], Filter("city", "Rome"): [], Filter("city"): [1]},
    ),
    "nested": Case(
        "id INT, s STRUCT<city: STRING>",
        (
            "(1, named_struct('city', 'Rome'))",
            "RENAME COLUMN s.city TO town",
            "ADD COLUMN s.city STRING",
            "(2, named_struct('town', 'Oslo', 'city', 'X'))",
        ),
        [{"id": 1, "s": {"town": "Rome"}}, {"id": 2, "s": {"town": "Oslo", "city": "X"}}],
        {
            Filter("s.town", "Rome"): [1],
            Filter("s.city", "X"): [2],
            Filter("s.city", "Rome"): [],
            Filter("s.city"): [1],
        },
    ),
}
