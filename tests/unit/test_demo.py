# SPDX-License-Identifier: Apache-2.0
"""Tests that `make demo` shows the output of Ivy and Spark only if it fails."""

from __future__ import annotations

import runpy
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("rich")  # the extra `demo` contains it

QUIET = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "demo.py"))["quiet"]
JVM = ["sh", "-c", "echo not found >&2"]


def test_output_of_programs_is_shown_when_the_demo_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(subprocess.CalledProcessError), QUIET(tmp_path / "output"):
        subprocess.run([*JVM[:2], f"{JVM[2]}; false"], check=True)

    assert capfd.readouterr().err == "not found\n"


def test_output_of_programs_is_hidden_when_the_demo_succeeds(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with QUIET(tmp_path / "output"):
        subprocess.run(JVM, check=True)
    subprocess.run(["sh", "-c", "echo afterwards >&2"], check=True)

    assert capfd.readouterr().err == "afterwards\n"
