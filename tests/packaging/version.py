# SPDX-License-Identifier: Apache-2.0
"""Lists the places of the version, and decides whether a tag may be released.

Usage:
    python -m tests.packaging.version v0.1.0
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

CHECKOUT = Path(__file__).parents[2]
NOT_YET = "unreleased"
# The files that contain the version of this commit, with a pattern whose group is the version.
PLACES = {
    "spark_ext/version.py": r'^__version__ = "(.+)"$',
    "pyproject.toml": r'^version = "(.+)"$',
    "jars/pom.xml": r"^  <version>(.+)</version>$",
    "CHANGELOG.md": r"\A# Changelog\n\n## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$",
}
# The texts by which pages name the version: the wheel, and the coordinates of the jar.
NAMES = (
    r"spark_ext-(\d[\d.]*\d)-py3",
    r"io\.sparkext:spark-ext:(\d[\d.]*\d)",
    r"<artifactId>spark-ext</artifactId>\s*<version>(.+)</version>",
)


def stated() -> dict[str, list[str]]:
    """Returns the version of each place."""
    return {
        place: re.findall(pattern, (CHECKOUT / place).read_text(), re.MULTILINE)
        for place, pattern in PLACES.items()
    }


def named() -> dict[str, list[str]]:
    """Returns the versions that pages name."""
    pages = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
    return {
        page.name: [found for name in NAMES for found in re.findall(name, page.read_text())]
        for page in pages
    }


# Elements that Maven Central requires in a pom, and that name the repository or its owner.
OF_CENTRAL = ("url", "scm", "developers")
_POM = "{http://maven.apache.org/POM/4.0.0}"


def without_address(project: str, pom: str) -> Iterator[str]:
    """Yields what is missing about the repository and its owner."""
    if not re.search(r"^\[project\.urls\]\n(?:.+\n)*Repository = ", project, re.MULTILINE):
        yield "pyproject.toml has no Repository in [project.urls], to which README's links lead"
    found = ElementTree.fromstring(pom)
    if missing := [name for name in OF_CENTRAL if found.find(_POM + name) is None]:
        yield f"jars/pom.xml has no {', '.join(f'<{name}>' for name in missing)}"


def objections(tag: str, places: dict[str, list[str]], changelog: str) -> Iterator[str]:
    """Yields the reasons why this commit must not be released under a tag."""
    for place, versions in places.items():
        if [f"v{version}" for version in versions] != [tag]:
            yield f"{place} has {' and '.join(versions) or 'no version'}"
    heading = changelog.splitlines()[2]
    if NOT_YET in heading:
        yield f"CHANGELOG.md has `{heading}`; write the day there"


def main() -> None:
    (tag,) = sys.argv[1:]
    changelog = (CHECKOUT / "CHANGELOG.md").read_text()
    project = (CHECKOUT / "pyproject.toml").read_text()
    pom = (CHECKOUT / "jars" / "pom.xml").read_text()
    found = [*objections(tag, stated(), changelog), *without_address(project, pom)]
    if found:
        sys.exit(f"Cannot release {tag}: {'; '.join(found)}.")


if __name__ == "__main__":
    main()
