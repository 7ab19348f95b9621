# SPDX-License-Identifier: Apache-2.0
"""Tests that every place that names pairs of Spark and Delta names the same ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hatch_build import requirements
from tests.matrix.pairs import SHORT, WHOLE, is_pair, numbers
from tests.matrix.places import PLACES, Place
from tests.matrix.releases import RELEASES, line_of

CHECKOUT = Path(__file__).parents[2]
SPARKS = [spark for sparks in RELEASES["sparks"].values() for spark in sparks]


PAIRS = {
    (spark, delta) for spark in SPARKS for delta in RELEASES["deltas"] if is_pair(spark, delta)
}


def sparks_of(words: str) -> list[str]:
    """Returns the releases of Spark in `4.2`, `4.0 to 4.1.1`, `4.1.2 and later 4.1`, or a list."""
    first, *last = re.findall(r"[\d.]+", words)
    if " to " in words:
        return between(first, last[0], SPARKS)
    if " and later " in words:
        return [spark for spark in between(first, SPARKS[-1], SPARKS) if line_of(spark) == last[0]]
    return [first, *last] if last else RELEASES["sparks"][first]


def between(first: str, last: str, releases: Iterable[str]) -> list[str]:
    return [found for found in releases if numbers(first) <= numbers(found) <= numbers(last)]


def test_supported_releases_in_words_name_the_pairs() -> None:
    named = set()
    for sparks, oldest, newest in re.findall(
        r"Spark ([^,;]+?) with delta-spark ([\d.]+)(?: to ([\d.]+))?", RELEASES["supported"]
    ):
        deltas = between(oldest, newest or oldest, RELEASES["deltas"])
        named |= {(spark, delta) for spark in sparks_of(sparks) for delta in deltas}

    assert named == PAIRS
    assert RELEASES["supported"].endswith(f"; Scala {RELEASES['scala']}")


def test_versions_page_names_the_pairs() -> None:
    page = (CHECKOUT / "docs" / "versions.md").read_text()
    named = set()
    for sparks, deltas, line in re.findall(r"\| (.+) \| (.+) \| `delta-spark(.*)_2.13` \|", page):
        assert {f"_{line_of(spark)}" for spark in sparks_of(sparks)} == {line or "_4.0"}
        assert (line == "") == set(deltas.split(", ")).issubset(RELEASES["artifactsWithoutLine"])
        named |= {(spark, delta) for spark in sparks_of(sparks) for delta in deltas.split(", ")}

    assert named == PAIRS


def test_matrix_page_has_a_result_of_every_pair_of_the_matrix() -> None:
    page = (CHECKOUT / "docs" / "test-matrix.md").read_text()
    named = {
        f"{spark}+{delta}": run
        for spark, results in re.findall(r"^\| ([\d.]+) \| (.+) \|$", page, re.MULTILINE)
        for delta, run in re.findall(r"([\d.]+): ([^;]+)", results)
    }

    assert {*WHOLE, *SHORT} <= named.keys()
    assert {pair for pair in WHOLE if not named[pair].startswith("all")} == set()


def test_matrix_has_every_delta_of_every_line_and_no_other_pair() -> None:
    default = RELEASES["default"]["spark"], RELEASES["default"]["delta"]
    run = {tuple(pair.split("+")) for pair in [*WHOLE, *SHORT]} | {default}

    assert run <= PAIRS
    assert {(line_of(spark), delta) for spark, delta in run} == {
        (line_of(spark), delta) for spark, delta in PAIRS
    }
    assert {spark for spark, _ in run} == set(SPARKS)


def test_package_requires_releases_that_work() -> None:
    delta, spark = map(Requirement, requirements(dict(RELEASES)))
    refused = RELEASES["refusedDeltas"]

    assert (delta.name, spark.name) == ("delta-spark", "pyspark")
    assert list(delta.specifier.filter([*RELEASES["deltas"], *refused])) == [*RELEASES["deltas"]]
    assert list(spark.specifier.filter(SPARKS)) == SPARKS
    assert not delta.specifier.contains(after([*RELEASES["deltas"]][-1]))
    assert not spark.specifier.contains("4.0.0")
    assert not spark.specifier.contains(after(SPARKS[-1]))


def after(release: str) -> str:
    """Returns the first release of the next minor version."""
    major, minor, _ = numbers(release)
    return f"{major}.{minor + 1}.0"


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.file)
def test_file_has_the_text_that_make_format_writes(place: Place) -> None:
    assert (CHECKOUT / place.file).read_text() == place.written(), "run `make format`"
