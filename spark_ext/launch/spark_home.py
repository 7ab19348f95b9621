# SPDX-License-Identifier: Apache-2.0
"""Finds the Spark that a session of this Python starts."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType


def module(name: str) -> ModuleType | str:
    """Returns a module, or the text of the error if the import fails with any exception."""
    try:
        return import_module(name)
    except Exception as broken:
        return traceback.format_exception_only(broken)[-1].strip()


def spark_home(environ: Mapping[str, str]) -> Path | None:
    """Returns SPARK_HOME, or else the Spark inside the package pyspark; None if neither exists."""
    if environ.get("SPARK_HOME"):
        return Path(environ["SPARK_HOME"])
    pyspark = module("pyspark")
    if isinstance(pyspark, str) or pyspark.__file__ is None:
        return None
    package = Path(pyspark.__file__).parent
    # pyspark/find_spark_home.py searches these folders too. `pyspark-client` contains no jars.
    candidates = (
        *(Path("..").resolve(), package / "spark-distribution", package),
        package.parent.parent,  # of a distribution whose folder `python` is in PYTHONPATH
    )
    return next((path for path in candidates if _is_spark_home(path)), None)


def is_client_only(environ: Mapping[str, str]) -> bool:
    """Returns whether pyspark can be imported, and cannot start a Spark of its own."""
    if isinstance(module("pyspark"), str):
        return False
    # PySpark 3 has no `is_remote_only`. If `pyspark.util` cannot be imported, only the search for a
    # Spark decides.
    is_remote_only = getattr(module("pyspark.util"), "is_remote_only", None)
    return (is_remote_only is not None and is_remote_only()) or spark_home(environ) is None


def _is_spark_home(path: Path) -> bool:
    has_jars = any(os.path.isdir(path / folder) for folder in ("jars", "assembly"))
    return os.path.isfile(path / "bin" / "spark-submit") and has_jars
