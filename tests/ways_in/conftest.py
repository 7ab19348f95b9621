# SPDX-License-Identifier: Apache-2.0
"""Provides the folders, lakehouses and drivers in which tests run commands."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.custom_sessions import our_jar
from tests.support.delta_table import forget_logs
from tests.support.java_catalogs import add_catalog
from tests.ways_in import shells
from tests.ways_in.drivers import Drivers, start
from tests.ways_in.lakehouses import CATALOG, FEW_KINDS, Lakehouse, Prototypes
from tests.ways_in.place import DEFAULTS, LOG, PYSPARK, Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    directory = tmp_path / "place"
    conf = tmp_path / "conf"
    for folder in (directory, conf):
        folder.mkdir()
    (conf / "spark-defaults.conf").write_text(DEFAULTS)
    (conf / "log4j2.properties").write_text(LOG)
    (directory / "spark-ext.jar").symlink_to(our_jar())
    return Place(directory, {"SPARK_CONF_DIR": str(conf)})


@pytest.fixture(scope="session")
def delta_jars(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Returns Delta's jars from a session that fetches them by name."""
    script = (
        "import spark_ext, sys\n"
        "from pyspark.sql import SparkSession\n"
        "builder = SparkSession.builder.config('spark.ui.enabled', 'false').master('local')\n"
        "jars = spark_ext.configure(builder).getOrCreate().conf.get('spark.repl.local.jars')\n"
        "print('jars:', jars)\n"
    )
    directory = tmp_path_factory.mktemp("jars")
    (directory / "script.py").write_text(script)
    (listed,) = (
        line.removeprefix("jars: ")
        for line in shells.output_of("python script.py", directory).splitlines()
        if line.startswith("jars: ")
    )
    paths = [Path(url.removeprefix("file:")) for url in listed.split(",")]
    return [path for path in paths if path.name.startswith(("io.delta", "io.unitycatalog"))]


@pytest.fixture
def spark_home(tmp_path: Path) -> Callable[..., str]:
    """Returns a function that makes a Spark with more jars in its folder."""

    def make(*jars: Path) -> str:
        home = tmp_path / "spark"
        home.mkdir()
        for entry in PYSPARK.iterdir():
            if entry.name != "jars":
                (home / entry.name).symlink_to(entry)
        (home / "jars").mkdir()
        for jar in (*PYSPARK.glob("jars/*"), *jars):
            (home / "jars" / jar.name).symlink_to(jar)
        return str(home)

    return make


@pytest.fixture
def port() -> str:
    """Returns a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.fixture(scope="session")
def prototypes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prototypes:
    return Prototypes.made(spark, tmp_path_factory.mktemp("prototypes"))


@pytest.fixture(scope="session")
def home(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of the lakehouse, which a catalog of the session lists."""
    folder = tmp_path_factory.mktemp("runs")
    add_catalog(spark, folder, CATALOG, "PathCatalog", "ListingCatalog")
    return folder


@pytest.fixture
def lakehouse(spark: SparkSession, prototypes: Prototypes, home: Path) -> Lakehouse:
    made = Lakehouse.of(prototypes, home)
    forget_logs(spark)
    return made


@pytest.fixture
def small_lakehouse(spark: SparkSession, prototypes: Prototypes, home: Path) -> Lakehouse:
    """Makes a schema with each kind of table, tables with paths, and broken tables."""
    made = Lakehouse.of(prototypes, home, schemas=["sales/deep"], odd=[])
    forget_logs(spark)
    return made


@pytest.fixture
def few_tables(spark: SparkSession, prototypes: Prototypes, home: Path) -> Lakehouse:
    """Makes a schema of four tables, tables with paths, and broken tables."""
    made = Lakehouse.of(prototypes, home, schemas=["sales/deep"], odd=[], kinds=FEW_KINDS)
    forget_logs(spark)
    return made


@pytest.fixture(scope="module")
def driver(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    """Yields drivers of commands with the catalog of the lakehouse."""
    with start(home, tmp_path_factory.mktemp("driver")) as made:
        yield made
