# SPDX-License-Identifier: Apache-2.0
"""Provides one Spark session with the plugin, and a new table for each test.

If the environment has TEST_CATALOG=hive, the catalog is a Hive metastore in memory; a JVM has one
catalog. If it has TEST_SETTINGS=vendors, the session has the default settings of vendors.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_ext
from tests.support import class_archive, vendors
from tests.support.delta_table import Table
from tests.support.java_sources import with_quick_closures
from tests.support.left_tables import LeftTables
from tests.support.releases import LEAVES_SOCKETS_OPEN
from tests.support.session_conf import session_conf
from tests.support.sessions import (
    for_long_run,
    small_session,
    warehouse_of,
    with_hive_catalog,
    with_one_driver,
    without_clusters,
)

FIRST_TIER = Path(__file__).with_name("first_tier.txt").read_text().splitlines()
ARCHIVE = pytest.StashKey[Path]()
LEFT_TABLES = pytest.StashKey[LeftTables]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_TABLES] = LeftTables()
    config.pluginmanager.register(config.stash[LEFT_TABLES], "left-tables")
    if LEAVES_SOCKETS_OPEN:
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    # This runs before the workers, because two processes that fill Ivy's cache at one time both
    # fail.
    config.stash[ARCHIVE] = folder = Path(tempfile.mkdtemp(prefix="spark-ext-classes-"))
    failure = class_archive.make(folder)
    if failure:
        raise pytest.UsageError(f"No session with spark-ext starts here:\n{failure}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    # Tests wait for a seventh of their time: for new processes, and for downloads.
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)  # before pytest reads `-m`
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # The units run last, so that the processes end at about the same time.
    items.sort(key=lambda item: (is_unit(item), place_in_first_tier(item)))
    if not any("::" in argument for argument in config.args):
        leave_to_other_runs(items)


def is_unit(item: pytest.Item) -> bool:
    return item.path.parent.name == "unit"


def place_in_first_tier(item: pytest.Item) -> int:
    file = item.nodeid.partition("::")[0]
    places = (n for n, line in enumerate(FIRST_TIER) if line.partition("::")[0] == file)
    return next(places, len(FIRST_TIER))


def leave_to_other_runs(items: list[pytest.Item]) -> None:
    """Marks what `make test` does not run as `second_tier` or `matrix`, outside of tests/unit.

    `make test` runs the first variant of the tests of `first_tier.txt`. Further variants belong to
    the matrix, or to the second tier if the test has the mark `every_variant`.
    """
    seen: set[str] = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        kept_whole = any(map(item.get_closest_marker, ("matrix", "every_variant")))
        if is_unit(item):
            continue
        if test in seen and not kept_whole:
            item.add_marker("matrix")
        if test in seen or not {test, test.partition("::")[0]} & set(FIRST_TIER):
            item.add_marker("second_tier")
        if not item.get_closest_marker("matrix"):
            seen.add(test)


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(ARCHIVE, None)
    if folder:
        shutil.rmtree(folder)


@pytest.fixture(scope="session", autouse=True)
def home_of_tables(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    request.config.stash[LEFT_TABLES].home = tmp_path_factory.getbasetemp()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    builder = small_session(SparkSession.builder, tmp_path_factory.mktemp("warehouse"))
    builder = for_long_run(builder)
    catalog = os.environ.get("TEST_CATALOG", "in-memory")
    if catalog == "hive":
        builder = with_hive_catalog(builder)
    for key, value in vendors.settings(vendors.chosen()).items():
        builder.config(key, value)
    session = spark_ext.configure(with_one_driver(builder)).getOrCreate()
    assert session.conf.get("spark.sql.catalogImplementation") == catalog
    session.sparkContext.setLogLevel("ERROR")
    without_clusters(session)
    with_quick_closures(session, tmp_path_factory.mktemp("closures"))
    yield session
    session.stop()


@contextmanager
def without_settings(request: pytest.FixtureRequest) -> Iterator[None]:
    """Turns off the settings of TEST_SETTINGS that a mark of the module or test names."""
    marks = request.node.own_markers
    names = {name for mark in marks if mark.name == "without" for name in mark.args}
    keys = vendors.settings(names.intersection(vendors.chosen()))
    if not keys:
        yield
        return
    with session_conf(request.getfixturevalue("spark"), dict.fromkeys(keys)):
        yield


@pytest.fixture(scope="module", autouse=True)
def module_without_settings(request: pytest.FixtureRequest) -> Iterator[None]:
    with without_settings(request):
        yield


@pytest.fixture(autouse=True)
def test_without_settings(request: pytest.FixtureRequest) -> Iterator[None]:
    with without_settings(request):
        yield


@pytest.fixture
def conf(spark: SparkSession) -> Iterator[object]:
    """Sets session confs for one test, and restores them."""
    with ExitStack() as settings:
        yield lambda key, value: settings.enter_context(session_conf(spark, {key: value}))


@pytest.fixture
def driver_conf(spark: SparkSession) -> Iterator[object]:
    """Sets confs of the application, which no session may set, for one test."""
    jvm: Any = spark._jvm
    application = jvm.org.apache.spark.SparkEnv.get().conf()
    changed: dict[str, str | None] = {}

    def put(key: str, value: str) -> None:
        changed.setdefault(key, application.get(key) if application.contains(key) else None)
        application.set(key, value)

    yield put
    for key, value in changed.items():
        if value is None:
            application.remove(key)
        else:
            application.set(key, value)


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    return Table(spark, tmp_path / "t")


@pytest.fixture
def named_table(spark: SparkSession) -> Iterator[Table]:
    """Yields a table of the catalog that does not exist yet."""
    yield Table(spark, warehouse_of(spark) / "named", "named")
    spark.sql("DROP TABLE IF EXISTS named")
