# SPDX-License-Identifier: Apache-2.0
"""Lists the pairs of `spark_ext/releases.json` that the matrix runs, whole or short.

As a script, this module prints the commands of the nightly workflow as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from itertools import groupby
from typing import NamedTuple

from tests.matrix.releases import RELEASES, line_of


class Row(NamedTuple):
    """Contains releases of a line of Spark, oldest first, and the Deltas that work with them."""

    sparks: list[str]
    deltas: tuple[str, ...]


def numbers(version: str) -> list[int]:
    """Returns the numbers of a release."""
    return [int(number) for number in version.split(".")]


def is_pair(spark: str, delta: str) -> bool:
    """Returns whether a Spark and a Delta work together, both as they were released."""
    removed = (
        delta in removal["neededBy"] and numbers(spark) >= numbers(removal["since"])
        for removal in RELEASES["removedClasses"]
    )
    return line_of(spark) in RELEASES["deltas"][delta] and not any(removed)


def rows(line: str) -> list[Row]:
    """Returns the rows of a line of Spark, which differ in the Deltas that work."""

    def deltas(spark: str) -> tuple[str, ...]:
        return tuple(delta for delta in RELEASES["deltas"] if is_pair(spark, delta))

    return [Row(list(sparks), of) for of, sparks in groupby(RELEASES["sparks"][line], deltas)]


def whole() -> list[str]:
    """Returns the oldest and the newest pair of each line of Spark."""
    found = []
    for oldest, newest in ((rows(line)[0], rows(line)[-1]) for line in RELEASES["sparks"]):
        found.append(f"{oldest.sparks[0]}+{oldest.deltas[0]}")
        found.append(f"{newest.sparks[-1]}+{newest.deltas[-1]}")
    return found


def short() -> list[str]:
    """Returns each Delta with the oldest Spark of its last row, and one more pair of each row."""
    found = []
    for line in RELEASES["sparks"]:
        last = {delta: row for row in rows(line) for delta in row.deltas}
        found += [f"{row.sparks[0]}+{delta}" for delta, row in last.items()]
        # The newest Spark of each row with the oldest Delta.
        found += [f"{row.sparks[-1]}+{row.deltas[0]}" for row in rows(line)]
    return found


# The pairs of vendors: EMR 8 (Delta 4.0), Fabric 2.0 and Glue 6.0.
VENDORS = ["4.0.1+4.0.1", "4.0.2+4.0.0", "4.0.2+4.0.1", "4.1.1+4.2.0"]
DEFAULT = "{spark}+{delta}".format(**RELEASES["default"])  # the pair of `make test`
WHOLE = [pair for pair in dict.fromkeys([*whole(), *VENDORS]) if pair != DEFAULT]
SHORT = [pair for pair in dict.fromkeys(short()) if pair not in {*WHOLE, DEFAULT}]

MONDAY = 0
# The number of pairs on one machine. The environment of a pair takes a gigabyte.
TOGETHER = 4


def nightly(day: date) -> Iterator[str]:
    """Yields the commands of a night: the short pairs and one whole pair; Mondays also more."""
    for start in range(0, len(SHORT), TOGETHER):
        pairs = " ".join(SHORT[start : start + TOGETHER])
        yield f"make test-pairs SHORT=--short PAIRS='{pairs}'"
    yield f"make test-pairs PAIRS='{WHOLE[day.toordinal() % len(WHOLE)]}'"
    if day.weekday() == MONDAY:
        yield from ("make test-slow", "make test-integration TEST_SETTINGS=vendors")


if __name__ == "__main__":
    print(json.dumps([*nightly(date.today())]))
