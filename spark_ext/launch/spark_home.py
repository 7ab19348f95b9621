# SPDX-License-Identifier: Apache-2.0
"""Where the Spark is that a session of this Python starts."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType


def module(name: str) -> ModuleType | str:
    """A module, or how its import failed: in whatever way a broken package does."""
    try:
        return import_module(name)
    except Exception as broken:
        return traceback.format_exception_only(broken)[-1].strip()


def spark_home(environ: Mapping[str, str]) -> Path | None:
    """SPARK_HOME, else the Spark inside the package pyspark, if there is one."""
    if environ.get("SPARK_HOME"):
        return Path(environ["SPARK_HOME"])
    pyspark = module("pyspark")
    if isinstance(pyspark, str) or pyspark.__file__ is None:
        return None
    package = Path(pyspark.__file__).parent
    # As pyspark/find_spark_home.py; that of `pyspark-client` has no jars.
    candidates = (Path("..").resolve(), package / "spark-distribution", package)
    return next((path for path in candidates if _is_spark_home(path)), None)


def is_client_only(environ: Mapping[str, str]) -> bool:
    """Whether the package pyspark starts no sessions: it has no Spark, or cannot start one."""
    if isinstance(module("pyspark"), str):
        return False
    # PySpark 3 has none, and a broken one is not to be judged by it.
    told = getattr(module("pyspark.util"), "is_remote_only", None)
    return (told is not None and told()) or spark_home(environ) is None


def _is_spark_home(path: Path) -> bool:
    return os.path.isfile(path / "bin" / "spark-submit") and os.path.isdir(path / "jars")


def jars_in(folder: Path) -> list[Path]:
    """What Java takes for the jars of a folder; none where it is locked or cannot be.

    Source:
        JDK 17, `java`, "Class path wild cards"; what cannot be read is passed over.
    """
    try:
        names = sorted(os.listdir(folder))
    except (OSError, ValueError):  # the latter for a name that no file can have
        return []
    return [folder / name for name in names if name.endswith((".jar", ".JAR"))]
