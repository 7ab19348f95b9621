# SPDX-License-Identifier: Apache-2.0
"""Checks of the files in `_delta_log`: commits, checkpoints and `_last_checkpoint`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from spark_ext.auditing.check import NEXT_CHANGE, UNREADABLE, WRONG_ROWS, Problem, check
from spark_ext.log.actions import LoggedMetadata, Summary, TableLog
from spark_ext.log.history import State
from spark_ext.model.column_mapping import field_metadata
from spark_ext.model.metadata import Protocol
from spark_ext.model.schema import Schema, map_fields


@check(
    UNREADABLE, remedy="Restore the missing files of `_delta_log` from a backup.", needs_start=False
)
def log_without_start(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds a log without version 0 and without a checkpoint to start from.

    A truncated commit explains the missing start, so only `commit_truncated` finds it then.

    Source: Protocol, "Checkpoints"; "Metadata Cleanup".
    """
    if not states and not log.truncated_commits:
        yield Problem(
            log.last_version,
            "The log has neither version 0 nor a complete checkpoint that is followed by every"
            " later commit. The schema of the table is unknown, and no reader can open it.",
        )


@check(
    UNREADABLE + 5,
    remedy=(
        "Restore the file from a backup or from the versions that the storage keeps. If"
        " there is none and this is the newest version, no reader has seen it: move the"
        " file out of `_delta_log`, and write its rows again."
    ),
    needs_start=False,
)
def commit_truncated(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds commits whose last line is not JSON; the other checks use the lines before it.

    Source: Protocol, "Delta Log Entries": "newline-delimited JSON"; Delta 4.4.0, DeltaLog.scala,
    `jsonCommitParseOption`: a line that is not JSON ends every read.
    """
    for file in log.truncated_commits:
        yield Problem(
            int(file.partition(".")[0]),
            "The last line of the commit is truncated, as after a crash of a writer on a"
            " storage without atomic writes. Delta reads neither this version nor a later one,"
            " unless it starts at a later checkpoint.",
            file=file,
        )


@check(
    UNREADABLE + 10,
    remedy=(
        "Restore the commit of the newest version from a backup, or from the table that was copied."
    ),
)
def log_without_commits(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds a log that consists of a checkpoint alone, as a copy without old files does.

    Source: Delta 4.4.0, SnapshotManagement.scala, `createLogSegment`: "Could not find any delta
    files"; Delta's cleanup keeps the commit of the checkpoint that it starts at.
    """
    if log.first_commit is None:
        yield Problem(
            log.last_version,
            "The log has a checkpoint and no commit. The checkpoint contains the whole table, but"
            f" Delta opens the table only with the commit `{log.last_version:020}.json`.",
        )


@check(
    WRONG_ROWS + 50,
    remedy=(
        "Move the file out of `_delta_log` while the commits up to its version exist,"
        " and write a new checkpoint with Delta."
    ),
)
def checkpoint_differs(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds checkpoints and log compaction files whose protocol or metadata differs from commits'.

    Older releases of delta-rs omit features that they do not know. Checkpoints that are older than
    the replayed versions, and log compaction files whose first commits are deleted, are skipped.

    Source: Protocol, "Checkpoints" and "Log Compaction Files".
    """
    for summary in log.summaries:
        differing = ", ".join(_differing(summary, log, states))
        if differing:
            yield Problem(
                summary.version,
                f"The file disagrees with the commits on {differing}. A reader that starts at"
                " this file sees another table, and a writer continues with that table.",
                file=summary.file,
            )


@check(NEXT_CHANGE + 50, remedy="Delete `_last_checkpoint`, or write a new checkpoint with Delta.")
def last_checkpoint_missing(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds a `_last_checkpoint` that names no version, or one without a complete checkpoint.

    Source: Protocol, "Last Checkpoint File".
    """
    named = log.last_checkpoint_target
    existing = {summary.version for summary in log.summaries if summary.first_version is None}
    if named is None or named in existing:
        return
    if named >= 0:
        problem = f"names a checkpoint of version {named}, which does not exist"
    else:
        problem = "names no version of a checkpoint"
    yield Problem(
        named if named >= 0 else None,
        f"The file {problem}. Delta searches for another checkpoint; other readers fail.",
        file="_last_checkpoint",
    )


def _differing(summary: Summary, log: TableLog, states: tuple[State, ...]) -> Iterator[str]:
    """Yields the parts in which a checkpoint or log compaction file differs from the commits."""
    if summary.first_version is None:
        until_then = [state for state in states if state.version <= summary.version]
        if until_then:  # otherwise the checkpoint is older than the replay
            yield from _differences(summary, until_then[-1].protocol, until_then[-1].metadata)
    elif log.first_commit is not None and summary.first_version >= log.first_commit:
        protocol, metadata = None, None
        for commit in log.commits:
            if summary.first_version <= commit.version <= summary.version:
                protocol = commit.protocol or protocol
                metadata = commit.metadata or metadata
        yield from _differences(summary, protocol, metadata)


def _differences(
    summary: Summary, protocol: Protocol | None, metadata: LoggedMetadata | None
) -> Iterator[str]:
    if _comparable(summary.protocol) != _comparable(protocol):
        yield "the protocol"
    in_file = summary.metadata
    if in_file is None or metadata is None:
        if in_file is not metadata:
            yield "the metadata"
        return
    if _columns(in_file.schema) != _columns(metadata.schema):
        yield "the schema"
    if in_file.partition_columns != metadata.partition_columns:
        yield "the partition columns"
    for key in sorted({*in_file.configuration, *metadata.configuration}):
        if _text(in_file.configuration.get(key)) != _text(metadata.configuration.get(key)):
            yield f"the property `{key}`"


def _comparable(protocol: Protocol | None) -> Any:
    # A writer may omit an empty list of features.
    return protocol and (
        protocol.min_reader_version,
        protocol.min_writer_version,
        protocol.reader_features or frozenset(),
        protocol.writer_features or frozenset(),
    )


def _columns(schema: Schema | None) -> Schema | None:
    # A writer may omit empty metadata, and that a column is nullable.
    return schema and map_fields(
        schema,
        lambda _, field: {
            **field,
            "nullable": field.get("nullable", True),
            "metadata": field_metadata(field),
        },
    )


def _text(value: Any) -> str | None:
    """Returns a property as text. A commit of another writer may have another type of JSON."""
    return value if value is None or isinstance(value, str) else json.dumps(value)
