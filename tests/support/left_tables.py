# SPDX-License-Identifier: Apache-2.0
"""Judges every table that a test made or changed, after the test.

`proof` has the rules. In the integration tests, the audit reads the tables as well. A test that
breaks a table names a finding of each defect: `@pytest.mark.broken_table("file_missing")`. A marker
fails if none of its findings occurs. `-p no:left-tables` runs the tests without the plugin.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from spark_ext.auditing import Finding
from tests.support import audited, proof

UNLIKE_DELTA = ("unit",)
"""Folders of tests that write parts of logs themselves."""
WITH_DEFECTS = ("golden", "engines")
"""Folders of tests that make or read defective tables, and look for the findings themselves."""


class LeftTables:
    """Stores the state of each table. After each test, it reads new commits and new tables only."""

    def __init__(self) -> None:
        self.home = Path()
        self._folders = Folders()
        self._known: set[str] = set()
        self._shared: list[str] = []  # folders of fixtures with a wider scope
        self._changed: dict[str, list[int]] = {}
        self._replays: dict[str, proof.Replay] = {}
        self._reported: set[str] = set()
        self._by_module: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        if item.path.parent.name in UNLIKE_DELTA:
            return (yield)
        try:
            result = yield
        except BaseException:
            list(self._new_or_changed(item))  # the next test must not be blamed
            raise
        if item.path.parent.name in WITH_DEFECTS:
            list(self._new_or_changed(item))
        else:
            self._judge(item)  # fixtures drop their tables afterwards
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, None, None]:
        yield
        if nextitem is not None and nextitem.path == item.path:
            return
        wide = [mark for node, mark in _marks(item) if node is not item]
        found, self._by_module = self._by_module, set()
        self._reported.clear()
        self._replays.clear()
        is_whole = not item.config.option.keyword and "::" not in " ".join(item.config.args)
        if is_whole:
            _fail(
                [f"No test of the module has a finding of {mark}" for mark in _stale(wide, found)]
            )

    def _judge(self, item: pytest.Item) -> None:
        is_audited = item.path.parent.name == "integration"
        found = []
        for table in self._new_or_changed(item):
            for source, each in self._findings(table, is_audited=is_audited):
                line = f"{each.check} in version {each.version} of {table}, by the {source}: {each}"
                if line not in self._reported:
                    found.append((each.check, line))
                self._reported.add(line)
        marks = list(_marks(item))
        expected = audited.HARMLESS.union(*(mark.args for _, mark in marks))
        checks = {check for check, _ in found}
        self._by_module |= checks
        lines = [line for check, line in found if check not in expected]
        own = [mark for node, mark in marks if node is item]
        _fail(lines + [f"The test makes no table with {mark}" for mark in _stale(own, checks)])

    def _findings(
        self, table: str, *, is_audited: bool
    ) -> Iterator[tuple[str, proof.Finding | Finding]]:
        replay = self._replays.setdefault(table, proof.Replay(Path(table)))
        yield from (("proof", each) for each in replay.findings())
        if is_audited:
            yield from (("audit", each) for each in audited.findings(Path(table)))

    def _new_or_changed(self, item: pytest.Item) -> Iterator[str]:
        with os.scandir(self.home) as entries:  # except pytest's links to the newest folders
            found = {each.name for each in entries if not each.is_symlink()}
        new = found - self._known
        self._known = found
        prefix = re.sub(r"\W", "_", item.name)[:30]  # as `tmp_path` does
        own = [f"{self.home}/{name}" for name in sorted(new) if name.startswith(prefix)]
        self._shared += [f"{self.home}/{name}" for name in sorted(new - set(own))]
        for folder in filter(os.path.isdir, own + self._shared):
            for table in self._folders.tables(folder):
                changed = _changes(f"{table}/_delta_log")
                if self._changed.get(table) != changed:
                    self._changed[table] = changed
                    if any(name[0].isdigit() for name in os.listdir(f"{table}/_delta_log")):
                        yield table


def _changes(log: str) -> list[int]:
    """Returns when the folders of published and of staged commits were last changed."""
    folders = filter(os.path.isdir, (log, f"{log}/_staged_commits"))
    return [os.stat(each).st_mtime_ns for each in folders]


def _marks(item: pytest.Item) -> Iterator[tuple[object, pytest.Mark]]:
    found = item.iter_markers_with_node("broken_table")
    return ((node, mark) for node, mark in found if mark.args)


def _stale(marks: list[pytest.Mark], found: set[str]) -> list[tuple[object, ...]]:
    return [mark.args for mark in marks if not found.intersection(mark.args)]


def _fail(lines: list[str]) -> None:
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)


class Folders:
    """Finds tables. It reads a folder again only if the entries of the folder changed."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, list[str]]] = {}

    def tables(self, folder: str) -> Iterator[str]:
        """Yields each folder with a log. Tables contain no tables."""
        try:
            changed = os.stat(folder).st_mtime_ns
        except FileNotFoundError:  # a server or a session deletes its own folders
            return
        seen, inside = self._seen.get(folder, (0, []))
        if seen != changed:
            with os.scandir(folder) as entries:
                inside = [each.path for each in entries if each.is_dir(follow_symlinks=False)]
            self._seen[folder] = changed, inside
        if f"{folder}/_delta_log" in inside:
            yield folder
        elif not os.path.exists(f"{folder}/pyvenv.cfg"):
            for each in inside:
                yield from self.tables(each)
