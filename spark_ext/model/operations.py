# SPDX-License-Identifier: Apache-2.0
"""The operations in `commitInfo` that decide what a commit did to columns.

Source:
    Delta 4.4.0, DeltaOperations.scala.
"""

from __future__ import annotations

from typing import Final

# RESTORE and CLONE bring columns with the ids and names of another version or table. CLONE and
# CONVERT bring files with columns that the log never had.
CLONE: Final = "CLONE"
CONVERT: Final = "CONVERT"
RESTORE: Final = "RESTORE"

REMOVE_COLUMN_MAPPING: Final = "REMOVE COLUMN MAPPING"
