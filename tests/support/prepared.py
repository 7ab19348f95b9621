# SPDX-License-Identifier: Apache-2.0
"""Makes tables for many tests once in a session, and then copies their files."""

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
    """Decorates a function that makes a table: later calls copy the files of the first call.

    A copy needs the same arguments and the same settings of the session. Delta's log has paths
    relative to the table, so the copy is complete. A table of the catalog is made each time.
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
