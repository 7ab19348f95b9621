# SPDX-License-Identifier: Apache-2.0
"""Tests that files of many writers are copied or rewritten as `writers.md` says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parquet.corpus import rows
from tests.parquet.corpus.copying import wrongs
from tests.parquet.corpus.page import compared, recorded, row_of, rows_on_page
from tests.parquet.corpus.writers import QUICK, WRITERS, Writer
from tests.parquet.renamer import Renamer


@pytest.fixture(scope="module")
def source_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "rows"
    rows.write(folder)
    return folder


def params() -> list[object]:
    """Returns the writers, with marks that select them for `make test-all` or for the matrix."""
    marks = {True: pytest.mark.every_variant, False: pytest.mark.matrix}
    return [pytest.param(each, marks=marks[each.name in QUICK], id=each.title) for each in WRITERS]


@pytest.mark.parametrize("writer", params())
def test_files_of_a_writer_are_copied_as_the_page_says(
    writer: Writer, source_rows: Path, renamer: Renamer, tmp_path: Path
) -> None:
    reasons, found = {}, []
    for file in writer.write(source_rows, tmp_path / "files"):
        reasons[file.stem], wrong = wrongs(renamer, file, tmp_path / "copies")
        found += wrong
    assert found == []
    row = row_of(writer, reasons)
    recorded(writer).parent.mkdir(parents=True, exist_ok=True)
    recorded(writer).write_text(row)
    assert compared(row) in map(compared, rows_on_page())


def test_page_has_the_writers_in_their_order() -> None:
    titles = [compared(f"| {writer.title} |") for writer in WRITERS]
    assert [f"{compared(row).split(' |')[0]} |" for row in rows_on_page()] == titles
