# SPDX-License-Identifier: Apache-2.0
"""Finds the files below a table's folder that contain some bytes, without code of spark_ext."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

COMMIT = re.compile(r"\d{20}\.json")


def holders(table: Path, marker: str) -> Counter[str]:
    """Counts the files of each kind with the bytes in their name or content."""
    log = table / "_delta_log"
    live, named, change_data = _in_log(log)
    found: Counter[str] = Counter()
    for file in table.rglob("*"):
        relative = file.relative_to(table).as_posix()
        # Hadoop writes these checksum files.
        if not file.is_file() or (file.name.startswith(".") and file.name.endswith(".crc")):
            continue
        if marker.encode() not in relative.encode() + file.read_bytes():
            continue
        if log in file.parents:
            found[_kind_in_log(file)] += 1
        elif relative in live:
            found["live_files"] += 1
        elif relative in change_data:
            found["change_data_files"] += 1
        else:
            found["removed_files" if relative in named else "untracked_files"] += 1
    return found


def _kind_in_log(file: Path) -> str:
    if COMMIT.fullmatch(file.name):
        return "commits"
    return "checkpoints" if ".checkpoint." in file.name else "other_log_files"


def _in_log(log: Path) -> tuple[set[str], set[str], set[str]]:
    """Returns the paths of live files, of all added or removed files, and of change data."""
    live: set[str] = set()
    named: set[str] = set()
    change_data: set[str] = set()
    for commit in sorted(file for file in log.iterdir() if COMMIT.fullmatch(file.name)):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        change_data |= {unquote(action["cdc"]["path"]) for action in actions if "cdc" in action}
        for kind in ("remove", "add"):
            for action in actions:
                if kind in action:
                    path = unquote(action[kind]["path"])
                    named.add(path)
                    (live.add if kind == "add" else live.discard)(path)
    return live, named, change_data
