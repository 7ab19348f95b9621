# SPDX-License-Identifier: Apache-2.0
"""Starts sessions of several users, one of whom may not read one table."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pyspark

EXTENSION = "DenyingExtension"
CATALOG = "DenyingCatalog"
# A condition of Spark, because PySpark looks conditions up in Spark's list.
CONDITION = "FORBIDDEN_OPERATION"
# Contains the name of the user.
USER = "test.user"
# Contains the part of Spark that refuses eve: check, optimizer or catalog.
DENIED = "test.denied"
# The values that a user without read permission must not see.
HIDDEN = "hidden_column"


def denying_jar(folder: Path, delta_jars: list[str]) -> Path:
    """Compiles the extension and the catalog."""
    here = Path(__file__).parent
    sources = [here / f"{name}.java" for name in (EXTENSION, CATALOG)]
    class_path = os.pathsep.join([f"{Path(pyspark.__file__).parent}/jars/*", *delta_jars])
    classes = folder / "classes"
    subprocess.run(["javac", "-cp", class_path, "-d", classes, *sources], check=True)
    jar = folder / "denying.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for file in classes.iterdir():
            archive.write(file, file.name)
    return jar
