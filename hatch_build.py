# SPDX-License-Identifier: Apache-2.0
"""What hatchling asks of us: bounds of Spark and Delta, the README, and a jar of the sources.

A wheel or sdist without the jar, or with the jar of other sources, is refused. Maven builds the
jar, and a Python build can't start it. An editable install may come before the jar: `make jar`
takes its Ivy from there.
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
# What the jar is built from, by the folder that it carries it in, and which files there at least.
SOURCES = {
    "spark_ext/": ("spark_ext/", ("*.py", "*.json")),
    "META-INF/sources/": ("jars/src/main/", ("*.*",)),
}
RELEASES = "spark_ext/releases.json"
README = "README.md"


class ProjectHook(MetadataHookInterface):
    """Fills in what the package requires, and its page; the extras pin in pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling; what is put into `metadata` is `[project]`'s."""
        root = Path(self.root)
        metadata["dependencies"] = requirements(json.loads((root / RELEASES).read_text()))
        page = (root / README).read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        if repository is not None:
            page = with_links_to(f"{repository}/blob/v{metadata['version']}", page)
        metadata["readme"] = {"content-type": "text/markdown", "text": page}


def with_links_to(files: str, page: str) -> str:
    """A page on an index, where no file is beside it: its links lead to a repository's files."""
    return re.sub(r"\]\((?!https?:|#)", f"]({files}/", page)


def requirements(releases: dict[str, Any]) -> list[str]:
    """From the oldest release that works to the next minor, without those that are refused.

    Which Delta has jars for which Spark, Delta says itself.
    """
    deltas, sparks = list(releases["deltas"]), list(releases["sparks"])
    without = [
        f"!={delta}" for delta in releases["refusedDeltas"] if numbers(delta) > numbers(deltas[0])
    ]
    delta = ",".join([f">={deltas[0]}", *without, f"<{next_minor(deltas[-1])}"])
    spark = f">={releases['sparks'][sparks[0]][0]},<{next_minor(sparks[-1])}"
    return [f"delta-spark{delta}", f"pyspark{spark}"]


def next_minor(version: str) -> str:
    """4.5 of 4.4 and of 4.4.1."""
    major, minor = numbers(version)[:2]
    return f"{major}.{minor + 1}"


def numbers(version: str) -> list[int]:
    """The parts of a release, to compare it by."""
    return [int(number) for number in version.split(".")]


class JarHook(BuildHookInterface[BuilderConfig]):
    """Looks at the jar before anything is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Ends the build where the jar is missing or stale; `version` is what hatchling builds."""
        if version == "editable":
            return
        root = Path(self.root)
        if not (root / JAR).is_file():
            refuse(f"`{JAR}` is missing", "make wheel")
        if differing := differing_sources(root):
            names = ", ".join(f"`{name}`" for name in differing)
            # Not `make wheel`: make goes by times, and sees no file that is gone.
            refuse(f"`{JAR}` has other sources in {names}", "make clean wheel")


def refuse(fact: str, command: str) -> NoReturn:
    """Ends the build. It may be one of `pip install git+..`, in a checkout that nobody sees."""
    sys.exit(
        f"Cannot build spark-ext: {fact}. In a checkout, with a JDK 17 or later, run `{command}` "
        "and install `dist/*.whl`; pip alone cannot build the jar."
    )


def differing_sources(root: Path) -> list[str]:
    """The sources that the jar carries otherwise, or that only one of the two has."""
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
    """The bytes of a file; None where there is none."""
    return file.read_bytes() if file.is_file() else None
