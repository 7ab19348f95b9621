# SPDX-License-Identifier: Apache-2.0
"""Rewrites commits in unusual styles. Some add unknown or null actions, or a broken line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.delta_table import Table, forget_logs

Lines = Sequence[str]
BYTE_ORDER_MARK = "\ufeff"


def joined(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def blank_line(lines: Lines) -> str:
    return joined(lines[0], "", *lines[1:])


def blank_lines_around(lines: Lines) -> str:
    return joined("", " \t ", *lines, "", "")


def carriage_returns(lines: Lines) -> str:
    return "\r\n".join([*lines, ""])


def byte_order_mark(lines: Lines) -> str:
    return BYTE_ORDER_MARK + joined(*lines)


def byte_order_marks(lines: Lines) -> str:
    return joined(*(BYTE_ORDER_MARK + line for line in lines))


def no_end(lines: Lines) -> str:
    return "\n".join(lines)


def unknown_action(lines: Lines) -> str:
    return joined('{"future":{"path":"x"}}', *lines, '{"future":null}', "{}")


def action_that_is_null(lines: Lines) -> str:
    return joined('{"add":null}', *lines, '{"remove":null}')


def array_of_actions(lines: Lines) -> str:
    return joined("[]", f"[{','.join(lines)}]")


def single_quotes(lines: Lines) -> str:
    assert "'" not in "".join(lines)
    hidden = [line.replace('\\"', "\x01").replace('"', "'") for line in lines]
    return joined(*(line.replace("\x01", '"') for line in hidden))


def escaped_keys(lines: Lines) -> str:
    return joined(*(re.sub(r'^\{"(.)', lambda key: f'{{"\\u{ord(key[1]):04x}', x) for x in lines))


def statistics_as_objects(lines: Lines) -> str:
    return with_statistics(lines, json.loads)


def with_statistics(lines: Lines, change: Callable[[str], Any]) -> str:
    """Changes the statistics of every added file."""
    actions = [json.loads(line) for line in lines]
    for action in actions:
        if "add" in action:
            action["add"]["stats"] = change(action["add"]["stats"])
    return joined(*map(json.dumps, actions))


def no_json(lines: Lines) -> str:
    return joined(lines[0], "no JSON", *lines[1:])


def null(lines: Lines) -> str:
    return joined(lines[0], "null", *lines[1:])


def number(lines: Lines) -> str:
    return joined(lines[0], "5", *lines[1:])


def half_a_line(lines: Lines) -> str:
    return joined(lines[0], lines[1][:40], *lines[1:])


def file_of(table: Table, version: int) -> Path:
    return table.path / "_delta_log" / f"{version:020}.json"


def write(file: Path, content: bytes) -> None:
    """Replaces the content of a file, which keeps its time."""
    times = file.stat()
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    file.write_bytes(content)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def rewrite(table: Table, version: int, style: Callable[[Lines], str]) -> bytes:
    """Replaces the lines of a commit, clears Delta's cache, and returns the bytes before."""
    file = file_of(table, version)
    before = file.read_bytes()
    write(file, style(before.decode().splitlines()).encode())
    forget_logs(table.spark)
    return before


@contextmanager
def written(table: Table, version: int, style: Callable[[Lines], str]) -> Iterator[None]:
    """Replaces the lines of a commit for a while."""
    before = rewrite(table, version, style)
    yield
    write(file_of(table, version), before)
    forget_logs(table.spark)
