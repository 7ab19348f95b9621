# SPDX-License-Identifier: Apache-2.0
"""Sessions with a Hive catalog, whose analyzer takes fewer of an extension's rules over."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
# What the rules of a session decide before Delta sees the statement.
STATEMENTS = ["test_flag_property.py", "test_register_table.py", "test_create_table.py"]
# What asks the catalog which tables there are.
LISTS = ["test_survey.py"]
# All of the first two, and of the others.
CHOSEN = "test_flag_property or test_register_table or refused or like or every_delta or current"


def test_statements_are_refused_and_work_as_with_the_catalog_in_memory(tmp_path: Path) -> None:
    files = [str(FOLDER / file) for file in (*STATEMENTS, *LISTS)]
    options = ["-k", CHOSEN, "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "pytest")]

    run = subprocess.run(
        [sys.executable, "-m", "pytest", *files, *options],
        cwd=ROOT,
        env={**os.environ, "TEST_CATALOG": "hive"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    assert run.returncode == 0, run.stdout
