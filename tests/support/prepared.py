# SPDX-License-Identifier: Apache-2.0
"""Tables that many tests begin with: made once in a session, then copied file by file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec

from tests.support.delta_table import Table
from tests.support.sessions import warehouse_of

Arguments = ParamSpec("Arguments")
# Delta writes the version of each commit into the settings of the session.
LAST_COMMIT = "spark.databricks.delta.lastCommitVersionInSession"
_MADE: dict[object, Path] = {}


def made_once(
    make: Callable[Concatenate[Table, Arguments], object],
) -> Callable[Concatenate[Table, Arguments], Table]:
    """Lets later calls with the same arguments copy the files of the table that the first made.

    The session's settings are part of the arguments. Delta's log names files relative to the table,
    so a copy at another path is whole. A table of the catalog is made each time.
    """

    @wraps(make)
    def make_or_copy(
        table: Table, /, *arguments: Arguments.args, **options: Arguments.kwargs
    ) -> Table:
        if str(table.path) not in table.name:
            make(table, *arguments, **options)
            return table
        storage = table.name.replace(str(table.path), "")
        settings = frozenset(
            (key, value) for key, value in table.spark.conf.getAll.items() if key != LAST_COMMIT
        )
        key = (make, storage, settings, arguments, frozenset(options.items()))
        if key in _MADE:
            shutil.copytree(_MADE[key], table.path)
            return table
        make(table, *arguments, **options)
        home = warehouse_of(table.spark).with_name("made-once")
        _MADE[key] = home / str(len(_MADE))
        shutil.copytree(table.path, _MADE[key])
        return table

    return make_or_copy
