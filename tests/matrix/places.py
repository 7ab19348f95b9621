# SPDX-License-Identifier: Apache-2.0
"""Writes the releases of `spark_ext/releases.json` into other files: `make format`.

Usage:
    .venv/bin/python -m tests.matrix.places
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.matrix.pairs import Row, rows
from tests.matrix.releases import RELEASES

CHECKOUT = Path(__file__).parents[2]
SCALA = RELEASES["scala"]
LINES = list(RELEASES["sparks"])
SPARKS = [spark for sparks in RELEASES["sparks"].values() for spark in sparks]
DELTAS = list(RELEASES["deltas"])
WITHOUT_LINE = RELEASES["artifactsWithoutLine"]
SPARK, DELTA = RELEASES["default"]["spark"], RELEASES["default"]["delta"]
# The jar is compiled against this release. `sparkext.delta` adapts to older releases.
COMPILED = next(delta for delta in DELTAS if delta not in WITHOUT_LINE)
LINE = SPARK.rpartition(".")[0]
PACKAGE = f"io.delta:delta-spark_{LINE}_{SCALA}:{DELTA}"


class Place(NamedTuple):
    """Contains the text of a file at every match of a pattern."""

    file: str
    pattern: str
    text: str

    def written(self) -> str:
        """Returns the text of the file with this place written.

        Raises:
            ValueError: The pattern matches nothing.
        """
        found = (CHECKOUT / self.file).read_text()
        written, times = re.subn(self.pattern, lambda _: self.text, found, flags=re.MULTILINE)
        if times == 0:
            raise ValueError(f"Cannot find `{self.pattern}` in {self.file}.")
        return written


def copied_jars() -> str:
    """Returns every jar of every Delta, as Maven's dependency plugin expects it."""
    return "".join(
        copied_jar(line, delta)
        for line in LINES
        for delta in DELTAS
        if line in RELEASES["deltas"][delta]
    )


def copied_jar(line: str, delta: str) -> str:
    """Returns one jar, with its line of Spark in the name of the file."""
    name = f"delta-spark_{line}_${{scala.binary}}"
    has_line = delta not in WITHOUT_LINE
    return (
        " " * 16
        + "<artifactItem><groupId>io.delta</groupId>"
        + f"<artifactId>{name if has_line else 'delta-spark_${scala.binary}'}</artifactId>"
        + f"<version>{delta}</version>"
        + ("" if has_line else f"<destFileName>{name}-{delta}.jar</destFileName>")
        + "</artifactItem>\n"
    )


def pairs() -> str:
    """Returns the rows of the table of pairs."""
    return "".join(
        f"| {words(row, line)} | {', '.join(deltas)} | `delta-spark{infix}_{SCALA}` |\n"
        for line in LINES
        for row in rows(line)
        for infix, deltas in artifacts(row, line)
    )


def artifacts(row: Row, line: str) -> list[tuple[str, list[str]]]:
    """Returns the infix of the artifact's name, and the releases with this infix."""
    without = [delta for delta in row.deltas if delta in WITHOUT_LINE]
    others = [delta for delta in row.deltas if delta not in WITHOUT_LINE]
    return [(infix, deltas) for infix, deltas in (("", without), (f"_{line}", others)) if deltas]


def words(row: Row, line: str) -> str:
    """Returns the releases of Spark of a row. The last row includes later releases."""
    if row != rows(line)[-1]:
        return " and ".join(filter(None, [", ".join(row.sparks[:-1]), row.sparks[-1]]))
    return line if row.sparks[0] == f"{line}.0" else f"{row.sparks[0]} and later {line}"


def without_jars() -> str:
    return ", ".join(delta for delta, lines in RELEASES["refusedDeltas"].items() if not lines)


PLACES = (
    Place("jars/pom.xml", r"(?<=<scala.binary>)[^<]+", SCALA),
    Place("jars/pom.xml", r"(?<=<spark.version>)[^<]+", SPARKS[0]),
    Place("jars/pom.xml", r"(?<=<spark.binary>)[^<]+", LINES[0]),
    Place("jars/pom.xml", r"(?<=<delta.version>)[^<]+", COMPILED),
    Place("jars/pom.xml", r"( *<artifactItem><groupId>io\.delta<.*\n)+", copied_jars()),
    Place("pyproject.toml", r'(?<="delta-spark)==[^"]+', f"=={DELTA}"),
    Place("pyproject.toml", r'(?<="pyspark)==[^"]+', f"=={SPARK}"),
    Place("conf/spark-defaults.conf", r"io\.delta:delta-spark_\S+", PACKAGE),
    Place("README.md", r"(?<=Spark from )[\d.]+", SPARKS[0]),
    Place("README.md", r"(?<=delta-spark from )[\d.]+(?=\. Not)", DELTAS[0]),
    Place("docs/versions.md", r"(?<=^\|---\|---\|---\|\n)(\| .* \| `delta-.* \|\n)+", pairs()),
    Place("docs/versions.md", r"(?<=no jar of delta-spark )[\d., ]+(?=\.$)", without_jars()),
    Place("docs/install.md", r"io\.delta:delta-spark_[\w.]+:[\d.]+", PACKAGE),
    Place(
        "docs/install.md",
        r"(?<=row is for )Spark .* with Delta .*(?=:$)",
        f"Spark {LINE} with Delta {DELTA}",
    ),
    Place("docs/install.md", r"(?<=pyspark-client==)[\d.]+", SPARK),
)


def main() -> None:
    for place in PLACES:
        file, written = CHECKOUT / place.file, place.written()
        # An unchanged file keeps its time, so `make venv` installs nothing again.
        if written != file.read_text():
            file.write_text(written)


if __name__ == "__main__":
    main()
