# SPDX-License-Identifier: Apache-2.0
"""Runs the Python blocks of README.md in a new process, without an earlier session or table."""

from __future__ import annotations

from pathlib import Path

from tests.support.pages import blocks, comparable, is_run, shown
from tests.ways_in.shells import output_of


def test_blocks_of_the_readme_run_in_order_in_an_empty_folder(tmp_path: Path) -> None:
    python = [block for block in filter(is_run, blocks("README.md")) if block.language == "python"]
    (tmp_path / "readme.py").write_text("\n".join(block.text for block in python))

    out = output_of("python readme.py", tmp_path)

    expected = [line for block in python for line in comparable(shown(block) or "")]
    assert comparable(out) == expected
    assert len(expected) == 5
