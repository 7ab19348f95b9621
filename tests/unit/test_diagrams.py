# SPDX-License-Identifier: Apache-2.0
"""Compares the stored diagrams of the pages with the script that draws them."""

from __future__ import annotations

import pytest

from docs.pictures.diagrams import DIAGRAMS, FOLDER, Diagram
from docs.pictures.parquet_schema import PICTURE

MARK = FOLDER / "mark.svg"


@pytest.mark.parametrize("diagram", DIAGRAMS, ids=lambda diagram: diagram.name)
def test_stored_diagram_is_the_drawn_one(diagram: Diagram) -> None:
    assert diagram.file.read_text() == diagram.drawn()


def test_every_stored_picture_is_drawn_by_a_script() -> None:
    drawn = {diagram.file for diagram in DIAGRAMS} | {PICTURE, MARK}

    assert set(FOLDER.glob("*.svg")) == drawn
