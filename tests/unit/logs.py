# SPDX-License-Identifier: Apache-2.0
"""Reads logs from a notation, for `audited_logs.txt` and tests.

    [untracked, CLONE] name {a: 1 a} -> name false {a: 1 a, b: 2 b}
    checkpoint 1
    file a, b=2, s.x; since 1; statistics a

A log is its versions: tables of `case_files.py`, with the highest id so far as `maxColumnId`.
The brackets list what else its commit has: an operation (`no operation` for no `commitInfo`),
`untracked`, `unreadable`, `feature f`, `partitions p`, or `versions 1 2`. `UUID` is a UUID.

Further lines delete or add files: `begins 2` deletes older commits, `no commits` all commits;
`checkpoint 1`, `compaction 0 to 1 of 1` and `checkpoint 0 of 1` have the metadata of version 1.
A line `file` is a data file with its columns and their ids, or `?` without a footer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from spark_ext.log.actions import (
    Commit,
    FileGroup,
    LoggedMetadata,
    ParquetColumn,
    Summary,
    TableLog,
)
from spark_ext.model.column_mapping import find_max_column_id
from spark_ext.model.keys import MAX_COLUMN_ID
from spark_ext.model.metadata import Protocol
from tests.unit.case_files import table_of
from tests.unit.tables import TRACKED

LINES = re.compile(r"^(?:#.*|)\n", re.M)
CASE = re.compile(r"^(\S.*)\n((?: +.*\n)+)", re.M)
UUIDS = {
    "UUID2": "col-00000000-8c3f-4d55-9d8e-0c7e4a3b2f10",
    "UUID": "col-5d2c6f1e-8c3f-4d55-9d8e-0c7e4a3b2f10",
}


def audited() -> dict[str, tuple[str, list[str]]]:
    """Returns the log and the findings of each case in `audited_logs.txt`, by its name."""
    text = LINES.sub("", Path(__file__).with_name("audited_logs.txt").read_text())
    found = {}
    for name, body in CASE.findall(text):
        log, _, findings = body.partition("=> ")
        found[name] = (log, findings.strip().split(", ") if findings else [])
    assert len(found) == len(CASE.findall(text)), "two cases have the same name"
    return found


def log_of(text: str) -> TableLog:
    for name, uuid in UUIDS.items():
        text = text.replace(name, uuid)
    versions, *lines = re.split(
        r"\n *(?=(?:file|begins|no commits|checkpoint|compaction|truncated|last checkpoint)\b)",
        text.rstrip(),
    )
    commits = tuple(_commits(versions.split(" -> ")))
    log = TableLog("t", len(commits) - 1, commits, first_commit=0)
    for line in lines:
        log = _with(log, commits, *line.split(" ", 1))
    return log


def cleaned_up(text: str, version: int) -> TableLog:
    """Returns the log without the files before the checkpoint of a version."""
    return log_of(f"{text}\n checkpoint {version}\n begins {version}")


def _commits(versions: list[str]) -> Iterator[Commit]:
    highest, before = 0, None
    for number, text in enumerate(versions):
        words, table = re.fullmatch(r"\s*(?:\[(.*?)\])?\s*(.*)", text, re.S).groups()  # type: ignore[union-attr]
        facts = (words or "").split(", ")
        metadata = table_of(table)
        ids = find_max_column_id(metadata.schema)
        highest = 0 if not ids or "CLONE" in facts else max(highest, ids)
        own = int(metadata.configuration.get(MAX_COLUMN_ID) or 0)
        configuration = dict(metadata.configuration)
        if own == ids < highest:
            configuration[MAX_COLUMN_ID] = str(highest)
        if configuration.get(MAX_COLUMN_ID) == "":
            del configuration[MAX_COLUMN_ID]
        highest = max(highest, ids)
        known = dict(fact.partition(" ")[::2] for fact in facts)
        features = {"columnMapping", *(() if "untracked" in known else TRACKED)}
        features |= {known["feature"]} if "feature" in known else set()
        reader, writer = map(int, known.get("versions", "2 7").split())
        operation = next((fact for fact in facts if fact.isupper()), "SET TBLPROPERTIES")
        protocol = Protocol(reader, writer, None, frozenset(features) if writer >= 7 else None)
        yield Commit(
            version=number,
            time=1000 * number,
            operation=None if "no operation" in facts else operation,
            user="anna",
            protocol=None if protocol == before else protocol,
            metadata=LoggedMetadata(
                schema=None if "unreadable" in known else metadata.schema,
                configuration=configuration,
                partition_columns=(known["partitions"],) if "partitions" in known else (),
            ),
        )
        before = protocol


def _with(log: TableLog, commits: tuple[Commit, ...], kind: str, rest: str) -> TableLog:
    numbers = [int(number) for number in re.findall(r"-?\b\d+", rest)]
    if kind == "file":
        return replace(log, files=(*(log.files or ()), file_of(rest)))
    if kind == "begins":
        return replace(log, commits=commits[numbers[0] :], first_commit=numbers[0])
    if kind == "no":
        return replace(log, commits=(), first_commit=None)
    if kind == "truncated":
        return replace(log, truncated_commits=(rest,))
    if kind == "last":
        return replace(log, last_checkpoint_target=numbers[0])
    of = commits[: numbers[-1] + 1]
    protocol = next(each.protocol for each in reversed(of) if each.protocol)
    name = f"{numbers[0]}.checkpoint.parquet"
    summary = Summary(name, numbers[0], None, protocol, of[-1].metadata)
    if kind == "compaction":
        first, last, _ = numbers
        own = next((each.protocol for each in commits[first : last + 1] if each.protocol), None)
        summary = Summary(f"{first}.{last}.compacted.json", last, first, own, of[-1].metadata)
    return replace(log, summaries=(*log.summaries, summary))


def file_of(text: str) -> FileGroup:
    columns, *facts = text.split("; ")
    known: dict[str, Any] = dict(fact.partition(" ")[::2] for fact in facts)
    return FileGroup(
        known.get("path", "f"),
        int(known.get("number", 1)),
        9,
        added_under=None if "unknown" in known else int(known.get("since", 0)),
        partition_columns=(known["partitions"],) if "partitions" in known else (),
        folders=(known["folders"],) if "folders" in known else (),
        statistics=((known["statistics"],),) if "statistics" in known else (),
        columns=None if columns == "?" else tuple(map(_column, columns.split(", "))),
        problem=known.get("problem"),
        vector="v.bin" if "vector" in known else None,
        vector_problem=known.get("vector"),
    )


def _column(text: str) -> ParquetColumn:
    path, _, id = text.partition("=")
    return ParquetColumn(tuple(path.split(".")), int(id) if id else None)
