# SPDX-License-Identifier: Apache-2.0
"""Tests that the workflows parse, run existing programs, and have only the rights they need."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.matrix.nightly import jobs
from tests.matrix.tested import FAILED
from tests.support.pages import CHECKOUT

FOLDER = CHECKOUT / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").glob("*.yml"))
NIGHTLY = FOLDER / "workflows" / "nightly.yml"
MAKEFILE = (CHECKOUT / "Makefile").read_text()
# `make release-try` expects the artifacts here.
OF_RELEASE = Path(*re.findall(r"RELEASE=(\S+) ", MAKEFILE))
# A commit, followed by its release in a comment.
PIN = re.compile(r"uses: ([^\s@]+)@([0-9a-f]{40}  # v\d+\.\d+\.\d+)$", re.MULTILINE)
# The jobs that `nightly.py` prints. A Monday has every kind of job.
OF_THE_NIGHT = "${{ matrix.job.command }}"
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


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_actions_are_pinned_or_ours(file: Path) -> None:
    used = [step["uses"] for step in steps(file) if "uses" in step]
    ours = [action for action in used if action.startswith("./")]

    assert len(used) == len(ours) + len(PIN.findall(file.read_text()))
    assert all((CHECKOUT / action / "action.yml").is_file() for action in ours)


@pytest.mark.parametrize("script", every("run"))
def test_steps_run_existing_programs(script: str) -> None:
    if script == OF_THE_NIGHT:
        script = "\n".join(job.command for job in jobs(MONDAY, ["4.3.0+4.5.0"]))
    # The value of an expression is data. A shell gets data as a variable.
    assert "${{" not in script
    for command in commands(script):
        assert_is_there(command)


def test_actions_have_one_pin() -> None:
    used = PIN.findall("".join(file.read_text() for file in FILES))

    assert len(dict(used)) == len(set(used)) > 5


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
            "nightly": {("report", "issues")},
            "release": {("publish", "id-token"), ("publish", "attestations")},
        }[file.stem]
    )


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_jobs_need_existing_jobs_and_have_a_time_limit(file: Path) -> None:
    found = loaded(file)["jobs"]

    for job in found.values():
        needed = job.get("needs", [])
        assert {*([needed] if isinstance(needed, str) else needed)} <= set(found)
        assert job["timeout-minutes"] <= 300


def test_nightly_jobs_write_the_names_of_failed_tests() -> None:
    (kept,) = (step["with"] for step in steps(NIGHTLY) if "upload" in step.get("uses", ""))

    assert str(FAILED.relative_to(CHECKOUT)) in kept["path"].split()
    for job in jobs(MONDAY, ["4.3.0+4.5.0"]):
        make = [*shlex.split(job.command), "--dry-run", "--no-print-directory"]
        printed = subprocess.run(make, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE, text=True)
        assert re.search(r"python -m tests\.matrix(\.tested tests\S*)? ", printed.stdout), job.name


def test_only_nightly_has_a_schedule_and_only_a_tag_releases() -> None:
    # YAML reads the key `on` as true.
    triggers: dict[str, Any] = {file.stem: loaded(file)[True] for file in WORKFLOWS}

    assert "schedule" not in triggers["ci"]
    assert set(triggers["nightly"]) == {"schedule", "workflow_dispatch"}
    assert triggers["release"] == {"push": {"tags": ["v*"]}}


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


def test_published_files_are_attested() -> None:
    published = loaded(FOLDER / "workflows" / "release.yml")["jobs"]["publish"]["steps"]
    _, attest, publish = (step["with"] for step in published)
    folder = fetched_to("publish")

    assert attest["subject-path"].split() == [
        f"{folder}/python/*",
        f"{folder}/maven/**/*.jar",
        f"{folder}/maven/**/*.pom",
    ]
    assert publish == {"packages-dir": f"{folder}/python"}


def test_release_uses_no_cache() -> None:
    steps_of_release = steps(FOLDER / "workflows" / "release.yml")
    set_ups = [step for step in steps_of_release if "set-up" in step.get("uses", "")]

    assert [step["with"] for step in set_ups] == [{"cache": "false"}] * 2


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
