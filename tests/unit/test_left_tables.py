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
pytestmark = broken("id_used_again", "feature_without_flag")
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
def test_marked_by_the_module(tmp_path): leave("broken_flag_missing", tmp_path)
def test_failed(tmp_path):
    leave("broken_flag_turned_back", tmp_path)
    assert False
def test_after_the_failed(tmp_path): pass
def test_first_of_shared(shared): pass
def test_second_of_shared(shared): pass
def test_new_commit(shared): (shared / "t" / "_delta_log" / f"{9:020}.json").write_text("{}")
"""


def run(folder: Path, tests: str) -> tuple[set[str], str]:
    """Returns the tests that failed, and the output."""
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-rfE", "-p", "no:cacheprovider", "test_some.py"]
    run = subprocess.run(
        [*command, "--basetemp", str(folder / "base")],
        cwd=folder,
        env={"PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
    )
    return set(re.findall(r"^(?:FAILED|ERROR) test_some.py::(\w+)", run.stdout, re.M)), run.stdout


def test_test_fails_if_it_leaves_a_finding_without_a_marker_or_a_marker_without_a_finding(
    tmp_path: Path,
) -> None:
    failed, output = run(tmp_path / "run", TESTS)

    names = ("broken", "stale", "failed", "first_of_shared", "new_commit")
    assert failed == {f"test_{name}" for name in names}, output
    place = tmp_path / "run" / "base" / "test_broken0" / "t"
    assert f"flag_turned_back in version 3 of {place}, by the proof" in output
    assert "The test makes no table with ('flag_turned_back',)" in output
    assert "log_without_start in version 9" in output


def test_marker_of_a_module_fails_if_no_test_has_a_finding(tmp_path: Path) -> None:
    without = TESTS.replace('leave("broken_flag_missing", tmp_path)', "pass")

    failed, output = run(tmp_path / "run", without)

    assert "test_new_commit" in failed
    assert "No test of the module has a finding of ('id_used_again', 'feature_with" in output
