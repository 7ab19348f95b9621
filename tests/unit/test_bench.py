# SPDX-License-Identifier: Apache-2.0
"""Tests that `make bench` offers every bench, and that `--proof` checks tables before removal."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.golden_tables import placed

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


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("flag_true", "1 tables, 0 findings False"),
        ("broken_flag_value", "1 tables, 1 findings True"),
        ("", "0 tables, 0 findings True"),
    ],
)
def test_proof_checks_a_table_before_a_bench_removes_the_table(
    tmp_path: Path, name: str, printed: str
) -> None:
    folder = placed(tmp_path / "golden") / name if name else tmp_path / "empty"
    folder.mkdir(exist_ok=True)
    command = (
        "import sys; from pathlib import Path; from proved import PROOF, discard;"
        "PROOF.is_wanted = True; discard(Path(sys.argv[1])); print(PROOF.is_failed())"
    )

    found = subprocess.run(
        [sys.executable, "-c", command, folder],
        cwd=BENCH,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()

    assert f"{found[0]} {found[-1]}" == printed
    assert not folder.exists()
