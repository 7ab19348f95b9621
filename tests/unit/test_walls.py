# SPDX-License-Identifier: Apache-2.0
"""Tests what each room may import. A room is a package or module of `spark_ext`, or a Java package.

A line of a table has a room, the rooms that it may import, and perhaps other libraries.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "spark_ext"
JAR = PACKAGE / "jars" / "spark-ext.jar"
CONTRIBUTING = (ROOT / ".github" / "CONTRIBUTING.md").read_text()

PYTHON = """
errors:
show:
model: errors
rules: errors model
column_mapping: errors model rules
removal: errors model
log: model
auditing: log model
erasure: log model
process: errors model rules removal log auditing erasure; py4j
version:
launch: errors version; pyspark delta py4j
tables: errors show model removal auditing launch version; pyspark py4j
doctor: errors model launch version; pyspark
cli: errors model removal launch tables doctor; pyspark
__init__: errors column_mapping removal auditing launch tables version
__main__: cli version
"""
# `release` uses the names of two classes of `delta`, and loads neither.
JAVA = """
common: ; spark sql delta
parquet:
s3: parquet
process: common; spark sql py4j
release: common delta; weaver
copy: common parquet s3; spark
log: common parquet; spark sql delta
delta: common log; spark sql delta weaver py4j
check: common delta; spark sql delta
wire: common delta log parquet process; spark sql delta
stale: common delta log; spark sql delta
files: common copy delta log parquet s3 wire; spark sql delta
removal: common copy delta files log parquet wire; spark sql delta
hook: common delta release removal stale wire; spark sql delta weaver
sql: common delta files log release removal wire; spark sql delta
*.java: check common hook process release sql stale; spark sql delta weaver py4j
"""
LIBRARIES = {
    "spark": rb"org/apache/spark/(?!sql/)",
    "sql": rb"org/apache/spark/sql/(?!delta/)",
    "delta": rb"org/apache/spark/sql/delta/|io/delta/",
    "weaver": rb"sparkext/shaded/bytebuddy/",
    "py4j": rb"py4j/",
}
# A resource has a suffix, or is a folder.
CLASS = rb"[A-Z][\w$]*(?![\w/$.])"


def rooms(table: str) -> dict[str, tuple[set[str], set[str]]]:
    """Returns the rooms that each room may import, and its libraries."""
    parts = (re.split("[:;]", f"{line};;")[:3] for line in table.split("\n") if line)
    return {
        room: (set(others.split()), set(libraries.split())) for room, others, libraries in parts
    }


def imports(node: ast.AST) -> Iterator[str]:
    """Yields the modules that a module imports anywhere, except under TYPE_CHECKING."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        is_package = node.module == "spark_ext"
        yield from (
            f"{node.module}.{a.name}" if is_package else str(node.module) for a in node.names
        )
    for child in ast.iter_child_nodes(node):
        yield from imports(child)


@pytest.mark.parametrize("module", sorted(PACKAGE.rglob("*.py")), ids=lambda m: m.stem)
def test_module_imports_only_allowed_rooms_and_libraries(module: Path) -> None:
    here = module.relative_to(PACKAGE).with_suffix("").parts[0]
    allowed, libraries = rooms(PYTHON)[here]

    for name in imports(ast.parse(module.read_text())):
        top, _, inner = name.partition(".")
        if top == "spark_ext":
            room = inner.split(".")[0]
            assert (room if room in rooms(PYTHON) else "__init__") in {here, *allowed}, name
        else:
            assert top in sys.stdlib_module_names | libraries, name


@pytest.mark.parametrize("table", [PYTHON, JAVA], ids=["Python", "Java"])
def test_rooms_have_no_circle(table: str) -> None:
    TopologicalSorter({room: allowed for room, (allowed, _) in rooms(table).items()}).prepare()


@pytest.mark.skipif(not JAR.exists(), reason="the jar is not built")
def test_java_class_uses_only_allowed_rooms_and_libraries() -> None:
    wrong, seen = set(), set()
    with zipfile.ZipFile(JAR) as jar:
        for name in jar.namelist():
            found = re.fullmatch(r"sparkext/(?:(\w+)/)?[A-Z][\w$]*\.class", name)
            if found:
                here = found[1] or "*.java"
                allowed, libraries = rooms(JAVA)[here]
                content = jar.read(name)
                used = re.findall(rb"sparkext/(?:(\w+)/)?" + CLASS, content)
                seen.add(here)
                wrong |= {(name, room.decode()) for room in used} - {
                    (name, room) for room in (*allowed, here.replace("*.java", ""))
                }
                wrong |= {
                    (name, library)
                    for library, pattern in LIBRARIES.items()
                    if library not in libraries
                    and re.search(rb"(?:%s)(?:\w+/)*%s" % (pattern, CLASS), content)
                }

    assert wrong == set()
    assert seen == rooms(JAVA).keys()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import spark_ext.column_mapping, spark_ext.rules, spark_ext.removal.stages", set()),
        ("import spark_ext.process.questions", set()),
        ("import spark_ext.process.__main__", {"py4j"}),
    ],
)
def test_import_loads_only_allowed_libraries(statement: str, expected: set[str]) -> None:
    # The environment's own start-up files import other modules.
    code = (
        f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = {name.split(".")[0] for name in done.stdout.split()}
    # Start-up modules of the standard library
    loaded = {name for name in loaded if not name.startswith("_sysconfigdata")}
    assert loaded - {"spark_ext"} - sys.stdlib_module_names == expected
    assert not [name for name in done.stdout.split() if name.startswith("spark_ext.tables")]


def test_contributing_lists_every_room() -> None:
    listed = re.findall(r"^\| `([\w*.]+?)(?:/|\.py)?`", CONTRIBUTING, re.MULTILINE)

    assert {*listed} - {"spark_ext"} == {*rooms(PYTHON), *rooms(JAVA)}
