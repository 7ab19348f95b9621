# SPDX-License-Identifier: Apache-2.0
"""Each check finds its defect, and nothing else is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from audited import findings
from defects import DEFECTS
from plain import plain_session
from pyspark.sql import SparkSession
from workshop import TABLES, Workshop

from spark_ext.auditing import CHECKS


@pytest.fixture(scope="module")
def workshop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    folder = tmp_path_factory.mktemp("golden")
    with plain_session(spark, folder) as plain:
        yield Workshop(folder, spark, plain)


def check_of(defect: str) -> str:
    return defect.split("__")[0]


# One test for all: no variant is left to the matrix, and a table takes seconds.
def test_each_check_finds_its_defect_and_nothing_else(workshop: Workshop) -> None:
    found = {
        name: {finding.check for finding in findings(make(workshop, name))}
        for name, make in DEFECTS.items()
    }

    assert found == {name: {check_of(name)} for name in DEFECTS}


def test_the_tables_that_were_broken_are_sound_before(workshop: Workshop) -> None:
    found = {kind: findings(workshop.sound(kind)) for kind in TABLES}

    assert found == dict.fromkeys(TABLES, ())


def test_every_check_has_a_defect() -> None:
    assert {check_of(name) for name in DEFECTS} == {check.__name__ for check in CHECKS}


def test_a_finding_says_where_and_what_to_do(workshop: Workshop) -> None:
    for path in (workshop.place(name) for name in DEFECTS):
        for finding in findings(path):
            assert finding.version is not None
            assert finding.message.endswith(".")
            assert finding.remedy.endswith(".")


def test_a_folder_without_log_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        findings(tmp_path)
