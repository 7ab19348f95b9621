# SPDX-License-Identifier: Apache-2.0
"""Sessions of several users, one of whom may not read one table."""

from __future__ import annotations

from pathlib import Path

from tests.support.java_sources import compiled_jar

EXTENSION = "DenyingExtension"
CATALOG = "DenyingCatalog"
# One of Spark's, in whose list PySpark looks.
CONDITION = "FORBIDDEN_OPERATION"
# Says who asks.
USER = "test.user"
# Says by what eve is refused: check, optimizer or catalog.
DENIED = "test.denied"
# The values that a user without read permission must not see.
HIDDEN = "hidden_column"


def denying_jar(folder: Path, delta_jars: list[str]) -> Path:
    """Compiles the extension and the catalog."""
    here = Path(__file__).parent
    sources = [here / f"{name}.java" for name in (EXTENSION, CATALOG)]
    return compiled_jar(folder, sources, delta_jars)
