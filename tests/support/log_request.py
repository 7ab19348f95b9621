# SPDX-License-Identifier: Apache-2.0
"""Reads a local table's `_delta_log` and footers as the request that the JVM sends for an audit.

It reads JSON, Parquet and file names, and shares no code with spark_ext or an engine. The newest
complete checkpoint and the later commits decide which files are live.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet

from tests.support import vectors
from tests.support.table_log import checkpointed, field_id, local, walk

Action = dict[str, Any]
FOOTER_ERRORS = (pyarrow.ArrowException, OSError, ValueError)

COMMIT = re.compile(r"(\d{20})\.json")
COMPACTED = re.compile(r"(\d{20})\.(\d{20})\.compacted\.json")
CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.(?P<uuid>[0-9a-f-]{36}))?"
    r"\.(?P<format>parquet|json)"
)
KNOWN_ACTIONS = ("commitInfo", "protocol", "metaData")


def log(path: Path) -> dict[str, Any]:
    folder = path / "_delta_log"
    found = [(file, COMMIT.fullmatch(file.name)) for file in sorted(folder.iterdir())]
    commits = {int(match[1]): file for file, match in found if match}
    times = _increasing_times(commits)
    checkpoints = _checkpoints(folder)
    read = {version: _json_lines(file) for version, file in sorted(commits.items())}
    actions = {version: found for version, (found, _) in read.items()}
    truncated = [version for version, (_, is_truncated) in read.items() if is_truncated]
    return {
        "lastVersion": max([*commits, *(c["version"] for c in checkpoints)]),
        "firstCommit": min(commits, default=None),
        "lastCheckpointTarget": _last_checkpoint_target(folder),
        "truncatedCommits": [commits[version].name for version in truncated],
        "commits": [
            {"version": version, "time": times[version], "actions": _known_actions(found)}
            for version, found in actions.items()
            if any(action.get("protocol") or action.get("metaData") for action in found)
        ],
        "summaries": [
            {**each, "actions": _known_actions(each["actions"])}
            for each in (*checkpoints, *_compacted(folder))
        ],
        "files": _groups(path, actions, checkpoints),
    }


def _increasing_times(commits: dict[int, Path]) -> dict[int, int]:
    """Returns the time of each commit. A copied file may be older than the one before it."""
    times: dict[int, int] = {}
    earliest = 0
    for version, file in sorted(commits.items()):
        times[version] = max(file.stat().st_mtime_ns // 1_000_000, earliest)
        earliest = times[version] + 1
    return times


def _json_lines(file: Path) -> tuple[list[Action], bool]:
    """Returns the actions of a file, and whether its last line is truncated."""
    lines = [line for line in file.read_text().splitlines() if line.strip()]
    try:
        return [json.loads(line) for line in lines], False
    except ValueError:
        return [json.loads(line) for line in lines[:-1]], True


def _known_actions(actions: Iterable[Action]) -> list[Action]:
    return [
        {kind: action[kind]}
        for action in actions
        for kind in KNOWN_ACTIONS
        if action.get(kind) is not None
    ]


def _last_checkpoint_target(folder: Path) -> int | None:
    file = folder / "_last_checkpoint"
    return json.loads(file.read_text())["version"] if file.is_file() else None


def _compacted(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.iterdir()):
        if match := COMPACTED.fullmatch(file.name):
            yield _summary(file.name, int(match[2]), int(match[1]), _json_lines(file)[0])


def _checkpoints(folder: Path) -> list[dict[str, Any]]:
    """Returns every complete checkpoint and its actions: classic, in parts, or V2."""
    parts: dict[tuple[int, str, int], list[Path]] = {}
    for file in sorted(folder.iterdir()):
        if match := CHECKPOINT.fullmatch(file.name):
            kind = match["uuid"] or match["parts"] or match["format"]
            key = (int(match[1]), kind, int(match["parts"] or 1))
            parts.setdefault(key, []).append(file)
    return [
        _summary(files[0].name, version, None, chain.from_iterable(map(checkpointed, files)))
        for (version, _, wanted), files in sorted(parts.items())
        if len(files) == wanted
    ]


def _summary(
    file: str, version: int, first: int | None, actions: Iterable[Action]
) -> dict[str, Any]:
    return {"file": file, "version": version, "firstVersion": first, "actions": [*actions]}


def _groups(
    path: Path, commits: dict[int, list[Action]], checkpoints: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    groups: dict[str, dict[str, Any]] = {}
    for add, added_under in _live(commits, checkpoints):
        facts = {
            "addedUnder": added_under,
            "partitionColumns": sorted(add.get("partitionValues") or {}),
            "folders": _folders(add["path"]),
            "statistics": _statistics(add),
            **_footer(path, add),
            "vectorProblem": vectors.problem(path, add.get("deletionVector")),
        }
        vector = facts["vectorProblem"] and vectors.path_of(add["deletionVector"])
        group = groups.setdefault(
            json.dumps(facts),
            {
                "example": add["path"],
                "numFiles": 0,
                "sizeInBytes": 0,
                "kind": "live",
                "source": None,
                "isHidden": False,
                "isOlder": False,
                **facts,
                "vector": vector,
            },
        )
        if add["path"] < group["example"]:
            group |= {"example": add["path"], "vector": vector}
        group["numFiles"] += 1
        group["sizeInBytes"] += add["size"]
    return sorted(groups.values(), key=lambda group: group["example"])


def _live(
    commits: dict[int, list[Action]], checkpoints: list[dict[str, Any]]
) -> Iterator[tuple[Action, int | None]]:
    """Returns every live file's `add`, and the version of the metadata when it was added."""
    live: dict[tuple[str, Any], Action] = {}
    start = -1
    if checkpoints:
        newest = max(checkpoints, key=lambda checkpoint: checkpoint["version"])
        start = newest["version"]
        live = {
            _key(action["add"]): action["add"] for action in newest["actions"] if "add" in action
        }
    for version in sorted(version for version in commits if version > start):
        for action in commits[version]:
            if action.get("remove"):
                live.pop(_key(action["remove"]), None)
        live |= {
            _key(action["add"]): action["add"] for action in commits[version] if action.get("add")
        }
    under: dict[tuple[str, Any], int | None] = {}
    newest_metadata: int | None = None
    for version, actions in sorted(commits.items()):
        if any(action.get("metaData") for action in actions):
            newest_metadata = version
        under |= {_key(action["add"]): newest_metadata for action in actions if action.get("add")}
    return ((add, under.get(key)) for key, add in live.items())


def _key(action: Action) -> tuple[str, Any]:
    vector = action.get("deletionVector") or {}
    return action["path"], (vector.get("pathOrInlineDv"), vector.get("offset"))


def _is_elsewhere(path: str) -> bool:
    """Returns whether a file belongs to another table, as in a shallow clone."""
    return path.startswith("/") or re.match(r"[a-zA-Z][\w+.-]*:", path) is not None


def _folders(path: str) -> list[str]:
    if _is_elsewhere(path):
        return []
    folders = unquote(path).split("/")[:-1]
    return [unquote(folder.split("=")[0]) for folder in folders if "=" in folder]


def _statistics(add: Action) -> list[list[str]]:
    text = add.get("stats")
    # A struct also has columns without statistics in this file.
    statistics = json.loads(text) if text else _without_none(add.get("stats_parsed") or {})
    found = {
        path
        for kind in ("minValues", "maxValues", "nullCount")
        for path in _leaves(statistics.get(kind) or {}, ())
    }
    return [list(path) for path in sorted(found)]


def _without_none(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _without_none(inner) for key, inner in value.items() if inner is not None}


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif path:
        yield path


def _footer(table: Path, add: Action) -> dict[str, Any]:
    file = local(table, add["path"])
    if not file.is_file():
        return {"columns": None, "problem": "missing"}
    if file.stat().st_size < add["size"]:
        return {"columns": None, "problem": f"it has fewer than {add['size']} bytes"}
    try:
        schema = pyarrow.parquet.ParquetFile(file).schema_arrow
    except FOOTER_ERRORS as error:
        return {"columns": None, "problem": str(error) or type(error).__name__}
    columns = [{"path": list(path), "fieldId": field_id(field)} for path, field, _ in walk(schema)]
    return {"columns": columns, "problem": None}
