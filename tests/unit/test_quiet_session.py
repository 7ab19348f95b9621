# SPDX-License-Identifier: Apache-2.0
"""Tests that a command shows what Ivy and Spark print at the start only if the start fails."""

from __future__ import annotations

import subprocess
import time

import pytest

from spark_ext.cli.session import quiet_unless_it_fails
from tests.support.waiting import wait_until

JVM = ["sh", "-c", "echo resolved >&2; echo; read line; echo $line >&2"]


def test_output_of_the_start_is_hidden_and_later_output_is_shown(
    capfd: pytest.CaptureFixture[str],
) -> None:
    shown: list[str] = []

    def has_failed() -> bool:
        shown.append(capfd.readouterr().err)
        return "failed" in "".join(shown)

    with quiet_unless_it_fails():
        jvm = subprocess.Popen(JVM, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert jvm.stdout is not None
        jvm.stdout.readline()
        time.sleep(0.5)  # a session starts later too
    jvm.communicate(b"task failed\n")
    wait_until(has_failed, "the later output")

    assert "".join(shown) == "task failed\n"


def test_output_of_the_start_is_shown_when_the_start_fails(
    capfd: pytest.CaptureFixture[str],
) -> None:
    command = [*JVM[:2], f"{JVM[2]}; false"]

    with pytest.raises(subprocess.CalledProcessError), quiet_unless_it_fails():
        subprocess.run(command, input=b"not found\n", check=True)

    assert capfd.readouterr().err == "resolved\nnot found\n"
