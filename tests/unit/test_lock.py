# SPDX-License-Identifier: Apache-2.0
"""Compares the locks in `.ci/`, which `make lock` writes, with the requirements."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.matrix.environment import pins, required_here

CI = Path(__file__).parents[2] / ".ci"
PYPROJECT = CI.with_name("pyproject.toml").read_text()
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
# A machine of CI.
MACHINE = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}


def locked(name: str) -> list[Requirement]:
    """Returns the requirements of a lock without the hashes."""
    entries = re.findall(r"^([a-z0-9].*?) \\$", (CI / name).read_text(), re.MULTILINE)
    return [Requirement(entry) for entry in entries]


def on_ci(python: str) -> dict[str, str]:
    return {**MACHINE, "python_version": python, "python_full_version": f"{python}.0"}


def pinned(requirements: list[Requirement], machine: dict[str, str]) -> dict[str, str]:
    """Returns the versions of the requirements that apply to a machine; {} is this one."""
    return {
        canonicalize_name(requirement.name): str(requirement.specifier).removeprefix("==")
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate({**machine, "extra": ""})
    }


def required() -> list[Requirement]:
    """Returns the pins of all extras of pyproject.toml."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
    extras = tomllib.loads(PYPROJECT)["project"]["optional-dependencies"].values()
    return [Requirement(pin) for pins in extras for pin in pins if "spark-ext[" not in pin]


@pytest.mark.parametrize("file", sorted(CI.glob("*.txt")), ids=lambda file: file.name)
def test_lock_contains_only_versions_with_hashes(file: Path) -> None:
    hashed = r"[\w.-]+==[\w.]+(?: ; [^\\]+)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+"

    assert re.fullmatch(rf"(?:{hashed})+", file.read_text())


@pytest.mark.parametrize("python", PYTHONS)
def test_lock_contains_the_pins_of_the_package(python: str) -> None:
    wanted = pinned(required(), on_ci(python))

    found = pinned(locked("requirements.txt"), on_ci(python))

    assert {name: found.get(name) for name in wanted} == wanted, "run `make lock`"
    assert len(found) > len(wanted) > 20


def test_lock_contains_exactly_the_requirements_of_this_environment() -> None:
    here = pinned(locked("requirements.txt"), {})

    assert required_here("spark-ext", "dev") - {"spark-ext"} == set(here)
    assert {name: version(name) for name in here} == here


def test_other_locks_have_the_versions_of_the_package_and_of_each_release() -> None:
    (sdists,), (client,) = locked("sdists.txt"), locked("client.txt")
    pyspark = pinned(locked("requirements.txt"), {})["pyspark"]

    assert sdists in required()
    assert str(client) == f"pyspark-client=={pyspark}"
    assert list(map(str, locked("pairs.txt"))) == pins()
