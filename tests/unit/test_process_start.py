# SPDX-License-Identifier: Apache-2.0
"""Tests the start of the rule process from the jar in hostile environments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import py4j
import pytest

import spark_ext
from tests.unit import test_messages
from tests.unit.test_process import SECONDS, TOKEN, Worker, call

PACKAGE = Path(spark_ext.__file__).parent
START = PACKAGE.parent / "jars" / "src" / "main" / "resources" / "__main__.py"
# The modules that Python, py4j and the rules import at the start.
MODULES = ("os", "json", "socket", "gc", "typing", "logging", "spark_ext", "py4j", "__main__")


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns an archive with the Python files of the jar."""
    path = tmp_path_factory.mktemp("jar") / "spark-ext.jar"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.write(START, "__main__.py")
        for file in (*PACKAGE.rglob("*.py"), *PACKAGE.glob("*.json")):
            jar.write(file, Path("spark_ext") / file.relative_to(PACKAGE))
        for file in Path(py4j.__file__).parent.glob("*.py"):
            jar.write(file, Path("META-INF", "python", "py4j", file.name))
    return path


@pytest.fixture
def shadows(tmp_path: Path) -> Path:
    """Returns a directory of modules that must not be imported."""
    directory = tmp_path / "shadows"
    directory.mkdir()
    for module in MODULES:
        (directory / f"{module}.py").write_text(f"raise SystemExit('{module} was shadowed')\n")
    return directory


def start(
    jar: Path, directory: Path, python: str = sys.executable, **variables: str
) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    hidden = ("PYTHON", "SPARK_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    return subprocess.Popen(
        [python, "-E", str(jar)],
        cwd=directory,
        env={**kept, **variables},
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
    )


def assert_serves(process: subprocess.Popen[str]) -> None:
    """Checks that the process answers a question, and ends the process."""
    with process:
        try:
            worker = Worker(process)
            connection, greeting = worker.connect(TOKEN)
            with connection:
                answer = call(connection, json.dumps(test_messages.REQUEST))
        finally:
            process.kill()
    assert greeting == "!yv"
    assert answer["error"]["condition"] == "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"


def output_of_failed_start(process: subprocess.Popen[str]) -> str:
    """Returns the output of a process that fails to start."""
    with process:
        out, err = process.communicate(f"{TOKEN}\n", timeout=SECONDS)
    assert (process.returncode, out) == (1, "")
    return err


@pytest.mark.parametrize("entries", [None, "{0}", "", ".", ":", "{0}:{0}/missing:"])
def test_working_directory_or_python_path_shadows_no_module(
    jar: Path, shadows: Path, entries: str | None
) -> None:
    variables = {} if entries is None else {"PYTHONPATH": entries.format(shadows)}

    assert_serves(start(jar, shadows, **variables))


@pytest.mark.parametrize("has_py4j", [False, True])
def test_py4j_is_that_of_the_jar_with_and_without_one_of_the_interpreter(
    jar: Path, tmp_path: Path, shadows: Path, has_py4j: bool
) -> None:
    """An older py4j could make the start fail."""
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python3*/site-packages")
    if has_py4j:
        (shadows / "py4j.py").rename(packages / "py4j.py")

    assert_serves(start(jar, tmp_path, str(environment / "bin" / "python")))


def test_py4j_of_spark_is_not_imported(jar: Path, tmp_path: Path, shadows: Path) -> None:
    library = tmp_path / "python" / "lib" / "py4j-0.0-src.zip"
    library.parent.mkdir(parents=True)
    library.symlink_to(shadows)

    assert_serves(start(jar, tmp_path, SPARK_HOME=str(tmp_path)))


def test_old_python_is_reported_before_the_rules_are_imported(jar: Path, tmp_path: Path) -> None:
    script = tmp_path / "old.py"
    script.write_text(
        "import runpy, sys\n"
        "sys.version_info = (3, 9, 18, 'final', 0)\n"
        "try:\n"
        f"    runpy.run_path({str(jar)!r}, run_name='__main__')\n"
        "finally:\n"
        "    assert not {'py4j', 'spark_ext'} & set(sys.modules)\n"
    )

    output = output_of_failed_start(start(script, tmp_path))

    assert "3.9.18" in output
    assert sys.executable in output
    assert "Traceback" not in output


def old_pythons() -> list[Path]:
    """Returns the Pythons before 3.10 that are installed beside this one."""
    versions = Path(sys.base_prefix).parent
    return [*versions.glob("2.*/bin/python"), *versions.glob("3.[0-9].*/bin/python")]


@pytest.mark.parametrize("python", old_pythons(), ids=lambda python: python.parts[-3])
def test_real_old_python_is_reported(jar: Path, tmp_path: Path, python: Path) -> None:
    output = output_of_failed_start(start(jar, tmp_path, str(python)))

    assert output.split()[-1] == python.parts[-3]
