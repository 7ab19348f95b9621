# SPDX-License-Identifier: Apache-2.0
"""Runs a file of tests with the plugin `left_tables`, on copies of golden tables."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]

CONFTEST = """
import pytest
from tests.support.left_tables import LeftTables
PLUGIN = LeftTables()
def pytest_configure(config):
    config.addinivalue_line("markers", "broken_table(*checks)")
    config.pluginmanager.register(PLUGIN)
@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory):
    PLUGIN.home = tmp_path_factory.getbasetemp()
"""
TESTS = """
import shutil
import pytest
from tests.support.golden_tables import GOLDEN
broken = pytest.mark.broken_table
pytestmark = broken("id_used_again")
def leave(name, path):
    shutil.copytree(GOLDEN / name, path / "t")
@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    leave("broken_flag_value", path := tmp_path_factory.mktemp("shared"))
    return path
def test_sound(tmp_path): leave("flag_true", tmp_path)
def test_broken(tmp_path): leave("broken_flag_turned_back", tmp_path)
@broken("flag_turned_back")
def test_marked(tmp_path): leave("broken_flag_turned_back", tmp_path)
@broken("flag_turned_back")
def test_stale(tmp_path): leave("flag_true", tmp_path)
def test_failed(tmp_path):
    leave("broken_flag_turned_back", tmp_path)
    assert False
def test_after_the_failed(tmp_path): pass
def test_first_of_shared(shared): pass
def test_second_of_shared(shared): pass
def test_last(shared): (shared / "t" / "_delta_log" / f"{9:020}.json").write_text("{}")
"""


def test_test_fails_if_it_leaves_a_finding_without_a_marker_or_a_marker_without_a_finding(
    tmp_path: Path,
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-rfE", "-p", "no:cacheprovider", "test_some.py"]
    run = subprocess.run(
        [*command, "--basetemp", str(tmp_path / "base")],
        cwd=tmp_path,
        env={"PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
    )

    failed = re.findall(r"^(?:FAILED|ERROR) test_some.py::test_(\w+)", run.stdout, re.MULTILINE)
    assert {*failed} == {"broken", "stale", "failed", "first_of_shared", "last"}, run.stdout
    table = tmp_path / "base" / "test_broken0" / "t"
    assert f"flag_turned_back in version 3 of {table}, by the proof" in run.stdout
    assert "log_without_start in version 9" in run.stdout
    # `test_last` fails twice: with its finding, and with the marker of the module.
    assert "No test of the module has a finding of ('id_used_again',)" in run.stdout
