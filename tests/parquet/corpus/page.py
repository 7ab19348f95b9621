# SPDX-License-Identifier: Apache-2.0
"""Contains the table of tests/parquet/writers.md with the files of each writer.

A run of `tests/parquet/test_corpus.py` records its rows. As a script, this module writes them:
    .venv/bin/python -m tests.parquet.corpus.page
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.matrix.environment import HOME
from tests.parquet.corpus.writers import WRITERS, Writer

PAGE = Path(__file__).parents[1] / "writers.md"
HEADER = "| writer | files | copied | rewritten |\n|---|---|---|---|\n"


def row_of(writer: Writer, reasons: dict[str, str | None]) -> str:
    """Returns the row of a writer.

    Args:
        writer: The writer.
        reasons: The reasons why files are rewritten, by variant; None for a file that is copied.
    """
    rewritten: dict[str, list[str]] = {}
    for variant, reason in reasons.items():
        if reason is not None:
            rewritten.setdefault(reason, []).append(variant)
    texts = [f"{', '.join(names)}: {reason}" for reason, names in rewritten.items()]
    copied = len(reasons) - sum(map(len, rewritten.values()))
    cells = (writer.title, len(reasons), copied, "; ".join(texts) or "none")
    return "| " + " | ".join(map(str, cells)) + " |"


def recorded(writer: Writer) -> Path:
    """Returns the file with the row of the last run of a writer."""
    return HOME / "writers" / f"{writer.title.replace('/', '-')}.row"


def rows_on_page() -> list[str]:
    table = PAGE.read_text().split(HEADER)[1]
    return table.split("\n\n")[0].splitlines()


def compared(row: str) -> str:
    """Returns a row, without the version if this Python has an older release of the writer."""
    return row if sys.version_info >= (3, 11) else re.sub(r"^(\| .+?) [\d.]+ \|", r"\1 |", row)


if __name__ == "__main__":
    found = "\n".join(recorded(writer).read_text() for writer in WRITERS)
    PAGE.write_text(PAGE.read_text().replace("\n".join(rows_on_page()), found))
