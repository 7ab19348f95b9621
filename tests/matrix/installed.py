# SPDX-License-Identifier: Apache-2.0
"""Prints the jars of the installed pair, as the JUnit run expects them."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path

import pyspark

DELTAS = Path(__file__).parents[2] / "jars" / "target" / "delta"


def main() -> None:
    minor = pyspark.__version__.rpartition(".")[0]
    delta = DELTAS / f"delta-spark_{minor}_2.13-{version('delta-spark')}.jar"
    spark = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    print(os.pathsep.join(map(str, [*spark, delta])))


if __name__ == "__main__":
    main()
