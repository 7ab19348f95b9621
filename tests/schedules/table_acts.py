# SPDX-License-Identifier: Apache-2.0
"""Contains statements about files, columns, column mapping and versions."""

from __future__ import annotations

import re

from spark_ext import Progress, UsageTracking
from tests.schedules.act import Act, Effect, Moment, Stage, known, nothing, sql
from tests.schedules.row_acts import updating
from tests.support.column_claims import ALIGNING
from tests.support.delta_table import NAME_MODE, TRACKED
from tests.support.flat_tables import Impossible, key_of, renamed, with_column, without
from tests.support.reference_model import State
from tests.support.removal import NONE_MODE, PURGE_SETTING, SETTING

# Statements that change no row and no name.

OPTIMIZE = Act("optimize", sql("OPTIMIZE {t}"), nothing)
ZORDER = Act("z-order", sql("OPTIMIZE {t} ZORDER BY (k)"), nothing)
PROPERTIES = Act("properties", sql("ALTER TABLE {t} SET TBLPROPERTIES ('p{n}' = 'q')"), nothing)
VACUUM = Act("vacuum", sql("VACUUM {t}"), nothing, has_parts=True)
VACUUM_NOW = Act("vacuum now", sql("VACUUM {t} RETAIN 0 HOURS"), nothing, has_parts=True)


def _reorg(stage: Stage, number: int) -> None:
    stage.spark.conf.set(PURGE_SETTING, "copy")
    stage.sql("REORG TABLE {t} APPLY (PURGE)")


REORG = Act("reorg", _reorg, nothing)

# Columns.


def _renaming(old: str, new: str) -> Effect:
    return lambda before, moment: renamed(
        before, key_of(moment.known, old), new.replace("{n}", str(moment.number))
    )


def _dropping(name: str) -> Effect:
    return lambda before, moment: without(before, key_of(moment.known, name))


def _adding(name: str) -> Effect:
    def effect(before: State, moment: Moment) -> State:
        new = name.replace("{n}", str(moment.number))
        return with_column(before, new, f"{new}@{moment.number}")

    return effect


def _rename(old: str, new: str) -> Act:
    text = f"ALTER TABLE {{t}} RENAME COLUMN {old} TO {new}"
    return Act(f"rename {old} to {new}", sql(text), _renaming(old, new))


def _drop(name: str) -> Act:
    return Act(f"drop {name}", sql(f"ALTER TABLE {{t}} DROP COLUMN {name}"), _dropping(name))


def _add(name: str) -> Act:
    return Act(f"add {name}", sql(f"ALTER TABLE {{t}} ADD COLUMN {name} STRING"), _adding(name))


RENAME = _rename("b", "r{n}")
RENAME_B_ASIDE = _rename("b", "aside")
RENAME_D_TO_B = _rename("d", "b")
RENAME_ASIDE_TO_D = _rename("aside", "d")
DROP_B = _drop("b")
DROP_E = _drop("e")
ADD = _add("f{n}")
ADD_B = _add("b")
ADD_F = _add("f")
FILL_F = Act("fill f", sql("UPDATE {t} SET f = 'f.all.{n}'"), updating("f", None, known))

# The table as a whole.


def _remove_mapping(stage: Stage, how: str) -> None:
    stage.spark.conf.set(SETTING, how)
    stage.sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ({NONE_MODE})")


def _unmapped(before: State, moment: Moment) -> State:
    return before.mapping_disabled()


def _mapped(before: State, moment: Moment) -> State:
    return before if before.is_mapped else before.mapping_enabled()


def _align(stage: Stage, number: int) -> None:
    stage.spark.conf.set(SETTING, "copy")

    def follow(progress: Progress) -> None:
        stage.part = part_of(progress.statement)

    UsageTracking.forPath(stage.spark, stage.url).align_names(progress=follow)


def _aligned(before: State, moment: Moment) -> State | tuple[State, ...]:
    if not moment.has_failed:
        return before.aligned()
    removed = before.mapping_disabled()
    return before, removed, removed.tracking_dropped(), before.aligned()


def _restored(before: State, to: State) -> State:
    if not before.can_change_to(to.mode):
        raise Impossible(f"the mode {before.mode} does not become {to.mode}")
    return before.restored(to)


def _cloned_over(before: State, moment: Moment) -> State:
    if before.mode != moment.early.mode:
        raise Impossible(f"the mode {before.mode} does not become {moment.early.mode}")
    return moment.early.cloned_over(before)


def _restore(stage: Stage, number: int) -> None:
    stage.sql(f"RESTORE TABLE {{t}} TO VERSION AS OF {stage.original.early_version}")


def _clone_over(stage: Stage, number: int) -> None:
    source = f"delta.`{stage.original.path}` VERSION AS OF {stage.original.early_version}"
    stage.sql(f"CREATE OR REPLACE TABLE {{t}} SHALLOW CLONE {source}")


REMOVE_MAPPING = Act(
    "remove by copy", lambda stage, number: _remove_mapping(stage, "copy"), _unmapped
)
REMOVE_BY_DELTA = Act(
    "remove by rewrite", lambda stage, number: _remove_mapping(stage, "rewrite"), _unmapped
)
DROP_MAPPING = Act(
    "drop the mapping feature",
    sql("ALTER TABLE {t} DROP FEATURE columnMapping"),
    _unmapped,
    has_parts=True,
)
MAP = Act(
    "map",
    sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ({NAME_MODE})"),
    _mapped,
)
TRACK = Act(
    "track",
    sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ({TRACKED})"),
    lambda before, moment: before.tracking_enabled(),
)
UNTRACK = Act(
    "untrack",
    sql("ALTER TABLE {t} DROP FEATURE columnMappingUsageTracking"),
    lambda before, moment: before.tracking_dropped(),
    has_parts=True,
)
RESTORE = Act("restore", _restore, lambda before, moment: _restored(before, moment.early))
RESTORE_MAPPED = Act(
    "restore of the mapped version",
    lambda stage, number: stage.sql(
        f"RESTORE TABLE {{t}} TO VERSION AS OF {stage.original.mapped_version}"
    ),
    lambda before, moment: _restored(before, moment.mapped),
)
CLONE_OVER = Act("clone over", _clone_over, _cloned_over)
ALIGN = Act("align", _align, _aligned, has_parts=True)

# The statements of an alignment.
PARTS = {
    "MARK": re.compile(rf"SET TBLPROPERTIES \('{re.escape(ALIGNING)}'"),
    "REMOVE": re.compile(re.escape(NONE_MODE)),
    "UNTRACK": re.compile("DROP FEATURE"),
    "MAP": re.compile(re.escape(NAME_MODE)),
    "END": re.compile("UNSET TBLPROPERTIES"),
}


def part_of(statement: str) -> str:
    return next(part for part, pattern in PARTS.items() if pattern.search(statement))
