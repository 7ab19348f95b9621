# SPDX-License-Identifier: Apache-2.0
"""Tests the allowed imports of each room, and the modules that a process loads.

A room is a package or module of `spark_ext`, or a Java package.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "spark_ext"
JAVA = ROOT / "jars/src/main/java/sparkext"
CONTRIBUTING = ROOT / ".github/CONTRIBUTING.md"
JAVA_TABLE = "| `jars/src/main/java/sparkext/` |"

# The rooms that each room may import, besides itself.
ROOMS: Mapping[str, set[str]] = {
    "errors": set(),
    "show": set(),
    "model": {"errors"},
    "rules": {"errors", "model"},
    "column_mapping": {"errors", "model", "rules"},
    "removal": {"errors", "model"},
    "log": {"model"},
    "auditing": {"log", "model"},
    "erasure": {"log", "model"},
    "process": {
        "errors",
        "model",
        "rules",
        "removal",
        "log",
        "auditing",
        "erasure",
    },
    "version": set(),
    "launch": {"errors", "version"},
    "tables": {"errors", "show", "model", "removal", "auditing", "launch", "version"},
    "doctor": {"errors", "model", "launch", "version"},
    "cli": {"errors", "model", "removal", "launch", "tables", "doctor"},
    "__init__": {
        "errors",
        "column_mapping",
        "removal",
        "auditing",
        "launch",
        "tables",
        "version",
    },
    "__main__": {"cli", "version"},
}
# The libraries that each room may import, besides the standard library.
LIBRARIES: Mapping[str, set[str]] = {
    "process": {"py4j"},
    "launch": {"pyspark", "delta", "py4j"},
    "tables": {"pyspark", "py4j"},
    "doctor": {"pyspark"},
    "cli": {"pyspark"},
}

JAVA_ROOMS: Mapping[str, set[str]] = {
    "common": set(),
    "parquet": set(),
    "s3": {"parquet"},
    "process": {"common"},
    "release": {"common"},
    "copy": {"common", "parquet", "s3"},
    "log": {"common", "parquet"},
    "delta": {"common", "log"},
    "check": {"common", "delta"},
    "wire": {"common", "delta", "log", "parquet", "process"},
    "stale": {"common", "delta", "log"},
    "files": {"common", "copy", "delta", "log", "parquet", "s3", "wire"},
    "removal": {"common", "copy", "delta", "files", "log", "parquet", "wire"},
    "hook": {"common", "delta", "release", "removal", "stale", "wire"},
    "sql": {"common", "delta", "files", "log", "release", "removal", "wire"},
    "": {"check", "common", "hook", "process", "release", "sql", "stale"},
}
# The names that a room or one of its files may not contain.
# The process package uses neither Delta nor the weaver.
FORBIDDEN_IN_JAVA = {
    "process": ("org.apache.spark.sql.delta", "net.bytebuddy"),
    "s3": ("import org.apache.spark", "io.delta", "net.bytebuddy", "py4j"),
    "parquet": ("import org.apache.spark", "io.delta", "net.bytebuddy", "py4j"),
    # Logs of other writers may be invalid for Delta.
    "log": ("sql.delta.Delta", "sql.delta.Snapshot", "sql.delta.actions", "io.delta", "py4j"),
    "copy": ("org.apache.spark.sql", "io.delta", "net.bytebuddy", "py4j"),
    # This package checks whether Spark and Delta fit, so it imports neither.
    "release": ("import org.apache.spark", "import scala", "py4j"),
    "common": ("io.delta", "net.bytebuddy", "py4j"),
    # Rooms without Delta use it for the names of their jobs.
    "common.JobNames": ("org.apache.spark.sql",),
    "delta.CommitActions": ("net.bytebuddy", "py4j"),
    "delta.DeltaShims": ("net.bytebuddy", "py4j"),
    "wire": ("net.bytebuddy", "py4j"),
    "stale": ("net.bytebuddy", "py4j"),
    "check": ("net.bytebuddy", "py4j"),
    "sql": ("net.bytebuddy", "py4j"),
}

# Comments, text blocks, strings, characters.
NO_CODE = re.compile(
    r"""/\*.*?\*/|//[^\n]*|\"{3}(?:\\.|[^\\])*?\"{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'""", re.S
)


@cache
def modules() -> dict[str, Path]:
    return {module_name(path): path for path in PACKAGE.rglob("*.py")}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def imports(path: Path) -> set[str]:
    """Returns the modules that a file imports anywhere, except under TYPE_CHECKING."""
    found: set[str] = set()
    for node in runtime_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"a relative import in {path}"
            assert node.module is not None
            found.update(imported(node.module, alias.name) for alias in node.names)
    return found


def runtime_nodes(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return []
    return [
        node,
        *(inner for child in ast.iter_child_nodes(node) for inner in runtime_nodes(child)),
    ]


def imported(module: str, name: str) -> str:
    return f"{module}.{name}" if f"{module}.{name}" in modules() else module


@pytest.mark.parametrize("module", sorted(modules()))
def test_room_imports_only_allowed_rooms(module: str) -> None:
    here = room(module)
    for name in imports(modules()[module]):
        top = name.split(".")[0]
        if top == "spark_ext":
            assert room(name) in {here, *ROOMS[here]}, name
        else:
            assert top in sys.stdlib_module_names | LIBRARIES.get(here, set()), name


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_have_no_circle() -> None:
    graph = {
        module: {name for name in imports(path) if name in modules() and name != module}
        for module, path in modules().items()
    }

    assert circle(graph) == []


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import spark_ext", set()),
        (
            "import spark_ext.column_mapping, spark_ext.rules, spark_ext.removal.stages",
            set(),
        ),
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


@cache
def java_files() -> dict[Path, str]:
    return {path.relative_to(JAVA): path.read_text() for path in JAVA.rglob("*.java")}


@pytest.mark.parametrize("file", sorted(java_files()), ids=str)
def test_java_package_imports_only_allowed_packages(file: Path) -> None:
    here = "" if file.parent == Path() else file.parent.as_posix()
    text = java_files()[file]
    for package in re.findall(r"^import (?:static )?sparkext\.(?:(\w+)\.)?[A-Z]", text, re.M):
        assert package in {here, *JAVA_ROOMS[here]}, package
    for place in (here, java_name(file)):
        for forbidden in FORBIDDEN_IN_JAVA.get(place, ()):
            assert forbidden not in text


def test_java_packages_have_no_circle() -> None:
    assert circle(JAVA_ROOMS) == []


def test_java_rooms_and_their_forbidden_names_belong_to_files() -> None:
    rooms = {"" if file.parent == Path() else file.parent.as_posix() for file in java_files()}

    assert rooms == set(JAVA_ROOMS)
    assert set(FORBIDDEN_IN_JAVA) <= rooms | {*map(java_name, java_files())}


def java_names(file: Path, text: str, neighbours: set[str]) -> set[str]:
    """Returns the files that a file names: in its package by class names, elsewhere by imports."""
    code = NO_CODE.sub(" ", text)
    imported = set(re.findall(r"^import (?:static )?sparkext\.((?:\w+\.)?[A-Z]\w*)", code, re.M))
    named = set(re.findall(r"(?<![\w.])[A-Z]\w*", re.sub(r"^import .*", "", code, flags=re.M)))
    return imported | {java_name(file.with_stem(name)) for name in named & neighbours}


def java_name(file: Path) -> str:
    return ".".join(file.with_suffix("").parts)


def test_java_files_have_no_circle() -> None:
    files = java_files()
    graph = {
        java_name(file): {
            name
            for name in java_names(file, text, {f.stem for f in files if f.parent == file.parent})
            if name != java_name(file)
        }
        for file, text in files.items()
    }

    assert circle(graph) == []
    assert set().union(*graph.values()) <= set(graph)


def as_python(room_: str) -> str:
    return f"{room_}/" if (PACKAGE / room_).is_dir() else f"{room_}.py"


def as_java(package: str) -> str:
    return f"{package}/" if package else "*.java"


def test_contributing_lists_every_room() -> None:
    ours, java = CONTRIBUTING.read_text().split(JAVA_TABLE)
    rooms = {*map(as_python, ROOMS)}, {*map(as_java, JAVA_ROOMS)}

    for text, names in zip((ours, java), rooms, strict=True):
        rows = re.findall(r"^\| `([\w*.]+/?)`.*", text, re.MULTILINE)
        assert set(rows) - {"spark_ext/"} == names
