# SPDX-License-Identifier: Apache-2.0
"""Which classes the jars and folders of a class path have, as Java finds them there.

Source:
    JDK 17, "JAR File Specification", "Multi-release JAR files" and "Class-Path attribute", and
    jdk/internal/loader/URLClassPath.java, `tryResolveFile`.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

from spark_ext.launch.releases import OLDEST_JAVA, class_file

_MANIFEST = "META-INF/MANIFEST.MF"
_CONTINUED = re.compile(r"(\r\n|\r|\n) ")
_VERSION = re.compile(r"META-INF/versions/(\d+)/(.+)")


class _Jar(NamedTuple):
    """What is in a jar.

    Attributes:
        names: Of its entries.
        versions: Of Java, the oldest that finds an entry of a multi-release jar, by its name.
        named: The URLs that its manifest adds to the class path.
    """

    names: frozenset[str]
    versions: dict[str, int]
    named: tuple[str, ...]


def holds(place: Path, name: str) -> bool | None:
    """Whether a jar or a folder has a class; None where that is not seen.

    That is a file that cannot be looked into, or that has it for newer Javas than Spark needs.
    """
    entry = class_file(name)
    # Not `Path.is_file`, which fails where a folder is locked; Java passes over it.
    if not os.path.isfile(place):
        return os.path.isfile(place / entry)
    jar = _opened(place)
    if jar is None:
        return None
    if entry in jar.names or jar.versions.get(entry, OLDEST_JAVA + 1) <= OLDEST_JAVA:
        return True
    return None if entry in jar.versions else False


def with_named(places: Iterable[Path]) -> list[Path]:
    """Places and after each what its manifest adds, and what that adds, each once."""
    found: dict[Path, None] = {}
    waiting = list(places)[::-1]
    while waiting:
        place = waiting.pop()
        if place not in found:
            found[place] = None
            waiting.extend(list(_named(place))[::-1])
    return list(found)


def _named(place: Path) -> Iterator[Path]:
    jar = _opened(place) if os.path.isfile(place) else None
    for url in () if jar is None else jar.named:
        try:
            told = urlsplit(urljoin(Path(os.path.abspath(place)).as_uri(), url))
        except ValueError:
            continue
        path = Path(os.fsdecode(unquote_to_bytes(told.path)))
        if told.scheme == "file" and os.path.exists(path):
            yield path


def _opened(place: Path) -> _Jar | None:
    try:
        told = os.stat(place)
    except OSError:
        return None
    return _read(place, told.st_mtime_ns, told.st_size)


@lru_cache(maxsize=4096)
def _read(place: Path, changed: int, size: int) -> _Jar | None:
    """What is in a jar; None for one that cannot be read. A changed one is read again."""
    try:
        with zipfile.ZipFile(place) as jar:
            names = frozenset(jar.NameToInfo)
            manifest = jar.read(_MANIFEST).decode("utf-8", "replace") if _MANIFEST in names else ""
    # The last two for archives of a kind that Python does not read.
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, ValueError):
        return None
    told = _main_attributes(manifest)
    versions = _versions(names) if told.get("multi-release", "").lower() == "true" else {}
    return _Jar(names, versions, tuple(told.get("class-path", "").split()))


def _main_attributes(manifest: str) -> dict[str, str]:
    attributes = {}
    for line in _CONTINUED.sub("", manifest).splitlines():
        name, _, value = line.partition(":")
        if not name:  # what follows is of single entries
            break
        attributes[name.lower()] = value.strip()
    return attributes


def _versions(names: Iterable[str]) -> dict[str, int]:
    oldest: dict[str, int] = {}
    for found in filter(None, map(_VERSION.fullmatch, names)):
        version = int(found[1])
        oldest[found[2]] = min(version, oldest.get(found[2], version))
    return oldest
