# SPDX-License-Identifier: Apache-2.0
"""Checks each commit of a table against the RFC, the protocol and the reference model.

Reads the log and the files by json and pyarrow, and shares no code with spark_ext.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.support import file_claims, statistics_claims, vectors
from tests.support.column_claims import (
    ALIGNING,
    BROUGHT,
    NO_TABLE,
    Change,
    KnownColumns,
    is_by_spark,
    of_flag,
)
from tests.support.file_claims import Claim
from tests.support.reference_model import State, state_of
from tests.support.table_files import PHYSICAL_NAME, Action, apply
from tests.support.table_log import FEATURE, checkpointed, local

REMOVAL = "REMOVE COLUMN MAPPING"
CLUSTERING = "delta.clustering"
COMMITS_AGAIN = ("OPTIMIZE", "REORG")
"""The operations of Delta's OptimizeTableCommand.scala, whose `commitAndRetry` keeps the files."""


@dataclass(frozen=True)
class Finding:
    """Reports a violation, and the version with which it started."""

    check: str
    version: int
    text: str

    def __str__(self) -> str:
        return f"{self.check} in version {self.version}: {self.text}"


def findings(table: Path) -> list[Finding]:
    """Returns the findings of every commit and of the live files."""
    return Replay(table).findings()


def commits(table: Path) -> list[Path]:
    """Returns the published commits, and the staged ones after them that stand alone.

    Only the catalog knows which of two staged commits of one version it accepted.
    """
    log = table / "_delta_log"
    found = sorted(log.glob("[0-9]" * 20 + ".json"))
    while found:
        version = int(found[-1].name[:20]) + 1
        staged = list(log.glob(f"_staged_commits/{version:020}.*.json"))
        if len(staged) != 1:
            break
        found += staged
    return found


class Replay:
    """Reads a log once: later calls of `findings` read the new commits only."""

    def __init__(self, table: Path) -> None:
        self.table = table
        self._restart()

    def _restart(self) -> None:
        self._read: list[tuple[str, int, int]] = []
        self._found: list[Finding] = []
        self._is_cut = False
        self._version = -1
        self._protocol: Action = {}
        self._metadata: Action = {}
        self._clustering: list[list[str]] = []
        self._states = {-1: NO_TABLE}  # of the versions that changed metadata or protocol
        self._live: dict[str, Action] = {}
        self._paths: set[str] = set()
        self._columns = KnownColumns()

    def findings(self) -> list[Finding]:
        """Returns all findings of the table as it is now."""
        entries = [(file, file.stat()) for file in commits(self.table)]
        known = [(file.name, stat.st_size, stat.st_mtime_ns) for file, stat in entries]
        if self._read != known[: len(self._read)]:
            self._restart()
        for file, _ in entries[len(self._read) :]:
            self._add(file)
        self._read = known
        return self._found + [
            Finding(check, self._version, text) for check, text in self._of_live_files()
        ]

    def _add(self, file: Path) -> None:
        number = int(file.name[:20])
        if self._version == -1 and number > 0:
            self._begin_with_checkpoint(number)
        if self._is_cut or number <= self._version:
            return
        expected, self._version = self._version + 1, number
        if number != expected:  # without the earlier commits, the later ones mean nothing
            self._is_cut = True
            self._live.clear()
            self._report([("log_without_start", f"it has no version {expected}")])
            return
        try:
            commit = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
        except json.JSONDecodeError as error:
            self._report([("commit_truncated", str(error))])
        else:
            self._commit(commit)

    def _begin_with_checkpoint(self, first: int) -> None:
        """Takes the state of the oldest checkpoint that no missing commit follows."""
        log = self.table / "_delta_log"
        versions: dict[int, list[Path]] = {}
        for file in log.glob("[0-9]*.checkpoint*"):
            versions.setdefault(int(file.name[:20]), []).append(file)
        self._version = min((each for each in versions if each >= first - 1), default=-1)
        files = versions.get(self._version, [])
        actions = [action for file in files for action in checkpointed(file)]
        self._take(actions)
        apply(self._live, actions)
        self._paths |= self._live.keys()
        self._states[self._version] = self._state

    def _take(self, actions: list[Action]) -> None:
        for action in actions:
            self._protocol = action.get("protocol", self._protocol)
            self._metadata = action.get("metaData", self._metadata)
            domain = action.get("domainMetadata", {})
            if domain.get("domain") == CLUSTERING:
                text = "{}" if domain.get("removed") else domain["configuration"]
                self._clustering = json.loads(text).get("clusteringColumns", [])

    @property
    def _state(self) -> State:
        is_tracked = FEATURE in self._protocol.get("writerFeatures", [])
        return state_of(self._metadata, is_tracked=is_tracked) if self._metadata else NO_TABLE

    def _report(self, claims: Iterable[Claim]) -> None:
        self._found += [Finding(check, self._version, text) for check, text in claims]

    def _commit(self, commit: list[Action]) -> None:
        before, metadata, live = self._states[max(self._states)], self._metadata, dict(self._live)
        self._take(commit)
        try:
            after = self._state
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            self._report([("unreadable_schema", repr(error))])
            self._metadata, after = metadata, before
        if not self._metadata:
            return
        apply(self._live, commit)
        info: Action = next((each["commitInfo"] for each in commit if "commitInfo" in each), {})
        operation = info.get("operation", "")
        for kind in ("commitInfo", "protocol", "metaData"):
            if sum(kind in action for action in commit) > 1:
                self._report([("action_twice", kind)])
        if any("protocol" in action or "metaData" in action for action in commit):
            restored = self._restored(info) if operation == "RESTORE" else None
            change = Change(before, after, self._metadata, info, restored)
            self._report(of_flag(change))
            self._report(self._columns.claims(change))
            self._states[self._version] = after
        self._judge_files(commit, metadata, info, is_brought=operation in BROUGHT)
        if any("domainMetadata" in action or "metaData" in action for action in commit):
            self._report(file_claims.of_clustering(self._metadata, self._clustering))
        files = [body for action in commit for body in action.values() if "dataChange" in body]
        is_remapped = before.is_mapped != after.is_mapped and operation not in BROUGHT
        changed = [body["path"] for body in files if body["dataChange"]]
        if changed and operation == REMOVAL:
            self._report([("data_change", f"{changed} in a commit of {REMOVAL}")])
        if metadata and (operation == REMOVAL or not changed) and (files or is_remapped):
            old, now = (metadata, live.values()), (self._metadata, self._live.values())
            self._report(file_claims.of_values(self.table, old, now))
        metrics = info.get("operationMetrics", {})
        if int(metrics.get("numCopiedFiles", 0)) and not int(metrics["numRewrittenFiles"]):
            removed = [live[path] for path in live.keys() - self._live.keys()]
            added = [self._live[path] for path in self._live.keys() - live.keys()]
            copies = statistics_claims.of_copies((metadata, removed), (self._metadata, added))
            self._report(copies)

    def _restored(self, info: Action) -> State | None:
        version = info["operationParameters"].get("version")
        past = [each for each in self._states if version is not None and each <= int(version)]
        return self._states[max(past)] if past and max(past) >= 0 else None

    def _needs_ids(self, info: Action) -> bool:
        """Returns whether Delta's own writer knew that the table is mapped."""
        read = sorted(each for each in self._states if each <= int(info.get("readVersion", -1)))
        # After a conflict, OPTIMIZE commits the files that it wrote for an earlier version.
        known = read if info.get("operation") in COMMITS_AGAIN else read[-1:]
        is_read_mapped = all(each == -1 or self._states[each].is_mapped for each in known)
        return is_by_spark(info) and is_read_mapped and self._state.is_mapped

    def _judge_files(
        self, commit: list[Action], old: Action, info: Action, *, is_brought: bool
    ) -> None:
        adds = [action["add"] for action in commit if "add" in action]
        new = [add for add in adds if not is_brought and add["path"] not in self._paths]
        self._paths |= {add["path"] for add in adds}
        self._report(file_claims.of_adds(self.table, self._metadata, adds, new))
        stored = self._metadata
        is_changed = any("metaData" in action for action in commit)
        if is_changed and not is_brought and not self._state.is_mapped:
            # Files that a removal keeps have field ids.
            kept = file_claims.of_files(self.table, stored, self._live.values())
            self._report(claim for claim in kept if claim[0] != "field_ids")
            if ALIGNING in old.get("configuration", {}) and _is_mapped(old):
                # Copies keep the field ids, which the table will have again.
                stored = _with_logical_names(old)
        feed = [action["cdc"] for action in commit if "cdc" in action]
        need_ids = self._needs_ids(info)
        self._report(file_claims.of_files(self.table, stored, [*new, *feed], need_ids=need_ids))

    def _of_live_files(self) -> Iterable[Claim]:
        places: dict[Path, str] = {}
        for path, add in self._live.items():
            file, vector = local(self.table, path), add.get("deletionVector")
            if places.setdefault(file, path) != path:
                yield "path_twice", f"{path} and {places[file]}"
            if "://" in path and not path.startswith("file:"):
                continue  # the file is in another storage
            problem = vectors.problem(self.table, vector)
            if file_claims.footer(file) is None:
                problem = "it has no footer" if file.is_file() else "missing"
            elif not problem and vector:
                deleted = len(vectors.deleted_rows(self.table, vector))
                if deleted != vector["cardinality"]:
                    problem = f"its vector deletes {deleted} rows, not {vector['cardinality']}"
            if problem:
                check = "file_missing" if problem == "missing" else "file_unreadable"
                yield check, f"{path}: {problem}"


def _is_mapped(metadata: Action) -> bool:
    return metadata["configuration"].get("delta.columnMapping.mode", "none") != "none"


def _with_logical_names(metadata: Action) -> Action:
    """Returns metadata in which each column's physical name is its logical name."""

    def named(struct: Action) -> Action:
        field = {key: value for key, value in struct.items() if key != "metadata"}
        if "name" in struct:
            field["metadata"] = {**struct["metadata"], PHYSICAL_NAME: struct["name"]}
        return field

    return {
        **metadata,
        "schemaString": json.dumps(json.loads(metadata["schemaString"], object_hook=named)),
    }
