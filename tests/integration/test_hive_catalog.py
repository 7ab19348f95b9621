# SPDX-License-Identifier: Apache-2.0
"""Tests sessions with a Hive catalog, whose analyzer omits some rules of extensions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent


# Statements that the session's rules refuse before Delta sees them.
REFUSALS = ["test_flag_property.py", "test_statements.py"]


@pytest.mark.parametrize(
    ("files", "options"),
    [
        (REFUSALS, ["-k", "test_flag_property or test_flag_of"]),
        # This run has all variants.
        pytest.param(
            REFUSALS,
            ["-m", "", "-k", "test_flag_property or register or refused or like"],
            marks=pytest.mark.matrix,
        ),
        pytest.param(
            ["test_removals.py", "test_statements.py"],
            ["-m", "", "-k", "refuse or invalid_names or block"],
            marks=pytest.mark.matrix,
        ),
        # Statements that list the tables of the catalog.
        pytest.param(
            ["test_surveyed_tables.py"],
            ["-m", "", "-k", "every_delta or current"],
            marks=pytest.mark.matrix,
        ),
        # One call for a schema with tables of all kinds.
        pytest.param(
            ["test_lakehouse.py", "test_lakehouse_certificates.py"],
            ["-k", "removal_of_a_schema or patterns or two_names or places"],
            marks=pytest.mark.matrix,
        ),
    ],
    ids=["the flag", "creation", "removal", "the survey", "a lakehouse"],
)
def test_statements_are_refused_and_work_as_with_the_catalog_in_memory(
    tmp_path: Path, files: list[str], options: list[str]
) -> None:
    paths = [str(FOLDER / file) for file in files]
    options = [*options, "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "pytest")]

    run = subprocess.run(
        [sys.executable, "-m", "pytest", *paths, *options],
        cwd=ROOT,
        env={**os.environ, "TEST_CATALOG": "hive"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    assert run.returncode == 0, run.stdout
    shutil.rmtree(tmp_path / "pytest")  # the run has judged these tables
