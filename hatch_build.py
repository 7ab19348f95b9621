# SPDX-License-Identifier: Apache-2.0
"""Refuses a wheel or sdist without the jar, or with the jar of other sources.

Maven builds the jar, and a Python build can't start it. An editable install may come before the
jar: `make jar` takes its Ivy from there.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any, NoReturn

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

JAR = "spark_ext/jars/spark-ext.jar"
# What the jar is built from, by the folder that it carries it in, and which files there at least.
SOURCES = {
    "spark_ext/": ("spark_ext/", ("*.py", "*.json")),
    "META-INF/sources/": ("jars/src/main/", ("*.*",)),
}


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
