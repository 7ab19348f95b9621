# SPDX-License-Identifier: Apache-2.0
"""Runs each page of README.md and docs/*.md from top to bottom, and compares the output."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.delta_table import NAME_MODE
from tests.support.delta_table import TRACKED as FEATURE
from tests.support.pages import CHECKOUT, PAGES, Block, blocks, comparable, is_run, shown
from tests.support.releases import DELTA_COORDINATES, PURGES

UNTRACKED = f"(id BIGINT, city STRING) USING delta TBLPROPERTIES ({NAME_MODE})"
TRACKED = f"(id BIGINT, city STRING) USING delta TBLPROPERTIES ({NAME_MODE}, {FEATURE})"
# The statements that create the tables of a page.
BEFORE = {
    "docs/audit.md": [
        *(f"CREATE TABLE {name} {TRACKED}" for name in ("trips", "rides")),
        "INSERT INTO trips VALUES (1, 'Rome')",
        "ALTER TABLE rides ADD COLUMN fare DOUBLE",
    ],
    "docs/errors.md": [f"CREATE TABLE trips {TRACKED}"],
    "docs/readable-names.md": [f"CREATE TABLE old_trips {UNTRACKED}"],
    "docs/removal.md": [
        *(f"CREATE TABLE {name} {TRACKED}" for name in ("trips", "t")),
        "INSERT INTO trips VALUES (1, 'Rome')",
        "ALTER TABLE trips RENAME COLUMN city TO town",
    ],
    "docs/install.md": [
        f"CREATE TABLE returns {TRACKED}",
        "ALTER TABLE returns ADD COLUMN `paid at` DATE",
    ],
    "docs/lakehouse.md": [
        *(f"CREATE TABLE sales.{name} {TRACKED}" for name in ("orders", "returns")),
        *(f"CREATE TABLE sales.{name} {UNTRACKED}" for name in ("customers", "tmp_load")),
        *(f"INSERT INTO sales.{name} VALUES (1, 'Rome')" for name in ("orders", "customers")),
        "ALTER TABLE sales.returns ADD COLUMN `paid at` DATE",
    ],
}
SCHEMAS = ("db", "sales")
STATEMENT = re.compile(
    r"`((?:ALTER TABLE|CREATE TABLE|INSERT|RESTORE|SELECT|SHOW TBLPROPERTIES|DESCRIBE \w+) [^`]+)`"
)


def marks(page: str) -> list[pytest.MarkDecorator]:
    return [PURGES] if page == "docs/erasure.md" else []


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[None]:
    """Creates schemas for the tables of one page. The first one is the current schema."""
    for name in SCHEMAS:
        spark.sql(f"CREATE SCHEMA {name}")
    spark.sql(f"USE {SCHEMAS[0]}")
    yield
    spark.sql("USE default")
    for name in SCHEMAS:
        spark.sql(f"DROP SCHEMA {name} CASCADE")


def printed(spark: SparkSession, block: Block, names: dict[str, Any]) -> str:
    """Returns the output of a block; for SQL, the rows of the last statement."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        if block.language == "python":
            exec(compile(block.text, block.place, "exec"), names)
            return out.getvalue()
        frames = [spark.sql(statement) for statement in block.text.split(";\n") if statement]
        if frames[-1].columns:
            frames[-1].show(truncate=False)
    return out.getvalue()


@pytest.mark.without("deletion-vectors", "row-tracking")
@pytest.mark.every_variant
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=marks(page)) for page in PAGES if any(map(is_run, blocks(page)))],
)
@pytest.mark.usefixtures("schema")
def test_page_shows_the_results_of_its_blocks(
    spark: SparkSession, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for statement in BEFORE.get(page, []):
        spark.sql(statement)
    names: dict[str, Any] = {"spark": spark, "__name__": "page"}

    for block in filter(is_run, blocks(page)):
        out = printed(spark, block, names)
        assert comparable(out) == comparable(shown(block) or ""), f"{block.place} prints\n{out}"


@pytest.mark.usefixtures("schema")
def test_every_statement_quoted_in_a_page_runs(spark: SparkSession) -> None:
    text = "\n".join((CHECKOUT / page).read_text() for page in PAGES)
    statements = [found for found in STATEMENT.findall(text) if ".." not in found]
    spark.sql(f"CREATE TABLE t {TRACKED}")
    spark.sql("INSERT INTO t VALUES (1, 'Rome')")

    # The copy of an untracked table would have names that no writer gives.
    for statement in sorted(set(statements), key=lambda each: ("DROP FEATURE" in each, each)):
        spark.sql(statement.replace("OF n", "OF 1")).collect()
    assert len(statements) > 10


def test_install_page_lists_the_jars_that_a_session_fetches_for_delta(
    spark: SparkSession,
) -> None:
    page = (CHECKOUT / "docs" / "install.md").read_text()
    if DELTA_COORDINATES not in page:
        pytest.skip("the page lists those of another pair")
    (listed,) = re.findall(
        r"The jars of Delta [\d.]+ for this folder are (.+?)\.\n", page, re.DOTALL
    )

    fetched = spark.sparkContext.getConf().get("spark.repl.local.jars", "")
    ours = re.findall(r"/io\.(?:delta|unitycatalog)_([\w.-]+?)-\d[\d.]*\.jar", fetched)
    assert sorted(re.findall(r"`(.+?)`", listed)) == sorted(ours) != []
