# SPDX-License-Identifier: Apache-2.0
"""Tests that `make release` is reproducible, and that pip, Spark and Maven install its files."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pyspark
import pytest

import spark_ext
from tests.packaging import release as releasing
from tests.support.environments import run
from tests.support.install_page import block
from tests.support.table_log import TableLog, is_uuid_name

pytestmark = pytest.mark.matrix

CHECKOUT = Path(__file__).parents[2]
SECTION = "Maven coordinates"
VERSION = spark_ext.__version__
PYSPARK = Path(pyspark.__file__).parent
POM = {"": "http://maven.apache.org/POM/4.0.0"}

STATEMENTS = [
    "CREATE TABLE t (a INT) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name',"
    " 'delta.feature.columnMappingUsageTracking' = 'supported')",
    "ALTER TABLE t RENAME COLUMN a TO b",
    "ALTER TABLE t ADD COLUMN a INT",
    "SELECT * FROM column_mapping('t')",
]
APPLICATION = f"""
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
for statement in {STATEMENTS}:
    spark.sql(statement).show()
spark.stop()
"""
BUILD = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId>
  <artifactId>app</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <repositories>
    <repository><id>release</id><url>{repository}</url></repository>
  </repositories>
  <dependencies>
{ours}
    <dependency>
      <groupId>io.delta</groupId>
      <artifactId>{delta[1]}</artifactId>
      <version>{delta[2]}</version>
    </dependency>
    <dependency>
      <groupId>org.example</groupId>
      <artifactId>spark</artifactId>
      <version>1</version>
      <scope>system</scope>
      <systemPath>{spark}</systemPath>
    </dependency>
    <dependency>
      <groupId>org.example</groupId>
      <artifactId>scala</artifactId>
      <version>1</version>
      <scope>system</scope>
      <systemPath>{scala}</systemPath>
    </dependency>
  </dependencies>
</project>
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the files that `make release` built from this commit, or builds the same files."""
    if built := os.environ.get("RELEASE"):
        return Path(built).resolve()
    folder = tmp_path_factory.mktemp("release")
    releasing.build("HEAD", folder)
    return folder


@pytest.fixture
def shell(release: Path, tmp_path: Path) -> Callable[..., str]:
    """Returns a function that runs a shell without fetched jars, which finds the release."""
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(
        f"spark.master local[2]\nspark.ui.enabled false\nspark.jars.ivy {tmp_path / 'ivy'}\n"
        "spark.sql.catalogImplementation in-memory\n"
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    place = tmp_path / "place"
    place.mkdir()

    def type_in(command: str, further: str = "") -> str:
        program, _, arguments = command.strip().partition(" ")
        repository = f"--repositories {(release / 'maven').as_uri()}"
        command = f"{program} {repository} {arguments} {further}"
        return run("bash", "-c", command, cwd=place, SPARK_CONF_DIR=str(conf), PATH=path)

    return type_in


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def assert_tracked(log: TableLog) -> None:
    assert log.is_tracked
    assert log.flag == "true"
    assert log.physical_names["b"] == "a"
    assert is_uuid_name(log.physical_names["a"])


def test_same_commit_gives_the_same_bytes(release: Path, tmp_path: Path) -> None:
    releasing.build("HEAD", tmp_path)

    again, first = contents(tmp_path), contents(release)
    assert sorted(name for name in first | again if first.get(name) != again.get(name)) == []
    assert first != {}


def test_release_contains_the_files_of_an_index_and_a_repository(release: Path) -> None:
    found = contents(release)

    jar = f"maven/io/sparkext/spark-ext/{VERSION}/spark-ext-{VERSION}"
    artifacts = {f"{jar}{end}" for end in (".jar", ".pom", "-javadoc.jar", "-sources.jar")}
    wheel, sdist = f"spark_ext-{VERSION}-py3-none-any.whl", f"spark_ext-{VERSION}.tar.gz"
    checksums = {f"{name}.{kind}" for name in artifacts for kind in ("md5", "sha1")}
    assert set(found) == {*artifacts, *checksums, f"python/{wheel}", f"python/{sdist}"}
    for name in checksums:
        artifact, _, kind = name.rpartition(".")
        assert found[name].decode() == hashlib.new(kind, found[artifact]).hexdigest()


def test_wheel_contains_the_jar_of_the_repository(release: Path) -> None:
    found = contents(release)
    (wheel,) = (release / "python").glob("*.whl")

    with zipfile.ZipFile(wheel) as archive:
        carried = archive.read("spark_ext/jars/spark-ext.jar")

    assert carried == found[f"maven/io/sparkext/spark-ext/{VERSION}/spark-ext-{VERSION}.jar"]


def test_pom_has_only_provided_and_test_dependencies(release: Path) -> None:
    (pom,) = (release / "maven").rglob("*.pom")
    dependencies = ElementTree.parse(pom).getroot().findall("dependencies/dependency", POM)

    scopes = {dependency.findtext("scope", None, POM) for dependency in dependencies}
    groups = {dependency.findtext("groupId", None, POM) for dependency in dependencies}
    assert scopes == {"provided", "test"}
    assert "io.delta" in groups
    assert "net.bytebuddy" not in groups


def test_wheel_works_in_an_empty_environment(release: Path, tmp_path: Path) -> None:
    (wheel,) = (release / "python").glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"

    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    printed = run(python, "-m", "spark_ext", "doctor", cwd=tmp_path)

    assert str(tmp_path / "venv") in printed
    assert list(tmp_path.glob("venv/lib/python*/site-packages/spark_ext/jars/spark-ext.jar")) != []


def test_spark_submit_resolves_the_jar_by_coordinates(
    shell: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "place" / "app.py").write_text(APPLICATION)

    shell(block(SECTION, "sh", "spark-submit"))

    assert_tracked(TableLog(tmp_path / "place" / "spark-warehouse" / "t"))
    assert [jar.name for jar in (tmp_path / "ivy" / "jars").glob("*spark-ext*")] == [
        f"io.sparkext_spark-ext-{VERSION}.jar"
    ]


def test_spark_sql_resolves_the_jar_by_coordinates(
    shell: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "place" / "script.sql").write_text(";\n".join(STATEMENTS) + ";\n")

    printed = shell(block(SECTION, "sh", "spark-sql"), "-f script.sql")

    assert "b\tb\ta\t1\tint" in printed
    assert_tracked(TableLog(tmp_path / "place" / "spark-warehouse" / "t"))


def test_java_build_resolves_the_jar_by_coordinates(release: Path, tmp_path: Path) -> None:
    (coordinates,) = re.findall(r"(io\.delta:\S+:[\d.]+),io", block(SECTION, "sh", "spark-sql"))
    (spark,) = (PYSPARK / "jars").glob("spark-sql-api_*.jar")
    (scala,) = (PYSPARK / "jars").glob("scala-library-*.jar")
    pom = BUILD.format(
        repository=(release / "maven").as_uri(),
        ours=block(SECTION, "xml"),
        delta=coordinates.split(":"),
        spark=spark,
        scala=scala,
    )
    (tmp_path / "pom.xml").write_text(pom.strip())
    sources = tmp_path / "src" / "main" / "java"
    sources.mkdir(parents=True)
    (sources / "App.java").write_text(block("Scala and Java", "java"))

    # Maven reads the repository of the jar's build, and writes to a folder that is removed.
    local = [f"-Dmaven.repo.local={tmp_path / 'repository'}"]
    local += [f"-Dmaven.repo.local.tail={CHECKOUT / '.maven' / 'repository'}"]
    goals = ["compile", "org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy-dependencies"]
    goals += [
        "-DincludeScope=runtime",
        "-DexcludeScope=system",
        f"-DoutputDirectory={tmp_path / 'lib'}",
    ]
    maven: list[str | Path] = [
        sys.executable,
        CHECKOUT / "jars" / "maven.py",
        "-q",
        "-B",
        "-ntp",
        *local,
        *goals,
    ]
    subprocess.run(maven, cwd=tmp_path, check=True)
    libraries = {jar.name for jar in (tmp_path / "lib").iterdir()}
    java = ["java", "--add-opens", "java.base/java.nio=ALL-UNNAMED"]
    java += ["--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED", "-Dspark.master=local"]
    java += ["-Dspark.ui.enabled=false", "-cp", f"{PYSPARK}/jars/*:lib/*:target/classes"]
    run(*java, "App", *STATEMENTS, cwd=tmp_path)

    assert f"spark-ext-{VERSION}.jar" in libraries
    assert [name for name in libraries if name.startswith("byte-buddy")] == []
    assert_tracked(TableLog(tmp_path / "spark-warehouse" / "t"))
