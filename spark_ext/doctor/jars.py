# SPDX-License-Identifier: Apache-2.0
"""Jars of ours: whether a file is one, of which version, and whether two are alike."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from spark_ext.launch.releases import UNKNOWN_VERSION

_DESCRIPTION = "META-INF/maven/io.sparkext/spark-ext/pom.properties"
_CLASS = "sparkext/UsageTrackingExtension.class"


def jar_version(path: Path) -> str | None:
    """The version of a jar of ours; None for another file."""
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as jar:
        names = jar.namelist()
        if _CLASS not in names:
            return None
        if _DESCRIPTION not in names:
            return UNKNOWN_VERSION
        told = re.search(r"^version=(\S+)", jar.read(_DESCRIPTION).decode(), re.MULTILINE)
    return told[1] if told else UNKNOWN_VERSION


def are_alike(one: Path, other: Path) -> bool:
    """Whether two jars have the same content."""
    return _content(one) == _content(other)


def _content(path: Path) -> set[tuple[str, int]]:
    with zipfile.ZipFile(path) as jar:
        return {(entry.filename, entry.CRC) for entry in jar.infolist()}
