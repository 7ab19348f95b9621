# SPDX-License-Identifier: Apache-2.0
"""Compiles a Spark extension and a catalog that deny one user one table."""

from __future__ import annotations

from pathlib import Path

from tests.support.java_sources import compiled_jar

EXTENSION = "DenyingExtension"
CATALOG = "DenyingCatalog"
# A condition of Spark, because PySpark looks conditions up in Spark's list.
CONDITION = "FORBIDDEN_OPERATION"
# Contains the name of the user.
USER = "test.user"
# Contains the part of Spark that refuses eve: check, resolution, optimizer or catalog.
DENIED = "test.denied"
# The name of a column that a user without read permission must not see.
HIDDEN = "hidden_column"


def denying_jar(folder: Path, delta_jars: list[str]) -> Path:
    """Compiles the extension and the catalog."""
    here = Path(__file__).parent
    sources = [here / f"{name}.java" for name in (EXTENSION, CATALOG)]
    return compiled_jar(folder, sources, delta_jars)
