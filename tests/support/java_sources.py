# SPDX-License-Identifier: Apache-2.0
"""Compiles Java classes of the tests."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pyspark


def compiled_jar(folder: Path, sources: Iterable[Path], jars: Iterable[str] = ()) -> Path:
    """Compiles sources against Spark and these jars. Returns the jar of the classes."""
    class_path = os.pathsep.join([f"{Path(pyspark.__file__).parent}/jars/*", *jars])
    classes = folder / "classes"
    subprocess.run(["javac", "-cp", class_path, "-d", classes, *sources], check=True)
    jar = folder / "compiled.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for file in classes.iterdir():
            archive.write(file, file.name)
    return jar
