# SPDX-License-Identifier: Apache-2.0
"""A column's name is its own in data files, or no column's."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import RISK, Finding
from spark_ext.log.actions import FileGroup, TableLog
from spark_ext.log.replay import State
from spark_ext.model.misleading_names import misleading_names
from spark_ext.model.schema import Path, as_code, lower, quoted

_REMEDY = (
    "spark_ext.UsageTracking.forName(spark, ..).align_names() gives every column its own name in"
    " the files."
)

_Pair = tuple[object, object]


def name_of_another(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds columns by whose name data files hold another one, be it dropped or not.

    It is what a rename, or a drop, followed by an ADD of the old name makes, and damages nothing:
    Delta goes by physical names and ids. A dropped column is found where a footer shows it.

    Source:
        Protocol, "Reader Requirements for Column Mapping", which readers have to follow for
        statistics as well.

    Example:
        >>> one = table({"town": "1 city"}, "name", "true")
        >>> other = table({"town": "1 city", "city": "2 col-5d2c"}, "name", "true")
        >>> [(found.version, found.column) for found in name_of_another(*history(one, other))]
        [(1, 'city')]
    """
    newest = states[-1]
    if not newest.is_mapped or newest.metadata.schema is None:
        return
    others = misleading_names(newest.metadata.schema)
    versions = _versions(states)
    ids = {column.path: column.id for column in newest.columns}
    for path, other in others.items():
        yield Finding(
            version=versions[ids[path], ids[other]],
            check="name_of_another",
            column=quoted(path),
            file=None,
            message=(
                f"Data files hold the column {as_code(other)} by this column's name. Nothing is"
                " damaged, and Delta reads both. Readers that go by the names of the table, be it"
                " only to skip files by their statistics, may miss rows, or show the values of one"
                " as those of the other."
            ),
            remedy=_REMEDY,
            severity=RISK,
        )
    for path, groups in _dropped(log, newest).items():
        yield Finding(
            version=log.last_version,
            check="name_of_another",
            column=quoted(path),
            file=groups[0].example,
            message=(
                f"{sum(group.num_files for group in groups)} file(s), such as this, hold by this"
                " column's name another one, such as one that was dropped. Nothing is damaged, and"
                " Delta does not show it here. Readers that go by the names of the table, be it"
                " only to skip files by their statistics, may miss rows, or show its values."
            ),
            remedy=f"{_REMEDY} {_purge(newest)} takes the old column out of them.",
            severity=RISK,
        )


def _purge(newest: State) -> str:
    """Delta refuses REORG of a table that a catalog manages."""
    return "INSERT OVERWRITE" if newest.is_catalog_managed else "REORG TABLE .. APPLY (PURGE)"


def _versions(states: tuple[State, ...]) -> dict[_Pair, int]:
    """Since when each pair of columns, by their ids, is so without a break."""
    versions: dict[_Pair, int] = {}
    lasting: set[_Pair] | None = None
    for state in reversed(states):
        now = _pairs(state)
        lasting = now if lasting is None else lasting & now
        if not lasting:
            break
        versions |= dict.fromkeys(lasting, state.version)
    return versions


def _pairs(state: State) -> set[_Pair]:
    if not state.is_mapped or state.metadata.schema is None:
        return set()
    misleading = misleading_names(state.metadata.schema)
    ids = {column.path: column.id for column in state.columns} if misleading else {}
    return {(ids[column], ids[other]) for column, other in misleading.items()}


def _dropped(log: TableLog, newest: State) -> dict[Path, list[FileGroup]]:
    """The files in which a column has the name of one of the table's, and is none of them."""
    held = {lower(column.physical_path) for column in newest.columns}
    looked_for = {
        name: column.path
        for column in newest.columns
        if (name := lower((*column.physical_path[:-1], column.path[-1]))) not in held
    }
    found: dict[Path, list[FileGroup]] = {}
    for group in log.files or ():
        for shown in {lower(column.path) for column in group.columns or ()} & looked_for.keys():
            found.setdefault(looked_for[shown], []).append(group)
    return found
