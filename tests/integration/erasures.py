# SPDX-License-Identifier: Apache-2.0
"""Makes tables with dropped columns, and reads what `dropped_columns` reports of them."""

from __future__ import annotations

from typing import Any

import spark_ext
from spark_ext import Certificate, DroppedColumns
from tests.integration.held_bytes import holders
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.prepared import made_once

MARKER = "Z7q0MARKER0q7Z"
SHORT = (
    "'delta.deletedFileRetentionDuration' = 'interval 0 hours'",
    "'delta.logRetentionDuration' = 'interval 0 days'",
)
GONE = ("ERASED", "NEVER_HAD")


def certificate(table: Table, *, column: str | None = "ssn", **options: Any) -> Certificate:
    """Returns a certificate, which is never earlier than the bytes on the disk allow."""
    with table.no_commit():
        found = spark_ext.dropped_columns(
            table.spark, table.path, column=column, progress=None, **options
        )
    if column in ("ssn", None):
        left = holders(table.path, MARKER)
        assert found.verdict not in GONE or not left, (repr(found), left)
    return found


def found_in(table: Table, **options: Any) -> DroppedColumns:
    (found,) = certificate(table, **options).tables
    return found


def verdict(table: Table, **options: Any) -> str:
    return found_in(table, **options).verdict


def remaining(found: DroppedColumns) -> dict[str, int]:
    """Returns the number of remaining files of each place that has some."""
    return {each.place: each.num_files for each in found.places if each.num_files}


def steps(found: DroppedColumns) -> list[str]:
    """Returns the steps in their order, each once."""
    return list(dict.fromkeys(each.step for each in found.places if each.step is not None))


def clean_up_log(table: Table) -> None:
    """Lets Delta delete every commit before a new checkpoint."""
    table.age_log()
    table.alter("SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")


def erase(table: Table, **options: Any) -> Certificate:
    """Runs the steps, and returns the certificate, which says ERASED."""
    if "PURGE" in steps(found_in(table, **options)):
        table.purge()
    for _ in range(2):  # VACUUM deletes the emptied folders of partitions in its second run
        table.spark.sql(f"VACUUM {table.name}")
    table.alter("SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")
    proof = certificate(table, **options)
    table.age_log()
    # A commit without metadata: its checkpoint is the new beginning of the log.
    table.spark.sql(f"INSERT INTO {table.name} SELECT * FROM {table.name} LIMIT 1")
    proof = certificate(table, **{**options, "certificate": proof})
    assert proof.verdict == "ERASED", repr(proof)
    return proof


@made_once
def top_level(table: Table) -> None:
    table.create("id INT, ssn STRING", TRACKED, NAME_MODE, *SHORT)
    table.insert(f"(1, '{MARKER}')")
    table.alter("DROP COLUMN ssn")
