# SPDX-License-Identifier: Apache-2.0
"""Builds the published files from one commit: `make release`.

`python/` contains the files for a package index. `maven/` is a Maven repository without
`maven-metadata.xml`, which each repository writes itself. With the same JDK and Python, every build
of a commit gives the same bytes.

Usage:
    .venv/bin/python -m tests.packaging.release [folder]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
FOLDER = CHECKOUT / "dist" / "release"


def build(commit: str, folder: Path) -> None:
    """Builds the published files of a commit."""
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "spark-ext"
        unpack(commit, source)
        repository = f"-DaltDeploymentRepository=here::{(folder / 'maven').as_uri()}"
        build_jar(source, "source:jar-no-fork", "javadoc:jar", "deploy:deploy", repository)
        for metadata in (folder / "maven").rglob("maven-metadata.xml*"):
            metadata.unlink()
        build_packages(source, folder / "python", "sdist", "wheel", time=time_of(commit))


def build_wheel(commit: str, folder: Path) -> Path:
    """Builds the wheel of a commit, which may be older than the first release."""
    source = folder / "source"
    unpack(commit, source)
    build_jar(source)
    build_packages(source, folder, "wheel", time=time_of(commit))
    (wheel,) = folder.glob("*.whl")
    return wheel


def unpack(commit: str, folder: Path) -> None:
    """Writes the files of a commit, and no other file of the checkout."""
    with tarfile.open(fileobj=BytesIO(git("archive", "--format=tar", commit))) as archive:
        archive.extractall(folder, filter="data")


def build_jar(source: Path, *goals: str) -> None:
    """Builds the jar where a package expects it, and runs further goals."""
    maven: list[str | Path] = [sys.executable, CHECKOUT / "jars" / "maven.py", "-q", "-B", "-ntp"]
    maven += [f"-Dmaven.repo.local={CHECKOUT / '.maven' / 'repository'}"]
    maven += ["-f", source / "jars" / "pom.xml", "-DskipTests", "package", *goals]
    subprocess.run(maven, check=True)
    (source / "spark_ext" / "jars").mkdir()
    shutil.copy(source / "jars" / "target" / "spark-ext.jar", source / "spark_ext" / "jars")


def build_packages(source: Path, folder: Path, *targets: str, time: str) -> None:
    """Builds targets of hatchling, in which every file has the same time."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    command += [argument for target in targets for argument in ("-t", target)]
    variables = {**os.environ, "SOURCE_DATE_EPOCH": time}
    subprocess.run(command, cwd=source, check=True, env=variables)


def time_of(commit: str) -> str:
    """Returns the time of a commit in seconds since the epoch."""
    return git("show", "--no-patch", "--format=%ct", commit).decode().strip()


def is_here(commit: str) -> bool:
    """Returns whether this clone contains a commit. A shallow clone contains only the newest."""
    found = subprocess.run(["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=CHECKOUT)
    return found.returncode == 0


def is_whole() -> bool:
    """Returns whether this is a clone that is not shallow."""
    command = ["git", "rev-parse", "--is-shallow-repository"]
    return subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE).stdout.strip() == b"false"


def git(*arguments: str) -> bytes:
    return subprocess.run(
        ["git", *arguments], cwd=CHECKOUT, check=True, stdout=subprocess.PIPE
    ).stdout


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.packaging.release")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=FOLDER, help="default: dist/release"
    )
    folder = parser.parse_args().folder.resolve()
    if changed := git("status", "--porcelain", "--untracked-files=no").decode():
        sys.exit(
            f"Cannot build a release: these files are not as committed. Commit them.\n{changed}"
        )
    shutil.rmtree(folder, ignore_errors=True)
    build("HEAD", folder)
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            print(file)


if __name__ == "__main__":
    main()
