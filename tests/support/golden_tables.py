# SPDX-License-Identifier: Apache-2.0
"""Reads the golden tables of docs/golden, and describes a table on the disk as their JSON does.

It reads files only, and shares nothing with spark_ext.
"""

from __future__ import annotations

import json
import shutil
from operator import itemgetter
from pathlib import Path
from typing import Any

from tests.support.table_files import live, rows
from tests.support.table_log import UUID, UUID_NAME, TableLog

Json = dict[str, Any]

GOLDEN = Path(__file__).parents[2] / "docs" / "golden"
STATES = {file.stem: json.loads(file.read_text()) for file in sorted(GOLDEN.glob("*.json"))}
# The placeholder of the folder in logs of clones, which contain paths of other tables.
HOME = "/golden/"
PROPERTIES = ("mode", "hasDroppedOrRenamed", "maxColumnId")


def placed(folder: Path, tables: Path = GOLDEN) -> Path:
    """Copies the tables into a new folder, and changes the paths in their logs."""
    shutil.copytree(tables, folder)
    rewrite_paths(folder, HOME, f"{folder}/")
    return folder


def rewrite_paths(folder: Path, old: str, new: str) -> None:
    for commit in folder.glob("*/_delta_log/*.json"):
        commit.write_text(commit.read_text().replace(old, new))


def seen(path: Path) -> Json:
    """Returns the newest version and its rows in the form of `reads` and `then`."""
    log = TableLog(path)
    protocol = {key: log.protocol[key] for key in ("minReaderVersion", "minWriterVersion")}
    mapping = {name: log.configuration.get(f"delta.columnMapping.{name}") for name in PROPERTIES}
    return {
        "protocol": {**protocol, "writerFeatures": sorted(log.writer_features)},
        "properties": {**mapping, "mode": mapping["mode"] or "none"},
        "columns": [
            {
                "name": name,
                "type": field.type if isinstance(field.type, str) else field.type["type"],
                "id": field.id,
                "physicalName": field.physical_name and masked(field.physical_name),
            }
            for name, field in log.fields.items()
        ],
        "rows": sorted(rows(log.path, log.metadata, live(log).values()), key=itemgetter("id")),
    }


def masked(text: str) -> str:
    """Returns the text with `UUID` for each name that contains a UUID."""
    return UUID_NAME.sub(UUID, text)


def without_nulls(value: Any) -> Any:
    """Returns a value without nulls, or None if nothing else remains."""
    if isinstance(value, dict):
        found = {name: without_nulls(child) for name, child in value.items()}
        return {name: child for name, child in found.items() if child is not None} or None
    if isinstance(value, list):
        return [without_nulls(child) for child in value] or None
    return value
