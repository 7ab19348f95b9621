# SPDX-License-Identifier: Apache-2.0
"""Tests that the workflows have only the rights they need, and publish what they tried.

`make lint` checks pins and caches by zizmor.
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.matrix.pairs import nightly
from tests.support.pages import CHECKOUT

WORKFLOWS = {file.stem: file for file in (CHECKOUT / ".github" / "workflows").glob("*.yml")}
MAKEFILE = (CHECKOUT / "Makefile").read_text()
# The permissions to write.
GRANTED = {
    "ci": set(),
    "nightly": set(),
    "release": {("publish", "id-token"), ("publish", "attestations")},
}


def loaded(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(WORKFLOWS[name].read_text())
    return found


@pytest.mark.parametrize("name", WORKFLOWS)
def test_steps_run_existing_targets_and_put_no_expression_into_a_shell(name: str) -> None:
    runs = [step.get("run", "") for job in loaded(name)["jobs"].values() for step in job["steps"]]
    # A Monday has every kind of command.
    script = "\n".join([*runs, *(nightly(date(2026, 11, 23)) if name == "nightly" else ())])

    targets = re.findall(r"\bmake (?:-\S+ )*([\w-]+)", script)
    assert [target for target in targets if f"\n.PHONY: {target}\n" not in MAKEFILE] == []
    # The value of an expression is data. A shell gets data as a variable.
    assert "${{" not in script


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflow_needs_no_secret_and_reads_only_except_in_named_jobs(name: str) -> None:
    workflow = loaded(name)

    assert "secrets" not in WORKFLOWS[name].read_text()
    assert workflow["permissions"] == {"contents": "read"}
    assert GRANTED[name] == {
        (job, permission)
        for job, described in workflow["jobs"].items()
        for permission, level in described.get("permissions", {}).items()
        if level != "read"
    }


def test_release_publishes_only_artifacts_built_and_tried_from_the_tag() -> None:
    jobs = loaded("release")["jobs"]
    run = {name: [step for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    files = [
        (name, step["uses"].split("-")[0], step["with"])
        for name in ("build", "try")
        for step in jobs[name]["steps"]
        if "-artifact" in step.get("uses", "")
    ]
    # `make release-try` expects the artifacts here.
    folder = Path(*re.findall(r"RELEASE=(\S+) ", MAKEFILE))

    assert run == {
        "build": [{"run": "make release-build", "env": {"TAG": "${{ github.ref_name }}"}}],
        "try": [{"run": "make release-try"}],
        # The job that signs runs neither our code nor our dependencies.
        "publish": [],
    }
    assert [(*each, with_.get("name"), with_["path"]) for *each, with_ in files] == [
        ("build", "actions/upload", "python", str(folder / "python")),
        ("build", "actions/upload", "maven", str(folder / "maven")),
        ("try", "actions/download", None, str(folder)),
    ]
    assert jobs["publish"]["needs"] == ["build", "try"]
    assert jobs["publish"]["environment"] == "release"
