# SPDX-License-Identifier: Apache-2.0
"""Tests the command line before a session starts: help, versions and arguments."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from datetime import timedelta

import pytest

import spark_ext
from spark_ext import __main__ as command_line
from spark_ext.__main__ import main
from spark_ext.cli import arguments
from spark_ext.cli.commands import COMMANDS, Command

NAMES = [command.name for command in COMMANDS]


def printed_help(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Returns the text of an error in the arguments."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["no-such-command"], ["survey", "--json", "--all"]])
def test_wrong_arguments_have_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert refused(capsys, *arguments).startswith("usage: ")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_accepts_its_examples(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    shown = re.findall(r"^  spark-ext (.+)$", printed_help(capsys, command.name), re.MULTILINE)
    monkeypatch.setattr(Command, "add_to", _with_the_name_as_exit_code(Command.add_to))

    for line in shown:
        assert main(shlex.split(line)) == command.name  # type: ignore[comparison-overlap]
    assert shown == list(command.examples) != []


def _with_the_name_as_exit_code(add_to):  # type: ignore[no-untyped-def]
    def add(self, commands):  # type: ignore[no-untyped-def]
        add_to(self, commands)
        commands.choices[self.name].set_defaults(run=lambda chosen: chosen.command)

    return add


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    listed = re.findall(r"^    ([a-z][\w-]*)", printed_help(capsys), re.MULTILINE)

    assert listed == NAMES
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(
    ("redirection", "code"), [(">&-", 0), ("2>&-", 0), (">&- 2>&-", 0), (">/dev/full", 2)]
)
def test_command_without_standard_streams_has_its_exit_code(redirection: str, code: int) -> None:
    command = f"{shlex.quote(sys.executable)} -m spark_ext submit-args {redirection}"

    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)

    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert ("No space left" in done.stderr) == (code == 2)


def test_sample_is_a_number_from_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert "'-1' is not a number from 0" in refused(capsys, "audit", "t", "--sample", "-1")


def test_version_is_the_one_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out == f"spark-ext {spark_ext.__version__}\n"


@pytest.mark.parametrize(
    ("program", "shown"),
    [("/opt/spark_ext/__main__.py", "python -m spark_ext"), ("/usr/bin/spark-ext", "spark-ext")],
)
def test_usage_names_the_program_that_was_typed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, program: str, shown: str
) -> None:
    monkeypatch.setattr("sys.argv", [program])

    assert printed_help(capsys).startswith(f"usage: {shown} ")


def test_interrupted_command_has_the_exit_code_of_the_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(chosen: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "COMMANDS", (Command("jars", "", ("jars",), interrupted),))

    assert main(["jars"]) == 130


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("42B", 42),
        ("500GB", 500 * 10**9),
        ("500gb", 500 * 10**9),
        ("1.5 MiB", 3 * 2**19),
        ("0B", 0),
        ("2PB", 2 * 10**15),
        ("0.1kB", 100),
    ],
)
def test_size_is_bytes(text: str, expected: int) -> None:
    assert arguments.size(text) == expected


@pytest.mark.parametrize("text", ["", "500", "500g", "-1GB", "GB", "1e3GB", "5 G B", "٣GB"])
def test_size_refuses_other_texts(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="500GB"):
        arguments.size(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("6h", 21_600), ("1h30m", 5_400), ("45s", 45), ("1.5h", 5_400), ("2d", 172_800), ("0s", 0)],
)
def test_duration_is_a_timedelta(text: str, seconds: int) -> None:
    assert arguments.duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "6", "h", "-6h", "6 h", "6h30", "1w", "٣h", "9999999999d"])
def test_duration_refuses_other_texts(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="1h30m"):
        arguments.duration(text)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.0", "", "²"])
def test_count_refuses_other_texts(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="from 1"):
        arguments.count(text)
