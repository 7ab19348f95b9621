# SPDX-License-Identifier: Apache-2.0
"""Runs engines or versions that our environment lacks, each in its own environment.

docs/for-engines.md contains the results, under "Flag `true`" and "Golden tables".
"""

from __future__ import annotations

import json
import venv
from dataclasses import astuple
from pathlib import Path

import pytest

from tests.engines import filtered
from tests.engines.filtered import Filter, Rows
from tests.engines.misled import CASES, Case
from tests.engines.test_flag_true import judged
from tests.engines.test_golden_tables import FILTERS
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.environments import Environment, run
from tests.support.golden_tables import STATES, placed

pytestmark = pytest.mark.matrix

# The newest versions in 2026-11. Up to DuckDB 1.5, the extension is a separate package.
TODAY = {
    "daft": ("daft==0.7.26", "deltalake==1.6.6"),
    "duckdb": ("duckdb==1.5.5", "duckdb-extension-delta==1.5.5"),
    "polars_deltalake": ("polars==2.1.0", "polars-deltalake==1.3.2"),
    "sail": ("pysail==0.7.2", "pyspark-client==4.2.0"),
}

CLONES = ("cloned", "stale")
# With a filter, the engine fails on files that lack a field of a struct, in any table.
FAILS = {("daft", "nested"): ["s.city = 'X'", "s.city = 'Rome'", "s.city IS NULL"]}
# The log of a clone names files by URLs.
FAILS_GOLDEN = {
    **{(name, state): ["refused"] for name in ("daft", "duckdb", "sail") for state in CLONES},
    # The engine finds columns by name in mode `id` too.
    ("duckdb", "flag_false_by_id"): ["rows"],
    ("polars_deltalake", "flag_false_by_id"): ["rows"],
    # The older file of this table has no field ids.
    ("daft", "mapped_again"): ["refused"],
    # The engine fails on every map of a mapped table.
    ("daft", "nested"): [
        "rows",
        *(each.sql for each in FILTERS["nested"] if each != Filter("weekday")),
    ],
}


@pytest.fixture(scope="module", params=TODAY)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Environment]:
    name: str = request.param
    environment = Environment(tmp_path_factory.mktemp(name) / "environment")
    venv.create(environment.home, symlinks=True)
    environment.pip("install", "--quiet", *TODAY[name])
    return name, environment


@pytest.mark.every_variant
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("properties", [(TRACKED, NAME_MODE), (NAME_MODE,)], ids=["ours", "plain"])
def test_engine_is_not_misled(
    engine: tuple[str, Environment],
    table: Table,
    case: str,
    properties: tuple[str, ...],
) -> None:
    made = CASES[case].make(table, *properties)

    found = answers(engine, made.path, CASES[case])

    assert judged(found, CASES[case]) == FAILS.get((engine[0], case), [])


@pytest.mark.every_variant
@pytest.mark.parametrize("state", STATES)
def test_engine_reads_golden_tables(
    engine: tuple[str, Environment], tmp_path: Path, state: str
) -> None:
    case = Case("", (), STATES[state]["reads"]["rows"], FILTERS.get(state, {}))

    found = answers(engine, placed(tmp_path / "golden") / state, case)

    assert judged(found, case) == FAILS_GOLDEN.get((engine[0], state), [])


def answers(engine: tuple[str, Environment], path: Path, case: Case) -> list[Rows | str]:
    """Returns the answers of an engine for a table and for the filters."""
    name, environment = engine
    filters = json.dumps([astuple(each) for each in case.filters])
    script = Path(filtered.__file__)
    printed = run(environment.python, script, name, path, filters, cwd=path.parent)
    found: list[Rows | str] = json.loads(printed.splitlines()[-1])
    return found
