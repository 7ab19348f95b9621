# SPDX-License-Identifier: Apache-2.0
"""Measures the tables per second of a survey.

The tables are copies of four tables with different histories, and are registered in the catalog.
Delta's cache is emptied before each first survey, so that survey reads each log.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from delta_tables import NAME_MODE, TRACKED, create
from remote import Remote, one_session
from report import Report, table

TABLES = 1_000
# Without checksums, Delta replays the log in Spark jobs, as for any query.
TABLES_WITHOUT_CHECKSUM = 100
COLUMNS = ", ".join(f"column_{number:02} BIGINT" for number in range(32))
VALUES = ", ".join(f"id + {number} AS column_{number:02}" for number in range(32))
FILES = 20
SURVEY = "SELECT * FROM column_mapping_survey('{}')"

BOTH = f"{TRACKED}, {NAME_MODE}"
# Maps a table to its properties and the changes of its columns.
KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "unmapped": ("", ()),
    "untracked": (NAME_MODE, ("RENAME COLUMN column_00 TO a",)),
    "clean": (BOTH, ("ADD COLUMN a INT",)),
    "dropped": (BOTH, ("DROP COLUMN column_00", "RENAME COLUMN column_01 TO a")),
}


@dataclass(frozen=True)
class Surveyed:
    """Contains the result of one run."""

    what: str
    tables: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.tables / self.seconds


def run(folder: Path) -> Report:
    with one_session("plugin", folder) as ours:
        rows = measured(ours, folder)
    cells = (
        (row.what, f"{row.tables:,}", f"{row.seconds:.1f} s", f"{row.rate:.0f}") for row in rows
    )
    headings = ("", "tables", "time", "tables/s")
    title = "a survey of tables in the session catalog"
    return Report(tables=[table(title, headings, cells, to_the_left=("",))])


def measured(session: Remote, folder: Path) -> list[Surveyed]:
    """Measures a first survey, a second survey, and a survey of tables without checksums."""
    kinds = [written(session, folder / kind, *how) for kind, how in KINDS.items()]
    registered(session, "many", copies(kinds, folder / "many", TABLES))
    bare = list(copies(kinds, folder / "bare", TABLES_WITHOUT_CHECKSUM))
    for path in bare:
        for checksum in (path / "_delta_log").glob("*.crc"):
            checksum.unlink()
    registered(session, "bare", bare)
    session.sql(SURVEY.format("default"))  # no tables: starts the rule process
    session.forget()
    return [
        Surveyed("first survey", TABLES, session.sql(SURVEY.format("many"))),
        Surveyed("second survey", TABLES, session.sql(SURVEY.format("many"))),
        without_checksums(session),
    ]


def without_checksums(session: Remote) -> Surveyed:
    """Measures the survey of tables without checksums."""
    session.forget()
    seconds = session.sql(SURVEY.format("bare"))
    return Surveyed("first survey, no checksums", TABLES_WITHOUT_CHECKSUM, seconds)


def written(session: Remote, path: Path, properties: str, changes: Iterable[str]) -> Path:
    """Makes a table with a few commits."""
    session.sql(create(f"delta.`{path}`", COLUMNS, properties))
    session.sql(
        f"INSERT INTO delta.`{path}` SELECT /*+ REPARTITION({FILES}) */ {VALUES}"
        f" FROM range({FILES * 10})"
    )
    for change in changes:
        session.sql(f"ALTER TABLE delta.`{path}` {change}")
    return path


def copies(kinds: list[Path], folder: Path, number: int) -> Iterable[Path]:
    """Copies the tables in turns by hard links."""
    for place in range(number):
        path = folder / f"t{place:04}"
        shutil.copytree(kinds[place % len(kinds)], path, copy_function=os.link)
        yield path


def registered(session: Remote, schema: str, paths: Iterable[Path]) -> None:
    """Registers tables in the catalog."""
    session.sql(f"CREATE SCHEMA {schema}")
    for path in paths:
        session.sql(f"CREATE TABLE {schema}.{path.name} USING delta LOCATION '{path}'")
