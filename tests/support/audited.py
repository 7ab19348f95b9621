# SPDX-License-Identifier: Apache-2.0
"""Audits the tables of a test by files alone. A healthy table has only `HARMLESS` findings."""

from __future__ import annotations

import json
from pathlib import Path

from spark_ext.auditing import Finding, audit
from spark_ext.process.messages import parse
from spark_ext.process.table_functions import TableQuestion
from tests.support import log_request

# Findings of healthy tables after renames and drops.
HARMLESS = {"misleading_name"}


def findings(table: Path) -> tuple[Finding, ...]:
    """Returns the findings of the audit in a table on the local disk."""
    question = {"name": "t", "metadata": None, "log": log_request.log(table), "folder": None}
    return audit(parse(TableQuestion, json.dumps(question)).log)
