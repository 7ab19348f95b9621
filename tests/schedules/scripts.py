# SPDX-License-Identifier: Apache-2.0
"""Lists the scripts of actors: statements in order, and statements that may harm each other."""

from __future__ import annotations

from dataclasses import dataclass

from tests.schedules.act import Act
from tests.schedules.inserts import (
    APPEND_HELD,
    INSERT,
    INSERT_BY_NAME,
    INSERT_HELD_VIEW,
    INSERT_INTO_HELD_VIEW,
    INSERT_ITSELF,
    OVERWRITE,
    OVERWRITE_HELD,
    OVERWRITE_ITSELF,
    OVERWRITE_PARTITIONS,
    REPLACE_AS_SELECT,
    REPLACE_WHERE,
    SINK,
)
from tests.schedules.reads import READ_BEGUN, READ_HELD, READ_VIEW, STREAM
from tests.schedules.row_acts import (
    DELETE,
    DELETE_BY_B,
    DELETE_FILE,
    FILL,
    HELD_DELETE,
    HELD_DELETE_BY_B,
    HELD_MERGE,
    HELD_UPDATE,
    HELD_UPDATE_BY_B,
    MERGE,
    UPDATE,
    UPDATE_BY_B,
)
from tests.schedules.table_acts import (
    ADD,
    ADD_B,
    ADD_F,
    ALIGN,
    CLONE_OVER,
    DROP_B,
    DROP_E,
    DROP_MAPPING,
    FILL_F,
    MAP,
    OPTIMIZE,
    PROPERTIES,
    REMOVE_BY_DELTA,
    REMOVE_MAPPING,
    RENAME,
    RENAME_ASIDE_TO_D,
    RENAME_B_ASIDE,
    RENAME_D_TO_B,
    REORG,
    RESTORE,
    RESTORE_MAPPED,
    TRACK,
    UNTRACK,
    VACUUM,
    ZORDER,
)
from tests.schedules.table_kinds import DROPPED
from tests.support.held_statement import Step

Script = tuple[Act, ...]

WRITERS = (
    UPDATE,
    DELETE,
    DELETE_FILE,
    DELETE_BY_B,
    UPDATE_BY_B,
    MERGE,
    INSERT,
    INSERT_BY_NAME,
    OVERWRITE,
    REPLACE_WHERE,
    INSERT_ITSELF,
    OVERWRITE_ITSELF,
    REPLACE_AS_SELECT,
    HELD_UPDATE,
    HELD_DELETE,
    HELD_DELETE_BY_B,
    HELD_UPDATE_BY_B,
    HELD_MERGE,
    APPEND_HELD,
    OVERWRITE_HELD,
    INSERT_HELD_VIEW,
    INSERT_INTO_HELD_VIEW,
    SINK,
)
KEEPERS = (OPTIMIZE, ZORDER, REORG, PROPERTIES, VACUUM)
CHANGES: tuple[Script, ...] = (
    (RENAME,),
    (RENAME, ADD_B),
    (RENAME, ADD_B, FILL),
    (DROP_B,),
    (DROP_B, ADD_B),
    (DROP_B, ADD_B, FILL),
    (DROP_E,),
    (RENAME_B_ASIDE, RENAME_D_TO_B, RENAME_ASIDE_TO_D),
    (ADD,),
    (ADD, INSERT),
    (ADD_F, FILL_F),
    (REMOVE_MAPPING,),
    (REMOVE_MAPPING,),
    (REMOVE_MAPPING,),
    (REMOVE_MAPPING, ADD),
    (REMOVE_MAPPING, MAP),
    (DROP_B, REMOVE_MAPPING, ADD_B),
    (DROP_B, REMOVE_MAPPING, ADD_B, MAP),
    (DROP_B, ADD_B, REMOVE_MAPPING),
    (RENAME, REMOVE_MAPPING),
    (REMOVE_BY_DELTA,),
    (REMOVE_BY_DELTA,),
    (DROP_MAPPING,),
    (MAP,),
    (MAP, RENAME),
    (TRACK,),
    (UNTRACK,),
    (RESTORE,),
    (RESTORE, REMOVE_MAPPING),
    (RESTORE_MAPPED,),
    (CLONE_OVER,),
    (REPLACE_AS_SELECT,),
)
"""The scripts of an actor that change names or modes."""


@dataclass(frozen=True)
class Danger:
    """Contains a statement that is held, and statements in between that may harm it."""

    held: tuple[Act, ...]
    steps: tuple[Step, ...]
    others: tuple[Script, ...]
    mappings: tuple[str, ...]
    has_feed: bool | None = None
    has_partitions: bool | None = None
    is_tracked: bool | None = None


SWAP = (RENAME_B_ASIDE, RENAME_D_TO_B, RENAME_ASIDE_TO_D)
OTHER_NAMES = ((REMOVE_MAPPING,), (DROP_B, ADD_B), (RENAME, ADD_B), SWAP, (REMOVE_BY_DELTA,))
BY_B = (DELETE_BY_B, UPDATE_BY_B, HELD_DELETE_BY_B, HELD_UPDATE_BY_B)
ROWS = (UPDATE, DELETE, MERGE, DELETE_FILE, OVERWRITE, INSERT, SINK, OPTIMIZE, REORG, REPLACE_WHERE)
DANGERS = (
    # A stale plan reads files with other physical names.
    Danger(WRITERS, (Step.START,), OTHER_NAMES, ("used", "free")),
    Danger(BY_B, (Step.START,), OTHER_NAMES, ("used", "free"), has_partitions=False),
    Danger(BY_B, (Step.START,), (SWAP,), ("free",), has_partitions=True),
    # A stale plan does not know a column, and writes rows again without the column.
    Danger(
        (UPDATE, MERGE, HELD_UPDATE, HELD_MERGE),
        (Step.START,),
        ((ADD_F, FILL_F),),
        ("used", "free"),
    ),
    # The physical names change between the write of files and their commit.
    Danger(
        (INSERT, SINK, REPLACE_WHERE),
        (Step.PREPARE, Step.COMMIT),
        ((RESTORE_MAPPED,),),
        ("removed",),
    ),
    # Other statements change files while a removal copies them.
    Danger((REMOVE_MAPPING,), (Step.COMMIT,), tuple((act,) for act in ROWS), ("used",)),
    Danger(
        (REMOVE_MAPPING,),
        (Step.COMMIT,),
        ((RENAME,), (DROP_E,), SWAP, (REMOVE_MAPPING,), (REPLACE_AS_SELECT,), (RESTORE,)),
        ("used",),
    ),
    # A name is reused, so older changes seem to concern the new column.
    Danger(
        (PROPERTIES, INSERT, OPTIMIZE),
        (Step.COMMIT,),
        ((DROP_B, REMOVE_MAPPING, ADD_B, MAP),),
        ("free",),
        has_feed=True,
        is_tracked=True,
    ),
)

# These dangers are not in `DANGERS`, so that the seeds of `DANGERS` keep their schedules.
PARTITIONS = Danger(
    (OVERWRITE_PARTITIONS,),
    (Step.START,),
    ((REMOVE_MAPPING,), (RENAME, ADD_B), SWAP, (*SWAP, REMOVE_MAPPING), (REMOVE_BY_DELTA,)),
    ("used", "free"),
    has_partitions=True,
)
RESTORED_COLUMNS = Danger(
    (REMOVE_MAPPING,),
    (Step.COMMIT,),
    tuple((act, *rows) for act in (RESTORE, CLONE_OVER) for rows in ((), (INSERT,), (UPDATE,))),
    (DROPPED,),
)
# These statements run no transaction, so no step can hold them.
READERS = (READ_HELD, STREAM)
BEFORE_READERS = tuple(
    (*names, *rows)
    for names in (
        *OTHER_NAMES,
        (REMOVE_MAPPING, MAP),
        (DROP_B, REMOVE_MAPPING, ADD_B, MAP),
        (ADD_F,),
        (RESTORE,),
    )
    for rows in ((INSERT,), ())
)
# Some rows that a reader has not read are in files that were written before the names changed.
UNREAD_READERS = (STREAM, STREAM, READ_BEGUN, READ_VIEW, READ_HELD)
BEFORE_UNREAD = tuple(
    (INSERT, *names, *rows)
    for names in (*OTHER_NAMES, (ALIGN,), (ALIGN,), (DROP_B, ALIGN, ADD_B), (RENAME, ALIGN))
    for rows in ((INSERT,), (OPTIMIZE,), ())
)
ALIGNED = (
    (ALIGN,),
    (ALIGN,),
    (ALIGN, RENAME),
    (DROP_B, ALIGN, ADD_B),
    (RENAME, ADD_B, ALIGN),
    (ALIGN, REMOVE_MAPPING),
    (REMOVE_MAPPING, MAP, ALIGN),
)
BESIDE_ALIGN: tuple[Script, ...] = (
    *((act,) for act in (*ROWS, *WRITERS, *KEEPERS)),
    *((RENAME,), (DROP_E,), (ADD,), SWAP, (MAP,), (UNTRACK,), (RESTORE,)),
    *((REMOVE_MAPPING,), (REMOVE_BY_DELTA,), (ALIGN,)),
)
