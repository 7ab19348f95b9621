# SPDX-License-Identifier: Apache-2.0
"""Compares the locks in `.ci/`, which `make lock` writes, with the requirements."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.matrix.environment import pins, required_here, requirements
from tests.matrix.pairs import SHORT, WHOLE

CHECKOUT = Path(__file__).parents[2]
LOCKS = sorted((CHECKOUT / ".ci").glob("*.txt"))
LOCK = CHECKOUT / ".ci" / "requirements.txt"
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
# A machine of CI.
MACHINE = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}


def locked(file: Path) -> list[Requirement]:
    """Returns the requirements of a lock without the hashes."""
    entries = re.findall(r"^([a-z0-9].*?) \\$", file.read_text(), re.MULTILINE)
    return [Requirement(entry) for entry in entries]


def pinned(requirements: list[Requirement], environment: dict[str, str]) -> dict[str, str]:
    """Returns the versions of the requirements that apply in an environment."""
    return {
        canonicalize_name(requirement.name): str(requirement.specifier).removeprefix("==")
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate({**environment, "extra": ""})
    }


def extra(name: str) -> list[Requirement]:
    """Returns the requirements of an extra of pyproject.toml, including the extras it names."""
    found = []
    for requirement in map(Requirement, pyproject()["project"]["optional-dependencies"][name]):
        if requirement.name == "spark-ext":
            found += [pin for other in requirement.extras for pin in extra(other)]
        else:
            found.append(requirement)
    return found


def pyproject() -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
    loaded: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    return loaded


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.name)
def test_lock_contains_only_versions_with_hashes(file: Path) -> None:
    hashed = r"[\w.-]+==[\w.]+(?: ; [^\\]+)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+"

    assert re.fullmatch(rf"(?:{hashed})+", file.read_text())


@pytest.mark.parametrize("python", PYTHONS)
def test_lock_contains_the_pins_of_the_package(python: str) -> None:
    environment = {**MACHINE, "python_version": python, "python_full_version": f"{python}.0"}
    wanted = pinned(extra("dev"), environment)

    found = pinned(locked(LOCK), environment)

    assert {name: found.get(name) for name in wanted} == wanted, "run `make lock`"
    assert len(found) > len(wanted)


def test_lock_contains_exactly_the_requirements_of_this_environment() -> None:
    here = pinned(locked(LOCK), {"python_version": f"{sys.version_info[0]}.{sys.version_info[1]}"})

    assert required_here("spark-ext", "dev") - {"spark-ext"} == set(here)
    assert {name: version(name) for name in here} == here


def test_other_locks_have_the_same_versions() -> None:
    (sdists,) = locked(CHECKOUT / ".ci" / "sdists.txt")
    (client,) = locked(CHECKOUT / ".ci" / "client.txt")

    assert [str(sdists)] == [str(requirement) for requirement in extra("sdists")]
    assert client.name == "pyspark-client"
    assert str(client.specifier).removeprefix("==") == pinned(extra("demo"), MACHINE)["pyspark"]


def test_lock_of_pairs_contains_each_release() -> None:
    assert list(map(str, locked(CHECKOUT / ".ci" / "pairs.txt"))) == pins()


@pytest.mark.parametrize("pair", [*WHOLE, *SHORT])
def test_environment_of_a_pair_contains_its_requirements(pair: str) -> None:
    spark, delta = pair.split("+")
    needed = re.findall(r"^([\w.-]+)==", requirements(spark, delta), re.MULTILINE)

    assert required_here("spark-ext", "test") - {"spark-ext"} < set(needed)
    assert f"pyspark=={spark} " in requirements(spark, delta)
    assert f"delta-spark=={delta} " in requirements(spark, delta)


def test_unlisted_pair_has_no_locked_release() -> None:
    assert "spark==" not in requirements("99.0.0", "99.0.0")
