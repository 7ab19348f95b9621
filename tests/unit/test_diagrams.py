# SPDX-License-Identifier: Apache-2.0
"""Compares the stored diagrams and charts of the pages with the scripts that draw them."""

from __future__ import annotations

import pytest

from docs.pictures import badges
from docs.pictures.charts import CHARTS, Chart
from docs.pictures.diagrams import DIAGRAMS, FOLDER, Diagram
from docs.pictures.parquet_schema import PICTURE

MARK = FOLDER / "mark.svg"


@pytest.mark.parametrize("picture", [*DIAGRAMS, *CHARTS], ids=lambda picture: picture.name)
def test_stored_picture_is_the_drawn_one(picture: Diagram | Chart) -> None:
    assert picture.file.read_text() == picture.drawn()


def test_stored_badges_are_the_drawn_ones() -> None:
    assert badges.FILE.read_text() == badges.drawn()


def test_folder_contains_exactly_the_known_pictures() -> None:
    drawn = {picture.file for picture in (*DIAGRAMS, *CHARTS)} | {PICTURE, MARK, badges.FILE}
    drawn |= {FOLDER / f"terminal-{name}.svg" for name in ("demo", "survey", "lakehouse")}

    assert set(FOLDER.glob("*.svg")) == drawn
