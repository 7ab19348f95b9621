# SPDX-License-Identifier: Apache-2.0
"""Jars of ours: whether a file is one, of which version, and whether two are alike."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path

from spark_ext.launch.archives import holds
from spark_ext.launch.releases import UNKNOWN_VERSION, USAGE_TRACKING_EXTENSION

_DESCRIPTION = "META-INF/maven/io.sparkext/spark-ext/pom.properties"


def jar_version(path: Path) -> str | None:
    """The version of a jar of ours; None for another file."""
    if not os.path.isfile(path) or not holds(path, USAGE_TRACKING_EXTENSION):
        return None
    with zipfile.ZipFile(path) as jar:
        if _DESCRIPTION not in jar.namelist():
            return UNKNOWN_VERSION
        told = re.search(r"^version=(\S+)", jar.read(_DESCRIPTION).decode(), re.MULTILINE)
    return told[1] if told else UNKNOWN_VERSION


def are_alike(one: Path, other: Path) -> bool:
    """Whether two jars have the same content."""
    return _content(one) == _content(other)


def _content(path: Path) -> set[tuple[str, int]]:
    with zipfile.ZipFile(path) as jar:
        return {(entry.filename, entry.CRC) for entry in jar.infolist()}
