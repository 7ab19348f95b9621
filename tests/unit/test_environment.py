# SPDX-License-Identifier: Apache-2.0
"""Tests that the environment of a pair is made once, and again when its inputs change."""

from __future__ import annotations

import shutil
import venv
from collections.abc import Callable
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest

from tests.matrix import environment
from tests.matrix.environment import make_environment
from tests.matrix.pairs import DEFAULT

SPARK, DELTA = DEFAULT.split("+")
# Reads the metadata of many packages. No test changes its result.
required_here = cache(environment.required_here)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Returns a function that makes the environment without pip and returns what was installed."""
    shutil.copytree(environment.LOCKS, tmp_path / "locks")
    monkeypatch.setattr(environment, "LOCKS", tmp_path / "locks")
    monkeypatch.setattr(environment, "required_here", required_here)
    installed: list[str] = []

    def create(home: Path, **_: Any) -> None:
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()

    monkeypatch.setattr(venv, "create", create)
    monkeypatch.setattr(environment, "install", lambda _, *what: installed.append(str(what[-1])))

    def make() -> list[str]:
        installed.clear()
        make_environment(tmp_path / "home", SPARK, DELTA)
        return list(installed)

    return make


def another_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "python_version", lambda: "3.99.0")


def another_builder_of_sdists(_: pytest.MonkeyPatch) -> None:
    change_hash("sdists.txt", "setuptools")


def another_spark(_: pytest.MonkeyPatch) -> None:
    change_hash("pairs.txt", f"pyspark=={SPARK}")


def another_library(_: pytest.MonkeyPatch) -> None:
    change_hash("requirements.txt", "chispa")


def another_requirement_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds a requirement that changes no other installed package."""

    def changed(package: str) -> list[str]:
        return [*(requires(package) or []), *(["pytest>=1"] if package == "spark-ext" else [])]

    monkeypatch.setattr(environment, "requires", changed)


def change_hash(file: str, pin: str) -> None:
    """Changes the first hash of a release."""
    lock = environment.LOCKS / file
    before, entry, after = lock.read_text().partition(f"\n{pin}" if file != "sdists.txt" else pin)
    lock.write_text(before + entry + after.replace("--hash=sha256:", "--hash=sha256:0", 1))


def test_environment_is_made_once(made: Callable[[], list[str]]) -> None:
    assert made()[-1] == str(environment.CHECKOUT)

    assert made() == []


@pytest.mark.parametrize(
    "change",
    [
        another_python,
        another_builder_of_sdists,
        another_spark,
        another_library,
        another_requirement_of_ours,
    ],
)
def test_environment_is_made_again_when_its_inputs_change(
    made: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[pytest.MonkeyPatch], None],
) -> None:
    first = made()
    change(monkeypatch)

    assert len(made()) == len(first) > 0
    assert made() == []


def test_environment_is_made_again_when_it_was_interrupted(
    made: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = environment.install

    def interrupted(python: Path, *what: str | Path) -> None:
        if what[-1] == environment.CHECKOUT:
            raise KeyboardInterrupt
        whole(python, *what)

    monkeypatch.setattr(environment, "install", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made()
    monkeypatch.setattr(environment, "install", whole)

    assert made()[-1] == str(environment.CHECKOUT)
