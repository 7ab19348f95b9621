# SPDX-License-Identifier: Apache-2.0
"""Tests the progress of a run in a Jupyter kernel, with and without tqdm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

from tests.ways_in.shells import SECONDS, environment

pytestmark = [
    pytest.mark.matrix,  # it installs packages
    pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client"),
]

CHECKOUT = Path(__file__).parents[2]
WIDGET = "application/vnd.jupyter.widget-view+json"
CELL = """
from spark_ext import LakehouseProgress
from spark_ext.tables.progress import shown

for done in (0, 3, 7):
    shown(LakehouseProgress(phase="run", tables_done=done, tables=7, finished=done == 7))
"""


def outputs(folder: Path, *packages: str) -> list[dict[str, Any]]:
    """Returns the messages of a cell in a kernel with these packages."""
    if packages:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
        subprocess.run([*pip, *packages], check=True)
    variables = {"PYTHONPATH": f"{folder}:{CHECKOUT}"}
    manager, client = start_new_kernel(cwd=str(CHECKOUT), env=environment(**variables))
    found: list[dict[str, Any]] = []
    try:
        reply = client.execute_interactive(CELL, output_hook=found.append, timeout=SECONDS)
        assert reply["content"]["status"] == "ok", reply["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return [each for each in found if each["msg_type"] in ("stream", "display_data")]


@pytest.mark.parametrize(
    ("packages", "shown", "bars"),
    [((), "7 of 7 tables", 0), (("tqdm",), "7/7", 0), (("tqdm", "ipywidgets"), "", 1)],
    ids=["without tqdm", "with tqdm", "with widgets"],
)
def test_notebook_shows_lines_or_a_bar(
    tmp_path: Path, packages: tuple[str, ...], shown: str, bars: int
) -> None:
    found = outputs(tmp_path / "packages", *packages)

    text = "".join(each["content"].get("text", "") for each in found)
    assert shown in text if shown else text == ""
    assert sum(WIDGET in each["content"].get("data", {}) for each in found) == bars
