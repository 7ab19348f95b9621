# SPDX-License-Identifier: Apache-2.0
"""Tests that dataclasses become rows of SQL and JSON, and rows become dataclasses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

import pytest
from pyspark.sql import Row

from spark_ext.errors import MalformedMessageError
from spark_ext.model.rows import as_row, ddl, of_row


@dataclass(frozen=True)
class Place:
    path_to: str
    at: datetime | None


@dataclass(frozen=True)
class Base:
    check: str
    num_files: int | None


@dataclass(frozen=True)
class Everything(Base):
    num_files: int
    is_exact: bool
    place: Place | None
    places: tuple[Place, ...]
    names: tuple[str, ...] | None = None


ROW = Row(
    later="x",
    names=["a", "b"],
    places=[Row(at=None, pathTo="q", later=1)],
    place=Row(pathTo="p", at=datetime(2026, 1, 2)),
    isExact=True,
    numFiles=3,
    check="c",
)


def test_ddl_has_sql_types_and_quotes_every_name() -> None:
    place = "STRUCT<`pathTo`: STRING, `at`: TIMESTAMP>"
    assert ddl(Everything) == (
        "`check` STRING, `numFiles` BIGINT, `isExact` BOOLEAN,"
        f" `place` {place}, `places` ARRAY<{place}>, `names` ARRAY<STRING>"
    )


def test_type_without_sql_name_is_refused() -> None:
    @dataclass
    class Unfit:
        content: bytes

    with pytest.raises(KeyError, match="bytes"):
        ddl(Unfit)


def test_row_is_read_by_column_names() -> None:
    assert of_row(Everything, ROW) == Everything(
        check="c",
        num_files=3,
        is_exact=True,
        place=Place("p", datetime(2026, 1, 2)),
        places=(Place("q", None),),
        names=("a", "b"),
    )


def test_null_is_none_at_every_level() -> None:
    row = Row(**{**ROW.asDict(), "numFiles": None, "place": None, "names": None, "places": []})

    assert of_row(Everything, row) == Everything("c", None, True, None, (), None)  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", ["check", "numFiles", "places", "names"])
def test_missing_column_is_an_error(missing: str) -> None:
    row = Row(**{key: value for key, value in ROW.asDict().items() if key != missing})

    with pytest.raises(MalformedMessageError) as refused:
        of_row(Everything, row)

    assert refused.value.params == {"path": "answer", "problem": f"has no column {missing}"}


def test_missing_column_of_a_struct_is_an_error() -> None:
    row = Row(**{**ROW.asDict(), "places": [Row(pathTo="q")]})

    with pytest.raises(MalformedMessageError) as refused:
        of_row(Everything, row)

    assert refused.value.params == {"path": "answer", "problem": "has no column at"}


def test_json_has_the_columns_in_order_at_every_level() -> None:
    value = Everything("c", 3, True, None, (Place("p", None),), ("a",))

    assert json.dumps(value, default=as_row) == (
        '{"check": "c", "numFiles": 3, "isExact": true, "place": null,'
        ' "places": [{"pathTo": "p", "at": null}], "names": ["a"]}'
    )
