# SPDX-License-Identifier: Apache-2.0
"""Hooks of hatchling: the bounds of Spark and Delta, the README, and the check of the jar.

A wheel or sdist without the jar, or with a jar of other sources, is refused, because a Python build
cannot start Maven. An editable install needs no jar, because `make jar` runs after it.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any, NoReturn

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

JAR = "spark_ext/jars/spark-ext.jar"
# Maps a folder of the jar to the folder of its sources and their patterns.
SOURCES = {
    "spark_ext/": ("spark_ext/", ("*.py", "*.json")),
    "META-INF/sources/": ("jars/src/main/", ("*.*",)),
}
RELEASES = "spark_ext/releases.json"
README = "README.md"


class ProjectHook(MetadataHookInterface):
    """Writes the requirements of the package and its README. pyproject.toml pins the extras."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Updates the `[project]` table. hatchling calls this method."""
        root = Path(self.root)
        metadata["dependencies"] = requirements(json.loads((root / RELEASES).read_text()))
        page = (root / README).read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        if repository is not None:
            page = with_links_to(repository, f"v{metadata['version']}", page)
        metadata["readme"] = {"content-type": "text/markdown", "text": page}


def with_links_to(repository: str, tag: str, page: str) -> str:
    """Returns a page for an index, whose links and pictures lead to the files of a repository."""
    pictures = re.sub(r"(!\[[^\]]*\])\((?!https?:)", rf"\1({repository}/raw/{tag}/", page)
    return re.sub(r"\]\((?!https?:|#)", f"]({repository}/blob/{tag}/", pictures)


def requirements(releases: dict[str, Any]) -> list[str]:
    """Returns the bounds: from the oldest release to the next minor, without refused releases.

    delta-spark declares which Spark it works with.
    """
    deltas, sparks = list(releases["deltas"]), list(releases["sparks"])
    without = [
        f"!={delta}" for delta in releases["refusedDeltas"] if numbers(delta) > numbers(deltas[0])
    ]
    delta = ",".join([f">={deltas[0]}", *without, f"<{next_minor(deltas[-1])}"])
    spark = f">={releases['sparks'][sparks[0]][0]},<{next_minor(sparks[-1])}"
    return [f"delta-spark{delta}", f"pyspark{spark}"]


def next_minor(version: str) -> str:
    """Returns the next minor release: 4.5 for 4.4 and for 4.4.1."""
    major, minor = numbers(version)[:2]
    return f"{major}.{minor + 1}"


def numbers(version: str) -> list[int]:
    """Returns the parts of a release, for comparison."""
    return [int(number) for number in version.split(".")]


class JarHook(BuildHookInterface[BuilderConfig]):
    """Checks the jar before hatchling packs any file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Ends the build if the jar is missing or stale. `version` is the target of hatchling."""
        if version == "editable":
            return
        root = Path(self.root)
        if not (root / JAR).is_file():
            refuse(f"`{JAR}` is missing", "make wheel")
        if differing := differing_sources(root):
            names = ", ".join(f"`{name}`" for name in differing)
            # `make wheel` would not help: make compares times and does not notice a deleted file.
            refuse(f"`{JAR}` has other sources in {names}", "make clean wheel")


def refuse(fact: str, command: str) -> NoReturn:
    """Ends the build, with a text that also helps in `pip install git+..`."""
    sys.exit(
        f"Cannot build spark-ext: {fact}. In a checkout, with a JDK 17 or later, run `{command}` "
        "and install `dist/*.whl`; pip alone cannot build the jar."
    )


def differing_sources(root: Path) -> list[str]:
    """Returns the sources that differ between the jar and the checkout, or exist in one only."""
    carried: dict[str, bytes] = {}
    names = set()
    with zipfile.ZipFile(root / JAR) as jar:
        for inside, (folder, patterns) in SOURCES.items():
            for pattern in patterns:
                found = (root / folder).rglob(pattern)
                names |= {path.relative_to(root).as_posix() for path in found}
            for entry in jar.namelist():
                if entry.startswith(inside) and not entry.endswith("/"):
                    carried[folder + entry.removeprefix(inside)] = jar.read(entry)
    return sorted(
        name for name in names | carried.keys() if carried.get(name) != content(root / name)
    )


def content(file: Path) -> bytes | None:
    """Returns the bytes of a file, or None if the file does not exist."""
    return file.read_bytes() if file.is_file() else None
