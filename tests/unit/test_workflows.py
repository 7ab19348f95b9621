# SPDX-License-Identifier: Apache-2.0
"""Tests that the workflows run existing programs, and have only the rights they need.

`make lint` checks pins and caches by zizmor.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.matrix.pairs import nightly
from tests.support.pages import CHECKOUT

FOLDER = CHECKOUT / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").glob("*.yml"))
MAKEFILE = (CHECKOUT / "Makefile").read_text()
# `make release-try` expects the artifacts here.
OF_RELEASE = Path(*re.findall(r"RELEASE=(\S+) ", MAKEFILE))
# The commands that `pairs.py` prints. A Monday has every kind of command.
OF_THE_NIGHT = 'bash -c "$COMMAND"'
MONDAY = date(2026, 11, 23)
# Programs that a step may run besides `make` and our modules.
SHELL = {"mkdir", "printf", "echo", "exit"}


def loaded(file: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(file.read_text())
    return found


def steps(file: Path) -> Iterator[dict[str, Any]]:
    workflow = loaded(file)
    for job in workflow.get("jobs", {"": workflow.get("runs")}).values():
        yield from job["steps"]


FILES = [*WORKFLOWS, *FOLDER.glob("actions/*/action.yml")]


def every(key: str) -> list[Any]:
    """Returns the value of a key of every step that has the key."""
    return [
        pytest.param(step[key], id=f"{file.stem}-{number}")
        for file in FILES
        for number, step in enumerate(steps(file))
        if key in step
    ]


def commands(script: str) -> Iterator[list[str]]:
    """Yields the commands of a step, including the commands inside `$(..)`."""
    inner = re.findall(r"\$\((.+?)\)", script)
    outer = re.sub(r"\w+=\$\(.+?\)", "true", script)
    for text in [*inner, *re.split(r"&&|\|\||;|\n", outer)]:
        words = shlex.split(text)
        if words and words != ["true"]:
            yield words


def assert_is_there(command: list[str]) -> None:
    program, *arguments = command
    if program == "make":
        targets = [word for word in arguments if "=" not in word and not word.startswith("-")]
        names = [word.partition("=")[0] for word in arguments if "=" in word]
        assert targets != []
        for target in targets:
            assert f"\n.PHONY: {target}\n" in MAKEFILE
        for name in names:
            assert re.search(rf"^{name} \?=", MAKEFILE, re.MULTILINE)
    elif program == "python":
        flag, module = arguments[:2]
        assert flag == "-m"
        assert (CHECKOUT / (module.replace(".", "/") + ".py")).is_file()
    else:
        assert program in SHELL


@pytest.mark.parametrize("script", every("run"))
def test_steps_run_existing_programs(script: str) -> None:
    if script == OF_THE_NIGHT:
        script = "\n".join(nightly(MONDAY))
    # The value of an expression is data. A shell gets data as a variable.
    assert "${{" not in script
    for command in commands(script):
        assert_is_there(command)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflow_needs_no_secret_and_reads_only_except_in_named_jobs(file: Path) -> None:
    workflow = loaded(file)
    granted = {
        (name, permission)
        for name, job in workflow["jobs"].items()
        for permission, level in job.get("permissions", {}).items()
        if level != "read"
    }

    assert "secrets" not in file.read_text()
    assert workflow["permissions"] == {"contents": "read"}
    assert (
        granted
        == {
            "ci": set(),
            "nightly": set(),
            "release": {("publish", "id-token"), ("publish", "attestations")},
        }[file.stem]
    )


def test_release_publishes_only_artifacts_built_and_tried_from_the_tag() -> None:
    release = loaded(FOLDER / "workflows" / "release.yml")["jobs"]
    run = {name: [step for step in job["steps"] if "run" in step] for name, job in release.items()}
    built = {
        step["with"]["name"]: step["with"]["path"]
        for step in release["build"]["steps"]
        if "upload" in step.get("uses", "")
    }

    assert run == {
        "build": [{"run": "make release-build", "env": {"TAG": "${{ github.ref_name }}"}}],
        "try": [{"run": "make release-try"}],
        # The job that signs runs neither our code nor our dependencies.
        "publish": [],
    }
    assert built == {name: str(OF_RELEASE / name) for name in ("python", "maven")}
    assert fetched_to("try") == str(OF_RELEASE)
    assert release["publish"]["needs"] == ["build", "try"]
    assert release["publish"]["environment"] == "release"


def fetched_to(job: str) -> str:
    """Returns the folder to which a job downloads the artifacts of `build`."""
    (fetched,) = (
        step["with"]
        for step in loaded(FOLDER / "workflows" / "release.yml")["jobs"][job]["steps"]
        if "download" in step.get("uses", "")
    )
    assert set(fetched) == {"path"}
    folder: str = fetched["path"]
    return folder
