# SPDX-License-Identifier: Apache-2.0
"""Compares the stored diagrams and charts of the pages with the scripts that draw them."""

from __future__ import annotations

import math
import re

import pytest

from docs.pictures import badges
from docs.pictures.charts import CHARTS, Chart, seconds
from docs.pictures.diagrams import DIAGRAMS, FOLDER, Diagram
from docs.pictures.parquet_schema import PICTURE

MARK = FOLDER / "mark.svg"


@pytest.mark.parametrize("picture", [*DIAGRAMS, *CHARTS], ids=lambda picture: picture.name)
def test_stored_picture_is_the_drawn_one(picture: Diagram | Chart) -> None:
    assert picture.file.read_text() == picture.drawn()


def test_stored_badges_are_the_drawn_ones() -> None:
    assert badges.FILE.read_text() == badges.drawn()


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_bars_of_a_chart_are_as_long_as_the_logarithms_of_their_figures(chart: Chart) -> None:
    bars = re.findall(r'<rect class="\w+" x="230" y="\d+" width="(\d+)" height', chart.drawn())
    bars = bars[1:]  # the first bar is in the legend
    figures = [seconds(row[bar]) for row in chart.rows() for bar in chart.bars]

    assert len(bars) == len(figures) > 20
    for bar, figure in zip(map(int, bars), figures, strict=True):
        assert bar == (
            0 if figure <= 0.01 else pytest.approx(130 * (math.log10(figure) + 2), abs=1)
        )


@pytest.mark.parametrize("name", ["demo", "survey", "lakehouse"])
def test_every_renderer_keeps_the_blanks_of_a_terminal(name: str) -> None:
    drawn = (FOLDER / f"terminal-{name}.svg").read_text()

    assert 'xml:space="preserve"' in drawn.splitlines()[0]
    assert "white-space: pre" in drawn


def test_folder_contains_exactly_the_known_pictures() -> None:
    drawn = {picture.file for picture in (*DIAGRAMS, *CHARTS)} | {PICTURE, MARK, badges.FILE}
    drawn |= {FOLDER / f"terminal-{name}.svg" for name in ("demo", "survey", "lakehouse")}

    assert set(FOLDER.glob("*.svg")) == drawn
