# SPDX-License-Identifier: Apache-2.0
"""Tests a Jupyter kernel, and the notebook in examples/."""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

from tests.support.install_page import block
from tests.ways_in.place import Place
from tests.ways_in.shells import SECONDS, environment
from tests.ways_in.tracked import NAMES, REFUSED, SET_FLAG, assert_tracked, statements

EXAMPLES = Path(__file__).parents[2] / "examples"


class Notebook:
    """Runs cells one after the other."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def run(self, cell: str) -> str:
        """Returns the output of a cell."""
        printed = []

        def output(message: dict[str, Any]) -> None:
            if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
                printed.append(message["content"]["text"])

        reply = self.client.execute_interactive(cell, output_hook=output, timeout=SECONDS)
        assert reply["content"]["status"] == "ok", reply["content"]
        return "".join(printed)


@pytest.fixture
def notebook(place: Place) -> Iterator[Notebook]:
    manager, client = start_new_kernel(cwd=str(place.directory), env=environment(**place.variables))
    yield Notebook(client)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.matrix
@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client")
def test_cells_of_a_notebook_track_a_table(place: Place, notebook: Notebook) -> None:
    start = block("From Python", "python", "import spark_ext")
    for name in ("t", "again"):
        notebook.run(start)
        notebook.run(f"for statement in {statements(table=name)!r}:\n    spark.sql(statement)")
        named = notebook.run(f"print(*spark.sql({NAMES.format(t=name)!r}).head())")
        notebook.run("from pyspark.errors import AnalysisException")
        refused = notebook.run(
            f"try:\n    spark.sql({SET_FLAG.format(t=name)!r})\n"
            "except AnalysisException as error:\n    print(error.getCondition())"
        )
        notebook.run("spark.stop()")

        assert (named.strip(), refused.strip()) == ("d a", REFUSED)
        assert_tracked(place.log(name))


@pytest.mark.matrix
@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client")
def test_example_notebook_shows_its_results(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(os.environ) - environment().keys():
        monkeypatch.delenv(name)
    maker = runpy.run_path(str(EXAMPLES / "make_notebook.py"))
    shown = json.loads((EXAMPLES / "lakehouse.ipynb").read_text())

    made = maker["executed"]()

    assert maker["comparable"](made) == maker["comparable"](shown)
