# SPDX-License-Identifier: Apache-2.0
"""Tests two sessions on one table, one of them with the wheel of an older commit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_ext
from tests.packaging.release import build_wheel, is_here, is_whole
from tests.support.environments import environment_for
from tests.support.sessions import small_session
from tests.support.table_log import TableLog, is_uuid_name

pytestmark = pytest.mark.matrix

# This commit precedes the check of classes at the start, and the warning about reused names.
OLDER = "e940ad4e658f"

# Runs each line of Python in one namespace, and prints a line of JSON with its result.
SESSION = """
import json
import sys
import traceback

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import spark_ext

builder = SparkSession.builder.config(map=json.loads(sys.argv[1]))
names = {"spark": spark_ext.configure(builder).getOrCreate(), "spark_ext": spark_ext}
print(json.dumps({"came from": spark_ext.__file__}), flush=True)
for line in sys.stdin:
    try:
        code = json.loads(line)
        try:
            answer = {"value": eval(code, names)}
        except SyntaxError:
            exec(code, names)
            answer = {"value": None}
    except PySparkException as error:
        answer = {"condition": error.getCondition(), "message": str(error)}
    except Exception:
        answer = {"error": traceback.format_exc()}
    print(json.dumps(answer, default=str), flush=True)
names["spark"].stop()
"""


class Session:
    """Runs a session in a separate process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.package = Path(self._answer()["came from"])

    def run(self, code: str) -> Any:
        """Returns the value of an expression, None for a statement."""
        answer = self.ask(code)
        assert set(answer) == {"value"}, answer
        return answer["value"]

    def ask(self, code: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(code) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def sql(self, statement: str) -> list[list[Any]]:
        rows: list[list[Any]] = self.run(f"list(map(list, spark.sql({statement!r}).collect()))")
        return rows

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the session has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def session(python: Path, home: Path) -> Iterator[Session]:
    home.mkdir()
    (home / "session.py").write_text(SESSION)
    settings = json.dumps(small_session(SparkSession.Builder(), home / "warehouse")._options)
    with subprocess.Popen(
        [python, "session.py", settings],
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Session(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()  # the process then ends


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    if not (is_here(OLDER) or is_whole()):
        pytest.skip(f"this clone lacks the commit {OLDER}: `git fetch --unshallow` fetches it")
    home = tmp_path_factory.mktemp("old")
    wheel = build_wheel(OLDER, home / "built")
    environment = environment_for(wheel, home / "venv")
    environment.pip("install", "--no-index", wheel)
    with session(environment.python, home / "session") as started:
        assert started.package.is_relative_to(environment.home)
        yield started


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    home = tmp_path_factory.mktemp("new")
    with session(Path(sys.executable), home / "session") as started:
        assert started.package == Path(spark_ext.__file__)
        yield started


@pytest.fixture(params=["the old one is first", "the new one is first"])
def both(request: pytest.FixtureRequest, old: Session, new: Session) -> tuple[Session, Session]:
    return (old, new) if request.param == "the old one is first" else (new, old)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t"


def create(session: Session, path: Path) -> str:
    """Creates a tracked table with a row; returns its name."""
    table = f"delta.`{path}`"
    session.sql(
        f"CREATE TABLE {table} (a INT, b STRING) USING delta TBLPROPERTIES ("
        "'delta.columnMapping.mode' = 'name',"
        " 'delta.feature.columnMappingUsageTracking' = 'supported')"
    )
    session.sql(f"INSERT INTO {table} VALUES (1, 'x')")
    return table


def assert_findings(new: Session, path: Path, *checks: str) -> None:
    found = f"[row.check for row in spark_ext.audit(spark, 'delta.`{path}`').findings]"
    assert new.run(found) == [*checks]


def test_both_versions_follow_the_names_and_the_flag_of_the_other(
    both: tuple[Session, Session], new: Session, path: Path
) -> None:
    first, second = both
    table = create(first, path)

    second.sql(f"ALTER TABLE {table} ADD COLUMN c INT")
    assert TableLog(path).flag == "false"
    assert TableLog(path).physical_names == {"a": "a", "b": "b", "c": "c"}
    first.sql(f"ALTER TABLE {table} RENAME COLUMN a TO d")
    assert TableLog(path).flag == "true"
    second.sql(f"ALTER TABLE {table} ADD COLUMN a INT")
    second.sql(f"INSERT INTO {table} VALUES (2, 'y', 3, 4)")
    first.sql(f"INSERT INTO {table} VALUES (5, 'z', 6, 7)")

    log = TableLog(path)
    assert log.flag == "true"
    assert log.physical_names["d"] == "a"
    assert is_uuid_name(log.physical_names["a"])
    rows = [[1, "x", None, None], [2, "y", 3, 4], [5, "z", 6, 7]]
    for session in both:
        assert session.sql(f"SELECT d, b, c, a FROM {table} ORDER BY d") == rows
    assert_findings(new, path, "misleading_name")


def test_dropped_column_is_not_restored_by_the_other_version(
    both: tuple[Session, Session], path: Path
) -> None:
    first, second = both
    table = create(first, path)

    first.sql(f"ALTER TABLE {table} DROP COLUMN b")
    second.sql(f"ALTER TABLE {table} ADD COLUMN b STRING")

    assert TableLog(path).flag == "true"
    assert is_uuid_name(TableLog(path).physical_names["b"])
    for session in both:
        assert session.sql(f"SELECT a, b FROM {table}") == [[1, None]]


def test_removal_of_column_mapping_holds_for_the_other_version(
    both: tuple[Session, Session], new: Session, path: Path
) -> None:
    first, second = both
    table = create(first, path)
    first.sql(f"ALTER TABLE {table} RENAME COLUMN a TO d")
    second.sql(f"ALTER TABLE {table} ADD COLUMN a INT")
    first.run(f"held = spark.read.format('delta').load('{path}')")

    second.run(f"spark_ext.UsageTracking.forPath(spark, '{path}').remove_column_mapping()")

    log = TableLog(path)
    assert log.configuration.get("delta.columnMapping.mode", "none") == "none"
    for session in both:
        assert session.sql(f"SELECT d, b, a FROM {table}") == [[1, "x", None]]
    # The stale DataFrame uses names that no live file has.
    refused = first.ask("list(map(list, held.select('d', 'b', 'a').collect()))")
    assert refused["condition"] == "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"
    first.sql(f"INSERT INTO {table} VALUES (2, 'y', 3)")
    assert second.sql(f"SELECT d, b, a FROM {table} ORDER BY d") == [[1, "x", None], [2, "y", 3]]
    assert_findings(new, path)


def test_old_version_reads_and_writes_names_that_the_new_one_aligned(
    old: Session, new: Session, path: Path
) -> None:
    table = create(old, path)
    old.sql(f"ALTER TABLE {table} RENAME COLUMN a TO d")
    old.sql(f"ALTER TABLE {table} ADD COLUMN a INT")

    new.run(f"spark_ext.UsageTracking.forPath(spark, '{path}').align_names()")
    old.sql(f"INSERT INTO {table} VALUES (2, 'y', 3)")
    old.sql(f"ALTER TABLE {table} ADD COLUMN c INT")

    log = TableLog(path)
    assert log.flag == "false"
    assert log.physical_names == {"d": "d", "b": "b", "a": "a", "c": "c"}
    rows = [[1, "x", None, None], [2, "y", 3, None]]
    for session in (old, new):
        assert session.sql(f"SELECT d, b, a, c FROM {table} ORDER BY d") == rows
    assert_findings(new, path)
