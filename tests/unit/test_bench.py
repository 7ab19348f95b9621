# SPDX-License-Identifier: Apache-2.0
"""Tests that `make bench` offers every bench."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rich")  # the extra `demo` contains it

BENCH = Path(__file__).parents[2] / "bench"


def has_run(file: Path) -> bool:
    """Returns whether a module is a bench."""
    body = ast.parse(file.read_text()).body
    return any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in body)


def test_make_bench_offers_every_bench() -> None:
    benches = {file.stem.replace("_", "-") for file in BENCH.glob("*.py") if has_run(file)}

    command = [sys.executable, "-c", "from run import BENCHES; print(*BENCHES)"]
    offered = subprocess.run(command, cwd=BENCH, capture_output=True, text=True, check=True).stdout

    assert set(offered.split()) == benches != set()
