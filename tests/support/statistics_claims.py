# SPDX-License-Identifier: Apache-2.0
"""Checks the statistics and partition values in a log against footers and against other files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from math import isclose
from typing import Any

import pyarrow.parquet

from tests.support.table_files import Action, stored_name
from tests.support.table_log import walk

Claim = tuple[str, str]
Version = tuple[Action, Collection[Action]]
"""The `metaData` of a version, and the `add` of some files."""

STATISTICS = ("minValues", "maxValues", "nullCount")
COMPARED = 2 * 31
"""Bytes of a text in UTF-16 that Delta never shortens in statistics."""


@lru_cache(maxsize=64)
def parsed(text: str) -> Any:
    """Returns a schema from its JSON."""
    return json.loads(text)


def fields_of(struct: Any) -> dict[str, Any]:
    """Returns the fields of a struct by their physical names."""
    return {stored_name(field): field for field in struct["fields"]}


def unknown_names(values: Mapping[str, Any], struct: Any) -> Iterator[str]:
    """Yields the names in statistics that the schema lacks."""
    fields = fields_of(struct)
    for name, value in values.items():
        if name not in fields:
            yield name
        elif isinstance(value, dict) and isinstance(fields[name]["type"], dict):
            yield from (f"{name}.{each}" for each in unknown_names(value, fields[name]["type"]))


def wrong_statistics(stats: Action, found: pyarrow.parquet.FileMetaData) -> Iterator[str]:
    """Compares statistics in the log with those in the footer, for columns outside of lists."""
    if stats.get("numRecords", found.num_rows) != found.num_rows:
        yield f"numRecords is {stats['numRecords']}, not {found.num_rows}"
    leaves = [path for path, _, leaf in walk(found.schema.to_arrow_schema()) if leaf]
    groups = [found.row_group(number) for number in range(found.num_row_groups)]
    for number, path in enumerate(leaves):
        chunks = [group.column(number) for group in groups]
        every = [chunk.statistics for chunk in chunks]
        if (
            not every
            or any(each is None for each in every)
            or found.schema.column(number).max_repetition_level
        ):
            continue
        nulls = sum(each.null_count for each in every if each.has_null_count)
        seen: dict[str, Any] = {}
        if all(each.has_null_count for each in every):
            seen["nullCount"] = nulls
        if all(each.has_min_max for each in every):
            seen["minValues"] = min(each.min for each in every)
            seen["maxValues"] = max(each.max for each in every)
        for kind, value in seen.items():
            stated = stats.get(kind, {})
            for name in path:
                stated = stated.get(name) if isinstance(stated, dict) else None
            if stated is not None and not _is_stated(stated, value):
                yield f"{kind} of {'.'.join(path)} is {stated}, not {value}"


def _is_stated(stated: Any, value: Any) -> bool:
    """Returns whether a bound in the log fits a bound in the footer. Delta rounds some types."""
    if isinstance(value, str):
        found, wanted = (str(text).encode("utf-16-le") for text in (stated, value))
        is_short = len(wanted) <= COMPARED
        return found == wanted if is_short else found[:COMPARED] == wanted[:COMPARED]
    if isinstance(value, datetime | time | bytes) or stated in ("NaN", "Infinity", "-Infinity"):
        return True
    if isinstance(value, date):
        return bool(stated == value.isoformat())
    if isinstance(value, float | Decimal) and isinstance(stated, int | float):
        return isclose(stated, value, rel_tol=1e-6)
    return bool(stated == value)


def of_copies(old: Version, new: Version) -> Iterator[Claim]:
    """Yields a claim if copies have other statistics or partition values than their sources.

    Compares nothing if a source has no statistics: a checkpoint may have them in another form.
    """
    if not all(add.get("stats") for add in old[1]):
        return
    before, after = (Counter(_described(*version)) for version in (old, new))
    if before != after:
        yield "copied_statistics", f"{[*(before - after)][:3]} became {[*(after - before)][:3]}"


def _described(metadata: Action, adds: Iterable[Action]) -> Iterator[str]:
    """Yields what a log states about files, by logical names and without dropped columns."""
    schema = parsed(metadata["schemaString"])
    for add in adds:
        stats = json.loads(add.get("stats") or "{}")
        kinds = {kind: _logical(stats.get(kind, {}), schema) for kind in STATISTICS}
        values = _logical(add["partitionValues"], schema)
        yield json.dumps([stats.get("numRecords"), kinds, values], sort_keys=True)


def _logical(values: Mapping[str, Any], struct: Any) -> Action:
    found = {}
    for name, field in fields_of(struct).items():
        if name in values:
            value = values[name]
            inner = _logical(value, field["type"]) if isinstance(value, dict) else value
            if inner not in ({}, None):
                found[field["name"]] = inner
    return found
