# SPDX-License-Identifier: Apache-2.0
"""Fetches artifacts of Maven Central for these tests once into `.maven/`, by PySpark's Ivy.

Ivy has a separate cache. Maven would fetch more plugins than artifacts, and `make test` fills its
repository at the same time.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyspark

CHECKOUT = Path(__file__).parents[2]
FETCHED = CHECKOUT / ".maven" / "tests"
ATTEMPTS = 3

IVY_FILE = """\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="io.sparkext" module="tests"/>
  <dependencies defaultconf="default">
    {dependencies}
  </dependencies>
</ivy-module>
"""


def alone(coordinates: str) -> str:
    """Returns an artifact without dependencies: `group:name:version`, and perhaps a classifier."""
    group, name, version, *classifier = coordinates.split(":")
    artifact = (
        f'<artifact name="{name}" type="jar" ext="jar" m:classifier="{classifier[0]}"/>'
        if classifier
        else ""
    )
    return (
        f'<dependency org="{group}" name="{name}" rev="{version}" transitive="false">'
        f"{artifact}</dependency>"
    )


def whole(coordinates: str) -> str:
    """Returns an artifact with its dependencies."""
    group, name, version = coordinates.split(":")
    return f'<dependency org="{group}" name="{name}" rev="{version}"/>'


def without(group: str) -> str:
    """Excludes a group that Spark contains."""
    return f'<exclude org="{group}"/>'


def jars(name: str, dependencies: Sequence[str]) -> list[Path]:
    """Returns the jars of dependencies in a folder that is complete or does not exist.

    Args:
        name: The name of the folder. Other dependencies need another name.
        dependencies: The results of `alone`, `whole` and `without`, in this order.
    """
    folder = FETCHED / name
    FETCHED.mkdir(parents=True, exist_ok=True)
    with (FETCHED / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # processes of pytest-xdist fetch at the same time
        if not folder.exists():
            _fetch(folder, "\n    ".join(dependencies))
    return sorted(folder.glob("*.jar"))


def _fetch(folder: Path, dependencies: str) -> None:
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory(dir=FETCHED) as work:
            ivy = Path(work, "ivy.xml")
            ivy.write_text(IVY_FILE.format(dependencies=dependencies))
            command = [*_ivy(), "-ivy", str(ivy), "-cache", f"{work}/cache", "-types", "jar"]
            command += ["-confs", "default"]
            command += ["-retrieve", f"{work}/jars/[artifact]-[revision].[ext]"]
            shown = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            if shown.returncode == 0:
                Path(work, "jars").rename(folder)
                return
    raise AssertionError(f"Cannot fetch {folder.name} in {ATTEMPTS} attempts:\n{shown.stdout}")


def _ivy() -> list[str]:
    (ivy,) = Path(pyspark.__file__).parent.glob("jars/ivy-*.jar")
    settings = CHECKOUT / "jars" / "ivysettings.xml"
    return [java(), "-jar", str(ivy), "-settings", str(settings)]


def java() -> str:
    """Returns the Java executable that Spark would use."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    assert found is not None, "no `java` on the PATH"
    return found
