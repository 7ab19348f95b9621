# SPDX-License-Identifier: Apache-2.0
"""`make demo` says nothing of Ivy and Spark while all is well, and everything where it fails."""

from __future__ import annotations

import runpy
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("rich")  # of the extra `demo`

QUIET = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "demo.py"))["quiet"]
JVM = ["sh", "-c", "echo not found >&2"]


def test_what_a_program_says_is_shown_where_the_demo_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(subprocess.CalledProcessError), QUIET(tmp_path / "said"):
        subprocess.run([*JVM[:2], f"{JVM[2]}; false"], check=True)

    assert capfd.readouterr().err == "not found\n"


def test_it_is_not_shown_else(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with QUIET(tmp_path / "said"):
        subprocess.run(JVM, check=True)
    subprocess.run(["sh", "-c", "echo afterwards >&2"], check=True)

    assert capfd.readouterr().err == "afterwards\n"
