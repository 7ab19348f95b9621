# SPDX-License-Identifier: Apache-2.0
"""What names releases and cannot read `spark_ext/releases.json` is written from it: `make format`.

Usage:
    .venv/bin/python -m tests.matrix.places
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from spark_ext.launch.releases import RELEASES
from tests.matrix.pairs import WHOLE

CHECKOUT = Path(__file__).parents[2]
SCALA = RELEASES["scala"]
LINES = list(RELEASES["sparks"])
SPARKS = [spark for sparks in RELEASES["sparks"].values() for spark in sparks]
DELTAS = list(RELEASES["deltas"])
SPARK, DELTA = RELEASES["default"]["spark"], RELEASES["default"]["delta"]
LINE = SPARK.rpartition(".")[0]
PACKAGE = f"io.delta:delta-spark_{LINE}_{SCALA}:{DELTA}"


class Place(NamedTuple):
    """What stands in a file wherever a pattern matches."""

    file: str
    pattern: str
    text: str

    def written(self) -> str:
        """The file as it should be."""
        found = (CHECKOUT / self.file).read_text()
        written, times = re.subn(self.pattern, lambda _: self.text, found, flags=re.MULTILINE)
        if times == 0:
            raise ValueError(f"Cannot find `{self.pattern}` in {self.file}.")
        return written


def bounds_of_delta() -> str:
    """From the oldest supported release to the next minor, without those that are refused."""
    newer = [delta for delta in RELEASES["refusedDeltas"] if numbers(delta) > numbers(DELTAS[0])]
    without = "".join(f"!={delta}," for delta in newer)
    return f">={DELTAS[0]},{without}<{next_minor(DELTAS[-1])}"


def next_minor(version: str) -> str:
    major, minor = numbers(version)[:2]
    return f"{major}.{minor + 1}"


def numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def copied_jars() -> str:
    """Each jar of each Delta, as Maven's dependency plugin takes it."""
    return "".join(
        " " * 16
        + "<artifactItem><groupId>io.delta</groupId>"
        + f"<artifactId>delta-spark_{line}_${{scala.binary}}</artifactId>"
        + f"<version>{delta}</version></artifactItem>\n"
        for line in LINES
        for delta in DELTAS
        if line in RELEASES["deltas"][delta]
    )


SUPPORTED = f"Spark {SPARKS[0]} to {LINES[-1]} with delta-spark {DELTAS[0]} to {DELTAS[-1]}"
WHOLE_PAIRS = ", ".join(f'"{pair}"' for pair in WHOLE)
WITHOUT_JARS = ", ".join(delta for delta, lines in RELEASES["refusedDeltas"].items() if not lines)

PLACES = (
    Place("jars/pom.xml", r"(?<=<scala.binary>)[^<]+", SCALA),
    Place("jars/pom.xml", r"(?<=<spark.version>)[^<]+", SPARKS[0]),
    Place("jars/pom.xml", r"(?<=<spark.binary>)[^<]+", LINES[0]),
    Place("jars/pom.xml", r"(?<=<delta.version>)[^<]+", DELTAS[0]),
    Place("jars/pom.xml", r"(?<=<artifactItems>\n)[^\0]*?(?= *</artifactItems>)", copied_jars()),
    Place("pyproject.toml", r'(?<="delta-spark)>=[^"]+', bounds_of_delta()),
    Place("pyproject.toml", r'(?<="pyspark)>=[^"]+', f">={SPARKS[0]},<{next_minor(LINES[-1])}"),
    Place("pyproject.toml", r'(?<="delta-spark)==[^"]+', f"=={DELTA}"),
    Place("pyproject.toml", r'(?<="pyspark)==[^"]+', f"=={SPARK}"),
    Place("conf/spark-defaults.conf", r"io\.delta:delta-spark_\S+", PACKAGE),
    Place(".github/workflows/ci.yml", r"(?<=pair: \[).*(?=\])", WHOLE_PAIRS),
    Place("README.md", r"^Spark .* with delta-spark .*(?=, Scala)", SUPPORTED),
    Place(
        "README.md", r"(?<=runs on )Spark .* with Delta [\d.]+", f"Spark {SPARK} with Delta {DELTA}"
    ),
    Place("README.md", r"(?<=delta-spark )[\d., ]+(?= has no jar)", WITHOUT_JARS),
    Place("docs/install.md", r"io\.delta:delta-spark_[\w.]+:[\d.]+", PACKAGE),
    Place(
        "docs/install.md",
        r"(?<=that of )Spark .* with Delta .*(?=:$)",
        f"Spark {LINE} with Delta {DELTA}",
    ),
    Place("docs/install.md", r"(?<=pyspark-client==)[\d.]+", SPARK),
)


def main() -> None:
    for place in PLACES:
        (CHECKOUT / place.file).write_text(place.written())


if __name__ == "__main__":
    main()
