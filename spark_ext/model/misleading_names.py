# SPDX-License-Identifier: Apache-2.0
"""Columns whose name is that of another column in data files.

Delta finds columns by their physical names or ids, and is not misled. A reader is that looks for a
column by its logical name, be it for values or for statistics.
"""

from __future__ import annotations

from collections.abc import Mapping

from spark_ext.model.column_mapping import physical_name
from spark_ext.model.schema import Path, Schema, lower, walk


def misleading_names(schema: Schema) -> Mapping[Path, Path]:
    """The columns whose logical name is the physical name of another one in the same struct.

    Args:
        schema: That of a mapped table.

    Returns:
        By the path of each, the path of the other one. Letter case is ignored, as by readers of
        Parquet.

    Example:
        >>> misleading_names(table({"town": "1 city", "city": "2 col-5d2c"}, "name").schema)
        {('city',): ('town',)}
    """
    by_physical_path: dict[Path, Path] = {}
    looked_for: dict[Path, Path] = {}
    physical = walk(schema, name=physical_name)
    for (path, field), (physical_path, _) in zip(walk(schema), physical, strict=True):
        by_physical_path.setdefault(lower(physical_path), path)
        looked_for[path] = lower((*physical_path[:-1], field["name"]))
    return {
        path: found
        for path, name in looked_for.items()
        if (found := by_physical_path.get(name)) is not None and found != path
    }
