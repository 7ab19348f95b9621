# SPDX-License-Identifier: Apache-2.0
"""Provides rule processes with other rules or none, and a storage that fails."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent, indent

import pytest
from pyspark.sql import SparkSession

from tests.support import odd_disk
from tests.support.custom_sessions import our_jar, resolved_jars
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.java_sources import add_storage
from tests.support.odd_disk import OddDisk
from tests.support.rule_process import PYTHON
from tests.support.session_conf import SetConf

pytest.register_assert_rewrite("tests.integration.scripts")


@pytest.fixture(scope="module")
def tracked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Returns a table for many small commits. A checkpoint would take longer than they do."""
    table = Table(spark, tmp_path_factory.mktemp("tracked") / "t")
    return table.create("a INT", TRACKED, NAME_MODE, "'delta.checkpointInterval' = '1000'")


@pytest.fixture(scope="session")
def delta_jars(spark: SparkSession) -> list[str]:
    return resolved_jars(spark)


@pytest.fixture
def interpreter(tmp_path: Path, driver_conf: SetConf) -> Callable[[str], str]:
    """Returns a function that makes a script the interpreter, and returns the process's command."""

    def install(script: str) -> str:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        driver_conf(PYTHON, str(path))
        return f"{path} -E {our_jar()}"

    return install


@pytest.fixture
def rules(tmp_path: Path, interpreter: Callable[[str], str]) -> Callable[..., str]:
    """Returns a function that lets the worker run a body per question, and returns its command."""

    def install(body: str = "return super().ask(question, request)", *, setup: str = "") -> str:
        program = tmp_path / "worker.py"
        program.write_text(
            "import os, sys, threading\n"
            "sys.path.insert(0, sys.argv[2])\n"
            "from spark_ext.process import __main__ as worker\n"
            f"{dedent(setup)}\n"
            "class Rules(worker.RuleService):\n"
            "    def ask(self, question, request):\n"
            f"{indent(dedent(body), ' ' * 8)}\n"
            "worker.RuleService = Rules\n"
            "worker.main()\n"
        )
        return interpreter(f'exec "{sys.executable}" "{program}" "$@"')

    return install


@pytest.fixture(scope="session")
def odd_session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """Returns a session with the storage of `odd_disk.py`."""
    add_storage(spark, "odd", odd_disk.SOURCE, tmp_path_factory.mktemp("odd"))
    return spark


@pytest.fixture
def disk(odd_session: SparkSession, tmp_path: Path) -> Iterator[OddDisk]:
    """Yields the storage of `odd_session`, for tables `odd:<path>`."""
    disk = OddDisk(odd_session, tmp_path / "disk")
    yield disk
    disk.close()


@pytest.fixture
def created(spark: SparkSession) -> Iterator[list[str]]:
    """Yields the names of tables to drop after the test, and after the proof has judged them."""
    names: list[str] = []
    yield names
    for name in names:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
