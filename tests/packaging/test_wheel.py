# SPDX-License-Identifier: Apache-2.0
"""Tests what the wheel contains, that an installed wheel works, and which builds are refused."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_ext
from tests.support.environments import (
    Environment,
    environment_for,
    metadata_of,
    requirements,
    run,
    run_unchecked,
    without_compiler,
)
from tests.support.sessions import small_session
from tests.support.table_log import TableLog

CHECKOUT = Path(__file__).parents[2]
JAR = "spark_ext/jars/spark-ext.jar"
README = (CHECKOUT / "README.md").read_text()

APPLICATION = """
import json
import shutil
import sys

from pyspark.sql import SparkSession

import spark_ext

builder = SparkSession.builder.config(map=json.loads(sys.argv[2]))
spark = spark_ext.configure(builder).getOrCreate()
table = f"delta.`{sys.argv[1]}`"
spark.sql(f'''CREATE TABLE {table} (a INT, b STRING) USING delta TBLPROPERTIES (
    'delta.columnMapping.mode' = 'name',
    'delta.feature.columnMappingUsageTracking' = 'supported')''')
spark.sql(f"ALTER TABLE {table} ADD COLUMN c INT")
columns = spark_ext.UsageTracking.forPath(spark, sys.argv[1]).columns().collect()
result = {
    "imported": spark_ext.__file__,
    "columns": [[column.name, column.physicalName] for column in columns],
    "javac": shutil.which("javac"),
    "has_compiler": spark._jvm.javax.tools.ToolProvider.getSystemJavaCompiler() is not None,
}
spark.stop()
print(json.dumps(result))
"""

IMPORT_ALL = """
import importlib
import pkgutil
import spark_ext

for module in pkgutil.walk_packages(spark_ext.__path__, "spark_ext."):
    importlib.import_module(module.name)
"""


def build(target: str, source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Builds a wheel or another target of hatchling as pip does, without a network."""
    commands: dict[str, list[str | Path]] = {
        "wheel": ["pip", "wheel", "--no-build-isolation", "--no-deps", "-w", folder, source],
        "sdist": ["hatchling", "build", "-t", "sdist", "-d", folder],
        "wheel:editable": ["hatchling", "build", "-t", "wheel:editable", "-d", folder],
    }
    directory = source if source.is_dir() else source.parent
    return run_unchecked(sys.executable, "-m", *commands[target], cwd=directory)


def built(target: str, source: Path, folder: Path) -> Path:
    finished = build(target, source, folder)
    assert finished.returncode == 0, finished.stderr
    (archive,) = folder.iterdir()
    return archive


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", CHECKOUT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = environment_for(wheel, tmp_path_factory.mktemp("installed") / "venv")
    environment.pip("install", "--no-index", wheel)
    return environment


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Returns a copy of the files of the checkout from which a wheel is built."""
    folder = tmp_path / "copy"
    shutil.copytree(
        CHECKOUT / "spark_ext", folder / "spark_ext", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(CHECKOUT / "jars" / "src" / "main", folder / "jars" / "src" / "main")
    for name in ("LICENSE", "README.md", "hatch_build.py", "pyproject.toml"):
        shutil.copy(CHECKOUT / name, folder)
    return folder


# Refusals.


def assert_refused(target: str, source: Path, *named: str) -> None:
    folder = source.parent / "dist"
    folder.mkdir()

    finished = build(target, source, folder)

    assert finished.returncode != 0
    assert not list(folder.iterdir())
    assert "Traceback" not in finished.stderr
    for text in (JAR, *named):
        assert f"`{text}`" in finished.stderr


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_build_without_the_jar_is_refused(copy: Path, target: str) -> None:
    (copy / JAR).unlink()

    assert_refused(target, copy, "make wheel")


def change(source: Path) -> None:
    with source.open("a") as file:
        file.write("\n")


@pytest.mark.parametrize(
    ("change", "source"),
    [
        (change, "spark_ext/errors.py"),
        (change, "jars/src/main/java/sparkext/UsageTrackingExtension.java"),
        (change, "jars/src/main/resources/__main__.py"),
        (Path.touch, "spark_ext/rules/added.py"),
        (Path.touch, "jars/src/main/java/sparkext/Added.java"),
        (Path.unlink, "spark_ext/errors.py"),
        (Path.unlink, "jars/src/main/java/sparkext/UsageTrackingExtension.java"),
    ],
)
def test_build_with_the_jar_of_other_sources_is_refused(
    copy: Path, change: Callable[[Path], None], source: str
) -> None:
    change(copy / source)

    assert_refused("sdist", copy, "make clean wheel", source)


# Builds.


def test_editable_install_needs_no_jar(copy: Path, wheel: Path, tmp_path: Path) -> None:
    (copy / JAR).unlink()
    environment = environment_for(wheel, tmp_path / "venv")

    environment.pip("install", "--no-index", built("wheel:editable", copy, tmp_path / "dist"))

    origin = "import spark_ext; print(spark_ext.__file__)"
    imported = run(environment.python, "-c", origin, cwd=tmp_path).strip()
    assert Path(imported) == copy / "spark_ext" / "__init__.py"


def test_wheel_contains_the_package_and_the_jar(wheel: Path) -> None:
    package = {
        path.relative_to(CHECKOUT).as_posix(): path.read_bytes()
        for path in (CHECKOUT / "spark_ext").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    with zipfile.ZipFile(wheel) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}

    about = {Path(name).name for name in packed if ".dist-info/" in name}
    assert {name: data for name, data in packed.items() if ".dist-info/" not in name} == package
    assert JAR in packed
    assert about == {"LICENSE", "METADATA", "RECORD", "WHEEL", "entry_points.txt"}


def test_metadata_version_is_one_that_the_upload_reads(wheel: Path) -> None:
    """The program that uploads may be older than the program that builds."""
    assert metadata_of(wheel).metadata["Metadata-Version"] == "2.4"


def with_address(project: Path, repository: str) -> None:
    """Writes the address of the repository into pyproject.toml."""
    text = re.sub(r"^\[project\.urls\]\n(?:.+\n)*", "", project.read_text(), flags=re.MULTILINE)
    project.write_text(f'{text}\n[project.urls]\nRepository = "{repository}"\n')


def test_readme_links_lead_to_the_repository_on_an_index(copy: Path, tmp_path: Path) -> None:
    repository = "https://example.org/spark-ext"
    # The released commit already contains an address.
    for address in ("https://example.org/another", repository):
        with_address(copy / "pyproject.toml", address)

    page = metadata_of(built("wheel", copy, tmp_path / "dist")).read_text("METADATA") or ""

    links = re.findall(r"\]\(([^)]+)\)", page)
    files = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", README)}
    assert f"{repository}/blob/v{spark_ext.__version__}/docs/install.md" in links
    assert f"{repository}/raw/v{spark_ext.__version__}/docs/pictures/parquet-schema.svg" in links
    assert {link for link in links if not link.startswith(("https://", "#"))} == set()
    assert len(links) >= len(files)


def test_jar_contains_the_compiled_py4j_and_its_licence() -> None:
    pom = (CHECKOUT / "jars" / "pom.xml").read_text()
    with zipfile.ZipFile(CHECKOUT / JAR) as jar:
        version = jar.read("META-INF/python/py4j/version.py").decode()
        licence = jar.read("META-INF/python/py4j/LICENSE-py4j.txt").decode()

    (compiled,) = re.findall(r"<py4j.version>(.+)</py4j.version>", pom)
    assert ast.literal_eval(version.partition("=")[2].strip()) == compiled
    assert "Barthelemy Dagenais" in licence


def test_jar_contains_the_licences_of_shaded_libraries() -> None:
    with zipfile.ZipFile(CHECKOUT / JAR) as jar:
        names = jar.namelist()
        apache, notice, asm = (
            jar.read(f"META-INF/{name}").decode() for name in ("LICENSE", "NOTICE", "licenses/ASM")
        )

    shaded = "sparkext/shaded/"
    sources = CHECKOUT / "jars" / "src" / "main" / "java"
    ours = {
        path.relative_to(sources).with_suffix("").as_posix() for path in sources.rglob("*.java")
    }
    classes = {re.split(r"[$.]", name)[0] for name in names if name.endswith(".class")}
    assert {name for name in classes - ours if not name.startswith(shaded)} == set()
    assert {name.split("/")[2] for name in classes - ours} == {"bytebuddy", "parquet", "thrift"}
    assert f"{shaded}bytebuddy/ByteBuddy.class" in names
    assert f"{shaded}bytebuddy/agent/ByteBuddyAgent.class" in names
    assert f"{shaded}bytebuddy/jar/asm/ClassReader.class" in names
    assert f"{shaded}parquet/FileMetaData.class" in names
    assert f"{shaded}thrift/protocol/TCompactProtocol.class" in names
    assert apache == (CHECKOUT / "LICENSE").read_text()
    assert "Apache License" in apache
    assert "Rafael Winterhalter" in notice
    assert "Apache Parquet Format Structures" in notice
    assert "Apache License, Version 2.0" in notice
    assert "Redistribution and use in source and binary forms" in asm
    assert "Neither the name of the copyright holders" in asm


def test_demo_extra_lists_the_imports_of_the_demo(wheel: Path) -> None:
    tree = ast.parse((CHECKOUT / "examples" / "demo.py").read_text())
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    for node in ast.walk(tree):
        modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
    foreign = {module.split(".")[0] for module in modules} - sys.stdlib_module_names

    extra = {requirement.name for requirement in requirements(metadata_of(wheel), extra="demo")}

    assert foreign - {"spark_ext"} == extra - {"delta-spark"}


def test_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = built("sdist", CHECKOUT, tmp_path / "sdist")

    again = built("wheel", sdist, tmp_path / "dist")

    assert again.read_bytes() == wheel.read_bytes()


def test_wheel_works_outside_the_checkout_without_a_compiler(
    installed: Environment, tmp_path: Path
) -> None:
    application = tmp_path / "app.py"
    application.write_text(APPLICATION)
    settings = json.dumps(small_session(SparkSession.Builder(), tmp_path / "warehouse")._options)
    shell = without_compiler(tmp_path)

    output = run(installed.python, application, tmp_path / "t", settings, cwd=tmp_path, **shell)

    result = json.loads(output.splitlines()[-1])
    log = TableLog(tmp_path / "t")
    assert result == {
        "imported": str(installed.site_packages / "spark_ext" / "__init__.py"),
        "columns": [["a", "a"], ["b", "b"], ["c", "c"]],
        "javac": None,
        "has_compiler": False,
    }
    assert log.version == 1
    assert log.is_tracked
    assert log.flag == "false"
    assert log.physical_names == {"a": "a", "b": "b", "c": "c"}


def test_jars_command_prints_the_installed_jar(installed: Environment, tmp_path: Path) -> None:
    program = installed.home / "bin" / "spark-ext"

    printed = run(program, "jars", cwd=tmp_path).strip()

    assert printed == run(installed.python, "-m", "spark_ext", "jars", cwd=tmp_path).strip()
    assert run(program, "--version", cwd=tmp_path) == f"spark-ext {spark_ext.__version__}\n"
    assert Path(printed) == installed.site_packages / JAR
    assert Path(printed).read_bytes() == (CHECKOUT / JAR).read_bytes()


def test_uninstalling_removes_every_file(wheel: Path, tmp_path: Path) -> None:
    environment = environment_for(wheel, tmp_path / "venv")
    before = environment.contents()
    environment.pip("install", "--no-index", wheel)
    assert environment.contents() != before
    run(environment.python, "-c", IMPORT_ALL, cwd=tmp_path)

    environment.pip("uninstall", "--yes", "spark-ext")

    assert environment.contents() == before
