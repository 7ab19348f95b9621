# SPDX-License-Identifier: Apache-2.0
"""Decides from a table's metadata since when its live files may be without dropped columns."""

from __future__ import annotations

from dataclasses import dataclass

from spark_ext.log.actions import TableLog
from spark_ext.log.history import DROP, column_history, states
from spark_ext.model.dropped import CheckedTable


@dataclass(frozen=True)
class ErasureStart:
    """The earliest moment since which all live files may be clean, by the metadata.

    `sparkext.log.FileActions` moves the moment to the newest commit that removed a file which may
    be older than the drop: each file that no version from `since` on has added, or that RESTORE,
    CLONE or CONVERT has added. Of a checked table, only RESTORE and the like can bring such a file
    back.

    Args:
        checked: The version at which an earlier certificate found all live files clean; None
            without a certificate that continues.
        version: The earliest possible version of the moment; -1 if no column was ever dropped.
        time: The time of that version, in milliseconds since the epoch. The JVM corrects it by the
            times of files, except for a checked table.
    """

    since: int
    checked: int | None
    version: int
    time: int


def erasure_start(log: TableLog, checked: CheckedTable | None) -> ErasureStart:
    """Returns what the metadata shows of the moment. The log must have a state.

    A version whose schema cannot be read may have dropped a column, and so may the version at which
    a shortened log begins. If the log shows no drop, the state at its beginning is clean, because
    its files are live now or were removed since.
    """
    found = states(log)
    first = found[0].version
    dropping = {event.version for event in column_history(log).events if event.change == DROP}
    dropping |= {each.version for each in found if each.commit and each.metadata.schema is None}
    drops = {
        each.version: each.time
        for each in log.commits
        if each.version in dropping or (each.metadata and 0 < each.version <= first)
    }
    last = max(drops, default=None)
    if checked is not None and continues(log, checked):
        version, time = checked.moment_version, checked.moment_time
        if version is not None and time is not None and (last is None or last <= checked.version):
            return ErasureStart(checked.version + 1, checked.version, version, time)
    if last is not None:
        return ErasureStart(last, None, last, drops[last] or 0)
    return ErasureStart(first, None, first - 1, 0)


def continues(log: TableLog, checked: CheckedTable) -> bool:
    """Returns whether the log of the same table shows every version after the checked one."""
    if states(log)[-1].metadata.id != checked.table_id:
        return False
    if checked.version == log.last_version:
        return True
    first = log.last_version + 1 if log.first_commit is None else log.first_commit
    return first <= checked.version + 1 <= log.last_version
