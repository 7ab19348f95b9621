# SPDX-License-Identifier: Apache-2.0
"""Where the Spark is that a session of this Python starts."""

from __future__ import annotations

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
    home = Path(pyspark.__file__).parent
    # That of `pyspark-client` has no jars.
    return home if (home / "jars").is_dir() else None
