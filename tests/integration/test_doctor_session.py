# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext doctor` as the install page has it, on a sound machine and another."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.install_page import block


def commands() -> list[str]:
    """What the section on doctor tells to run."""
    return block("When something does not work", "sh").splitlines()


def run(command: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    program, *arguments = shlex.split(command)
    assert program == "python"
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **environ},
    )


@pytest.mark.parametrize("command", commands())
# `spark` has fetched Delta's jars by then.
def test_a_command_of_the_install_page_finds_a_sound_machine(
    spark: SparkSession, command: str, tmp_path: Path
) -> None:
    done = run(command, tmp_path)

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert ("\nok       session " in done.stdout) == ("--session" in command)
    assert "problem  " not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_install_page_has_both_commands() -> None:
    assert len(commands()) == 2


def test_a_session_that_does_not_start_is_a_problem(tmp_path: Path) -> None:
    done = run("python -m spark_ext doctor --session --json", tmp_path, JAVA_HOME=str(tmp_path))

    found = {finding["check"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert done.returncode == 1
    assert found["java"]["status"] == found["session"]["status"] == "problem"
    assert str(tmp_path) in found["session"]["problem"]
