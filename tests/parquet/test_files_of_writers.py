# SPDX-License-Identifier: Apache-2.0
"""Tests that the files of many writers in `files` are copied or rewritten as `writers.md` says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parquet.copying import copied
from tests.parquet.renamer import Renamer

HERE = Path(__file__).parent
WRITERS = sorted(folder.name for folder in (HERE / "files").iterdir())


@pytest.mark.every_variant
@pytest.mark.parametrize("writer", WRITERS)
def test_files_of_a_writer_are_copied_as_the_page_says(
    writer: str, renamer: Renamer, tmp_path: Path
) -> None:
    wrong: list[str] = []
    rewritten: dict[str, list[str]] = {}
    files = sorted((HERE / "files" / writer).iterdir())
    for file in files:
        reason, lines = copied(renamer, file, tmp_path)
        wrong += lines
        if reason is not None:
            rewritten.setdefault(reason, []).append(file.stem)

    assert wrong == []
    texts = [f"{', '.join(names)}: {reason}" for reason, names in rewritten.items()]
    number = len(files) - sum(map(len, rewritten.values()))
    row = f"| {writer} | {len(files)} | {number} | {'; '.join(texts) or 'none'} |"
    assert row in (HERE / "writers.md").read_text().splitlines()
