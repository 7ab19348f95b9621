# SPDX-License-Identifier: Apache-2.0
"""Tests that every place has the same version, and which tags are refused."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import spark_ext
from tests.packaging.version import (
    CHECKOUT,
    OF_CENTRAL,
    PLACES,
    named,
    objections,
    stated,
    without_address,
)
from tests.support.pages import blocks

pytestmark = pytest.mark.every_variant

VERSION = spark_ext.__version__
RELEASED = f"# Changelog\n\n## {VERSION} (2026-12-01)\n"


def test_every_place_has_the_version() -> None:
    assert stated() == {place: [VERSION] for place in PLACES}


def test_pages_name_the_version() -> None:
    found = named()

    assert {version for versions in found.values() for version in versions} == {VERSION}
    assert len(found["install.md"]) >= 4  # the wheel, two packages, one dependency
    assert found["README.md"] == [VERSION]


def test_readme_installs_the_package_by_name() -> None:
    index, _ = (block for block in blocks("README.md") if block.section == "Install")
    project = (CHECKOUT / "pyproject.toml").read_text()

    assert index.text.split()[:3] == ["pip", "install", "spark-ext"]
    assert '\nname = "spark-ext"\n' in project


def test_tag_is_refused_unless_every_place_has_its_version() -> None:
    def refusals(tag: str, places: dict[str, list[str]], changelog: str = RELEASED) -> list[str]:
        return [reason.split()[0] for reason in objections(tag, places, changelog)]

    tag = f"v{VERSION}"
    assert refusals(tag, stated()) == []
    for other in ("v9.9.9", VERSION, f"v{VERSION}.0", f"v{VERSION}-rc1", "v"):
        assert refusals(other, stated()) == list(PLACES)
    for place in PLACES:
        for versions in (["9.9.9"], [], [VERSION, "9.9.9"]):
            assert refusals(tag, {**stated(), place: versions}) == [place]
    not_yet = RELEASED.replace("2026-12-01", "unreleased")
    assert refusals(tag, stated(), not_yet) == ["CHANGELOG.md"]


# The addresses as an owner writes them. `test_wheel.py` shows the effect of `Repository`.
PROJECT = """[project.urls]
Changelog = "https://example.org/spark-ext/changes"
Repository = "https://example.org/spark-ext"
"""
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <url>https://example.org/spark-ext</url>
  <developers><developer><name>spark-ext</name></developer></developers>
  <scm><url>https://example.org/spark-ext</url></scm>
  <licenses><license><url>https://example.org/licence</url></license></licenses>
</project>"""


def test_tag_is_refused_unless_the_project_and_the_pom_name_a_repository() -> None:
    assert list(without_address(PROJECT, POM)) == []
    for name in OF_CENTRAL:
        (reason,) = without_address(PROJECT, re.sub(f"\n  <{name}>.*", "", POM))
        assert reason == f"jars/pom.xml has no <{name}>"
    (reason,) = without_address(PROJECT.replace("Repository", "Homepage"), POM)
    assert reason.startswith("pyproject.toml")


def test_command_refuses_the_tag_with_its_reasons() -> None:
    command = [sys.executable, "-m", "tests.packaging.version", "v9.9.9"]

    refused = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)

    assert refused.returncode == 1
    assert "Cannot release v9.9.9" in refused.stderr
    assert "Traceback" not in refused.stderr
