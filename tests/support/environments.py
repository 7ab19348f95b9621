# SPDX-License-Identifier: Apache-2.0
"""Makes virtual environments outside the checkout, and a shell without a JDK's compiler."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.support import class_archive

# The modules of a Java runtime without a JDK, as vendors package it.
RUNTIME_MODULES = (
    "java.se,jdk.charsets,jdk.crypto.ec,jdk.httpserver,jdk.incubator.vector,jdk.jfr,"
    "jdk.localedata,jdk.management,jdk.naming.dns,jdk.net,jdk.security.auth,jdk.security.jgss,"
    "jdk.unsupported,jdk.zipfs"
)


@dataclass(frozen=True)
class Environment:
    """Contains a virtual environment without pip. The pip of the tests works on it."""

    home: Path

    @property
    def python(self) -> Path:
        return self.home / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        (folder,) = self.home.glob("lib/python*/site-packages")
        return folder

    def contents(self) -> set[str]:
        """Returns all files and folders, except those behind links."""
        return {
            os.path.relpath(os.path.join(folder, name), self.home)
            for folder, folders, files in os.walk(self.home)
            for name in [*folders, *files]
        }

    def pip(self, *arguments: str | Path) -> str:
        return run(sys.executable, "-m", "pip", "--python", self.python, *arguments, cwd=self.home)

    def shell_programs(self) -> str:
        """Returns a shell's PATH with `python` and `pip` of this environment."""
        pip = self.home / "bin" / "pip"
        pip.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pip --python "{self.python}" "$@"\n')
        pip.chmod(0o755)
        return f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"


def environment_for(wheel: Path, home: Path) -> Environment:
    """Makes an environment with the packages that the wheel requires, and no others.

    The packages are links to those of the tests, because PySpark has half a gigabyte.
    """
    venv.create(home, symlinks=True)
    environment = Environment(home)
    for required in _required(metadata_of(wheel)):
        folder = Path(str(required.locate_file("")))
        names = {file.parts[0] for file in required.files or []} - {"..", "__pycache__"}
        # The egg-info of an older pip does not list itself.
        about = f"{required.metadata['Name'].replace('-', '_')}-{required.version}*"
        for part in {*(folder / name for name in names), *folder.glob(about)}:
            link = environment.site_packages / part.name
            if part.exists() and not link.exists():
                link.symlink_to(part)
    return environment


def metadata_of(wheel: Path) -> Distribution:
    folders = zipfile.Path(wheel).iterdir()
    (folder,) = (folder for folder in folders if folder.name.endswith(".dist-info"))
    return PathDistribution(folder)


def requirements(package: Distribution, extra: str = "") -> Iterator[Requirement]:
    """Yields the direct requirements of a package here, with or without an extra."""
    for requirement in map(Requirement, package.requires or []):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def _required(package: Distribution) -> Iterator[Distribution]:
    for requirement in requirements(package):
        found = distribution(requirement.name)
        yield found
        yield from _required(found)


def without_compiler(home: Path) -> dict[str, str]:
    """Returns the variables of a shell that has Java's runtime and no JDK."""
    jdk = Path(_java_home())
    runtime = home / "runtime"
    (runtime / "bin").mkdir(parents=True)
    (runtime / "bin" / "java").symlink_to(jdk / "bin" / "java")
    programs = home / "programs"
    programs.mkdir()
    tools = {tool.name for tool in (jdk / "bin").iterdir()}
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in folder.iterdir() if folder.is_dir() else ():
            if program.name not in tools and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    return {
        "JAVA_HOME": str(runtime),
        # The JIT's second compiler, C2, would take half the processor time of a short run.
        "JDK_JAVA_OPTIONS": f"--limit-modules={RUNTIME_MODULES} -XX:TieredStopAtLevel=1",
        "PATH": f"{runtime / 'bin'}{os.pathsep}{programs}",
    }


def _java_home() -> str:
    """Returns the home of Spark's Java from Java's settings, because a path may lead to a shim."""
    java_home = os.environ.get("JAVA_HOME")
    java = Path(java_home, "bin", "java") if java_home else "java"
    shown = subprocess.run(
        [java, "-XshowSettings:properties", "-version"], capture_output=True, text=True, check=True
    ).stderr
    match = re.search(r"^\s*java\.home = (.+)$", shown, re.MULTILINE)
    assert match is not None
    return match.group(1)


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Asserts that a command succeeds without variables for Python or Spark; returns its output."""
    finished = run_unchecked(*command, cwd=cwd, **variables)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def run_unchecked(
    *command: str | Path, cwd: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = class_archive.environment("PYTHON", "SPARK_", "PYSPARK_", "VIRTUAL_ENV")
    return subprocess.run(
        command, cwd=cwd, env={**kept, **variables}, capture_output=True, text=True, timeout=300
    )
