# SPDX-License-Identifier: Apache-2.0
"""Tests that each step of `make demo` prints what its text promises, on fewer rows."""

from __future__ import annotations

import importlib.util
import io
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.without("auto-compact", "deletion-vectors")

rich = pytest.importorskip("rich.console")  # the extra `demo` contains it

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"
SHOWN = {
    "1. ": [["version", "0", "hasDroppedOrRenamed", "=", "false"]],
    "2. ": [["3", "fare", "fare"], ["4", "tip", "tip"]],
    "3. ": [["hasDroppedOrRenamed", "=", "true"], ["3", "price", "fare"]],
    "4. ": [["5", "fare", r"col-[0-9a-f-]{36}"]],
    "5. ": [
        ["tracked-at-step-2", "trip", "600", "600"],
        ["tip", "300", "600"],
        ["tracked", "trip", "600", "600"],
        ["price", "0", "600"],
        ["fare", "600", "600"],
        ["untracked", "trip", "0", "600"],
    ],
    "6. ": [
        ["tracked-at-step-2", "True", "False", "0", "2", r"[\d.]+", "METADATA"],
        ["tracked", "True", "True", "2", "2", r"[\d.]+", "COPY"],
        ["untracked", "False", "None", "5", "2", r"[\d.]+", "COPY"],
    ],
    "7. ": [
        ["tracked-at-step-2", "0", "0", "0", "0.0"],
        ["tracked", "2", "2", "0", r"[\d.]+"],
        ["untracked", "2", "2", "0", r"[\d.]+"],
    ],
    "8. ": [
        *([f"{name}:", "0", "findings"] for name in ("tracked-at-step-2", "tracked", "untracked")),
        ["tracked-at-step-2", "trip", "600", "600"],
        ["fare", "600", "600"],
        ["tracked", "trip", "600", "600"],
        ["price", "600", "600"],
        ["fare", "0", "600"],
        ["untracked", "trip", "600", "600"],
        ["price", "600", "600"],
    ],
}


@pytest.fixture(scope="module")
def printed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns the output of each step by the start of the step's title."""
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    screen = io.StringIO()
    vars(demo).update(ROWS=300, console=rich.Console(file=screen, width=100))
    demo.story(spark, tmp_path_factory.mktemp("demo"))
    parts = re.split(r"^(\d\. )", screen.getvalue(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_demo_prints_all_steps(printed: dict[str, str]) -> None:
    assert list(printed) == list(SHOWN)


@pytest.mark.every_variant
@pytest.mark.parametrize("number", SHOWN)
def test_demo_step_prints_its_result(printed: dict[str, str], number: str) -> None:
    rows = (r"\b" + r"\s+".join(row) + r"\b" for row in SHOWN[number])

    assert re.search(r"[\s\S]*".join(rows), printed[number]), printed[number]
