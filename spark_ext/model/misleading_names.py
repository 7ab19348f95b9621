# SPDX-License-Identifier: Apache-2.0
"""Columns whose logical name is the physical name of another column.

Delta finds columns by physical names or ids, and reads the right columns. A reader that looks for
values or statistics by logical names reads another column.
"""

from __future__ import annotations

from collections.abc import Mapping

from spark_ext.model.column_mapping import columns_of
from spark_ext.model.schema import Path, Schema, lower


def misleading_names(schema: Schema) -> Mapping[Path, Path]:
    """Returns the columns whose logical name is another column's physical name in the same struct.

    Args:
        schema: The schema of a mapped table.

    Returns:
        For the path of each such column, the path of the other column. Letter case is ignored, as
        readers of Parquet do.

    Example:
        >>> misleading_names(table({"town": "1 city", "city": "2 col-5d2c"}, "name").schema)
        {('city',): ('town',)}
    """
    by_physical_path: dict[Path, Path] = {}
    looked_for: dict[Path, Path] = {}
    for path, physical_path, field in columns_of(schema):
        by_physical_path.setdefault(lower(physical_path), path)
        looked_for[path] = lower((*physical_path[:-1], field["name"]))
    return {
        path: found
        for path, name in looked_for.items()
        if (found := by_physical_path.get(name)) is not None and found != path
    }
