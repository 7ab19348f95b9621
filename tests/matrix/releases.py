# SPDX-License-Identifier: Apache-2.0
"""Contains the releases of Spark and Delta in `spark_ext/releases.json`.

The jar reads the file too, and decides by the classes of a session whether the releases fit.
`tests/matrix/places.py` writes the files that cannot read it.

Shape:
    supported: The pairs in words, for refusals.
    default: The pair that `make test` runs on.
    sparks: For each line of Spark its releases that tests run on, oldest first. Others of these
        lines work as their neighbours do.
    deltas: For each release of Delta, oldest first, the lines that it has an artifact
        `delta-spark_<line>_<scala>` for. The artifact without a line in its name is for the last.
    artifactsWithoutLine: The releases that have no other artifact.
    refusedDeltas: The lines of releases that are not supported; one without jars has none.
    removedClasses: A class that a release of Spark removed and that every ALTER TABLE of some
        Deltas needs. A vendor's Spark of the same version may have the class.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict


class _RemovedClass(TypedDict):
    name: str
    since: str
    neededBy: list[str]


class _Releases(TypedDict):
    supported: str
    scala: str
    default: dict[str, str]
    sparks: dict[str, list[str]]
    deltas: dict[str, list[str]]
    artifactsWithoutLine: list[str]
    refusedDeltas: dict[str, list[str]]
    removedClasses: list[_RemovedClass]


_FILE = Path(__file__).parents[2] / "spark_ext" / "releases.json"
RELEASES: _Releases = json.loads(_FILE.read_text("utf-8"))


def line_of(spark: str) -> str:
    """Returns the minor release of a version of Spark: 4.2 of 4.2.1."""
    return spark.rpartition(".")[0]
