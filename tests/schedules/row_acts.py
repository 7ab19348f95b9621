# SPDX-License-Identifier: Apache-2.0
"""Contains UPDATE, DELETE and MERGE, by SQL and by a held DeltaTable."""

from __future__ import annotations

from collections.abc import Callable

from tests.schedules.act import Act, Effect, Moment, Stage, held, key_in, known, new_key, sql
from tests.support.flat_tables import key_of, require
from tests.support.reference_model import Row, State


def updating(column: str, suffix: str | None, of: Callable[[Moment], State]) -> Effect:
    """Appends to a column in rows with odd keys, or sets the column to one value in all rows."""

    def effect(before: State, moment: Moment) -> State:
        key = key_of(of(moment), column)
        require(before, "k", key)
        rows = []
        for row in before.rows:
            if suffix is None:
                row = {**row, key: f"{column}.all.{moment.number}"}
            elif key_in(row) % 2 == 1 and key in row:
                row = {**row, key: f"{row[key]}.{moment.number}"}
            rows.append(row)
        return before.rewritten(rows)

    return effect


def _deleting(keys: set[int], of: Callable[[Moment], State]) -> Effect:
    def effect(before: State, moment: Moment) -> State:
        require(before, key_of(of(moment), "k"))
        return before.rewritten(row for row in before.rows if row["k"] not in keys)

    return effect


def _deleting_by_b(of: Callable[[Moment], State]) -> Effect:
    def effect(before: State, moment: Moment) -> State:
        key = key_of(of(moment), "b")
        require(before, key)
        return before.rewritten(row for row in before.rows if row.get(key) != "b.3")

    return effect


def _updating_by_b(of: Callable[[Moment], State]) -> Effect:
    def effect(before: State, moment: Moment) -> State:
        b, d = key_of(of(moment), "b"), key_of(of(moment), "d")
        require(before, b, d)
        rows = (
            {**row, d: f"by b.{moment.number}"} if row.get(b) == "b.3" else row
            for row in before.rows
        )
        return before.rewritten(rows)

    return effect


def _merging(of: Callable[[Moment], State]) -> Effect:
    def effect(before: State, moment: Moment) -> State:
        number, key = moment.number, key_of(of(moment), "d")
        require(before, key)
        rows: list[Row] = [
            {**row, key: f"m.{number}"} if row["k"] == 1 else row for row in before.rows
        ]
        rows.append({"k": new_key(number), key: f"i.{number}"})
        if all(row["k"] != 1 for row in before.rows):
            rows.append({"k": 1, key: f"i.{number}"})
        return before.rewritten(rows)

    return effect


def _source(number: int) -> str:
    return f"SELECT 1 AS s UNION ALL SELECT {new_key(number)} AS s"


def _merge(stage: Stage, number: int) -> None:
    stage.sql(
        f"MERGE INTO {{t}} t USING ({_source(number)}) ON k = s"
        f" WHEN MATCHED THEN UPDATE SET d = 'm.{number}'"
        f" WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s, 'i.{number}')"
    )


def _held_merge(stage: Stage, number: int) -> None:
    merge = stage.delta_table.alias("t").merge(stage.spark.sql(_source(number)), "t.k = s")
    merge = merge.whenMatchedUpdate(set={"d": f"'m.{number}'"})
    merge.whenNotMatchedInsert(values={"k": "s", "d": f"'i.{number}'"}).execute()


UPDATE = Act(
    "update",
    sql("UPDATE {t} SET d = concat(d, '.{n}') WHERE k % 2 = 1"),
    updating("d", ".", known),
)
FILL = Act("fill b", sql("UPDATE {t} SET b = 'b.all.{n}'"), updating("b", None, known))
DELETE = Act("delete", sql("DELETE FROM {t} WHERE k = 3"), _deleting({3}, known))
DELETE_FILE = Act(
    "delete of a file", sql("DELETE FROM {t} WHERE k IN (3, 4)"), _deleting({3, 4}, known)
)
DELETE_BY_B = Act("delete by b", sql("DELETE FROM {t} WHERE b = 'b.3'"), _deleting_by_b(known))
UPDATE_BY_B = Act(
    "update by b",
    sql("UPDATE {t} SET d = 'by b.{n}' WHERE b = 'b.3'"),
    _updating_by_b(known),
)
HELD_DELETE_BY_B = Act(
    "held delete by b",
    lambda stage, number: stage.delta_table.delete("b = 'b.3'"),
    _deleting_by_b(held),
    is_held=True,
)
HELD_UPDATE_BY_B = Act(
    "held update by b",
    lambda stage, number: stage.delta_table.update("b = 'b.3'", {"d": f"'by b.{number}'"}),
    _updating_by_b(held),
    is_held=True,
)
MERGE = Act("merge", _merge, _merging(known))
HELD_UPDATE = Act(
    "held update",
    lambda stage, number: stage.delta_table.update("k % 2 = 1", {"d": f"concat(d, '.{number}')"}),
    updating("d", ".", held),
    is_held=True,
)
HELD_DELETE = Act(
    "held delete",
    lambda stage, number: stage.delta_table.delete("k = 3"),
    _deleting({3}, held),
    is_held=True,
)
HELD_MERGE = Act("held merge", _held_merge, _merging(held), is_held=True)
