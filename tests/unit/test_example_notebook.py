# SPDX-License-Identifier: Apache-2.0
"""Tests that the committed notebook is valid, executed, and independent of a machine."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import nbformat
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT = (EXAMPLES / "lakehouse.ipynb").read_text()
CELLS: dict[str, Any] = {cell["id"]: cell for cell in json.loads(TEXT)["cells"]}
CODE = {name: cell for name, cell in CELLS.items() if cell["cell_type"] == "code"}


def test_notebook_is_valid() -> None:
    nbformat.validate(nbformat.reads(TEXT, as_version=nbformat.NO_CONVERT))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client")
def test_cells_are_those_of_the_script() -> None:
    maker = runpy.run_path(str(EXAMPLES / "make_notebook.py"))

    sources = {name: "".join(cell["source"]) for name, cell in CELLS.items()}
    assert sources == {name: source.strip() for name, source in maker["CELLS"].items()}


def test_cells_were_executed_in_order_and_show_results_as_html() -> None:
    counts = [cell["execution_count"] for cell in CODE.values()]
    outputs = [output for cell in CODE.values() for output in cell["outputs"]]

    assert counts == list(range(1, len(CODE) + 1))
    assert {output["output_type"] for output in outputs} == {"execute_result"}
    shown = ["".join(output["data"]["text/html"]) for output in outputs]
    assert [html for html in shown if not html.startswith(("<table", "<p>"))] == [] != shown


def test_notebook_names_no_machine() -> None:
    results = json.dumps([cell["outputs"] for cell in CODE.values()])

    assert re.findall(r"file:|//|(?<![\w<.])/\w+/|\b\d+(?:\.\d+){3}\b", results) == []
