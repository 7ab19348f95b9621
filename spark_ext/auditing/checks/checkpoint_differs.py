# SPDX-License-Identifier: Apache-2.0
"""A checkpoint or log compaction file says what the commits say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import LoggedMetadata, Summary, TableLog
from spark_ext.log.replay import State
from spark_ext.model.column_mapping import field_metadata
from spark_ext.model.metadata import Protocol
from spark_ext.model.schema import Schema, walk


def checkpoint_differs(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds those whose protocol or metadata is not that of the version they stand for.

    Older releases of delta-rs leave out what they do not know, such as features. One whose commits
    are gone in part is not looked at, and a checkpoint at which the replay starts is believed.

    Source:
        Protocol, "Checkpoints" and "Log Compaction Files".

    Example:
        >>> from spark_ext.log.actions import Summary
        >>> log, states = history(table({"a": ""}, properties={"x": "1"}))
        >>> other = history(table({"a": ""}))[1][0]
        >>> wrong = Summary("0.checkpoint.parquet", 0, None, other.protocol, other.metadata)
        >>> log = replace(log, summaries=(wrong,))
        >>> [found.message for found in checkpoint_differs(log, states)]
        ['It says something else than the commits of the property `x`: ...']
    """
    for summary in log.summaries:
        differing = tuple(_differing(summary, log, states))
        if differing:
            yield Finding(
                version=summary.version,
                check="checkpoint_differs",
                column=None,
                file=summary.file,
                message=(
                    f"It says something else than the commits of {', '.join(differing)}: readers"
                    " that start there see another table, and a writer that starts there goes on"
                    " with it."
                ),
                remedy=(
                    "Move the file out of `_delta_log`, while the commits up to its version are"
                    " there, and write a new checkpoint with Delta."
                ),
            )


def _differing(summary: Summary, log: TableLog, states: tuple[State, ...]) -> Iterator[str]:
    """What is other, in words."""
    if summary.first_version is None:
        at = [state for state in states if state.version <= summary.version]
        if not at:
            return  # older than the replay
        protocol, metadata = at[-1].protocol, at[-1].metadata
        yield from _differences(summary, protocol, metadata)
    elif log.first_commit is not None and summary.first_version >= log.first_commit:
        within = [
            commit
            for commit in log.commits
            if summary.first_version <= commit.version <= summary.version
        ]
        protocols = [commit.protocol for commit in within if commit.protocol is not None]
        metadatas = [commit.metadata for commit in within if commit.metadata is not None]
        yield from _differences(
            summary,
            protocols[-1] if protocols else None,
            metadatas[-1] if metadatas else None,
        )


def _differences(
    summary: Summary, protocol: Protocol | None, metadata: LoggedMetadata | None
) -> Iterator[str]:
    if _comparable(summary.protocol) != _comparable(protocol):
        yield "the protocol"
    theirs, ours = summary.metadata, metadata
    if theirs is None or ours is None:
        if theirs is not ours:
            yield "the metadata"
        return
    if _columns(theirs.schema) != _columns(ours.schema):
        yield "the schema"
    if theirs.partition_columns != ours.partition_columns:
        yield "the partition columns"
    for key in sorted({*theirs.configuration, *ours.configuration}):
        if theirs.configuration.get(key) != ours.configuration.get(key):
            yield f"the property `{key}`"


def _comparable(protocol: Protocol | None) -> Any:
    # A list of no features may be left out.
    return protocol and (
        protocol.min_reader_version,
        protocol.min_writer_version,
        protocol.reader_features or frozenset(),
        protocol.writer_features or frozenset(),
    )


def _columns(schema: Schema | None) -> Any:
    return schema and [
        (path, field["type"], field.get("nullable", True), field_metadata(field))
        for path, field in walk(schema)
    ]
