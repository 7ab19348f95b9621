# SPDX-License-Identifier: Apache-2.0
"""Finds released pairs that `spark_ext/releases.json` does not list.

pip lists the releases. Maven reports which Delta has a jar for which line of Spark, and fetches
that jar for the tests of the pair.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from packaging.version import Version

from spark_ext.launch.releases import RELEASES

CHECKOUT = Path(__file__).parents[2]
DELTAS = CHECKOUT / "jars" / "target" / "delta"
LISTED = "Available versions: "
# Takes a release of Delta and a line of Spark, and returns whether a jar exists.
HasJar = Callable[[str, str], bool]


def unlisted(sparks: Iterable[str], deltas: Iterable[str], has_jar: HasJar) -> Iterator[str]:
    """Yields the newest pair of each line of Spark, if the list lacks one of its two releases.

    Args:
        sparks: All releases of Spark.
        deltas: All releases of Delta.
        has_jar: Returns whether Maven finds a jar.
    """
    oldest = Version(next(iter(RELEASES["sparks"])))
    newest_known = Version(list(RELEASES["deltas"])[-1])
    recent = [delta for delta in descending(deltas) if Version(delta) >= newest_known]
    lines: dict[str, str] = {}
    for spark in descending(sparks):
        lines.setdefault(line_of(spark), spark)
    for line, spark in lines.items():
        if Version(line) < oldest:
            continue
        delta = next((delta for delta in recent if has_jar(delta, line)), None)
        listed = spark in RELEASES["sparks"].get(line, ()) and delta in RELEASES["deltas"]
        if delta is not None and not listed:
            yield f"{spark}+{delta}"


def descending(releases: Iterable[str]) -> list[str]:
    """Returns the final releases, the newest first."""
    final = (release for release in releases if not Version(release).is_prerelease)
    return sorted(final, key=Version, reverse=True)


def line_of(spark: str) -> str:
    """Returns the line of a release: 4.2 for 4.2.1."""
    return ".".join(spark.split(".")[:2])


def released(package: str) -> list[str]:
    """Returns all releases of a package that pip finds."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "index", "versions", package]
    printed = subprocess.run(pip, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = [line for line in printed.splitlines() if line.startswith(LISTED)]
    if len(found) != 1:
        raise ValueError(f"Cannot read the versions of {package}: pip says\n{printed}")
    return found[0].removeprefix(LISTED).split(", ")


def delta_jar(delta: str, line: str) -> Path:
    """Returns the path of the jar of Delta with which the tests run."""
    return DELTAS / f"delta-spark_{line}_{RELEASES['scala']}-{delta}.jar"


def fetch_delta_jar(delta: str, line: str, maven: list[str]) -> bool:
    """Fetches the jar of Delta for the tests, and returns whether Maven found the jar."""
    jar = delta_jar(delta, line)
    if not jar.exists():
        name = f"delta-spark_{line}_{RELEASES['scala']}"
        copy = ["dependency:copy", f"-Dartifact=io.delta:{name}:{delta}"]
        command = [*maven, "-U", *copy, f"-DoutputDirectory={DELTAS}"]
        copied = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
        missing = f"Could not find artifact io.delta:{name}:jar:{delta}"
        if copied.returncode != 0 and missing not in copied.stdout:
            raise ValueError(f"Cannot find out whether {name} {delta} exists:\n{copied.stdout}")
    return jar.exists()
