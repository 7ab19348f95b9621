# SPDX-License-Identifier: Apache-2.0
"""Runs the benches: `make bench` compares tracked tables with plain delta-spark.

A bench is a module with a function `run(folder) -> Report`, which measures in a temporary folder.
`remote.py` contains its sessions, `delta_tables.py` its tables, and `report.py` its figures.
`--proof` checks each table before a bench removes it, as the tests do. A bench without a table on
the local disk then fails.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import audit
import dml
import first_calls
import lakehouse
import object_stores
import purge
import removal_by_copy
import removal_by_metadata
import statements
import survey
import writers
from proved import PROOF
from report import machine

BENCHES = {
    "statements": statements,
    "dml": dml,
    "first-calls": first_calls,
    "removal-by-metadata": removal_by_metadata,
    "removal-by-copy": removal_by_copy,
    "object-stores": object_stores,
    "purge": purge,
    "writers": writers,
    "audit": audit,
    "survey": survey,
    "lakehouse": lakehouse,
}


def main() -> int:
    """Runs the chosen benches, and returns 1 if a figure misses its limit or a proof fails."""
    parser = argparse.ArgumentParser(prog="python bench/run.py")
    parser.add_argument("parts", nargs="*", metavar="part", help=" | ".join(BENCHES))
    parser.add_argument("--proof", action="store_true", help="find broken tables on the local disk")
    options = parser.parse_args()
    chosen = list(dict.fromkeys(options.parts or BENCHES))
    PROOF.is_wanted = options.proof
    print(machine())
    folder = Path(tempfile.mkdtemp(prefix="spark-ext-bench-"))
    is_missed = False
    try:
        for name in chosen:
            own = folder / name
            own.mkdir()
            report = BENCHES[name].run(own)
            report.print()
            is_missed |= report.is_missed
            PROOF.check(own)
            is_missed |= PROOF.is_failed()
    finally:
        shutil.rmtree(folder)
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main())
