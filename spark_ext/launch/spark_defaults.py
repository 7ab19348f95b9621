# SPDX-License-Identifier: Apache-2.0
"""What `spark-defaults.conf` sets for every session of a Spark."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeGuard

_BLANKS = " \t\f"
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_KEY_AND_VALUE = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# As Spark's `trimExceptCRLF`.
_TRIMMED = "".join(chr(code) for code in range(ord(" ") + 1) if chr(code) not in "\r\n")


def defaults_file(environ: Mapping[str, str], spark_home: Path | None) -> Path | None:
    """Where Spark looks for its defaults."""
    folder = environ.get("SPARK_CONF_DIR")
    if folder:
        return Path(folder) / "spark-defaults.conf"
    return None if spark_home is None else spark_home / "conf" / "spark-defaults.conf"


def defaults(file: Path | None) -> dict[str, str]:
    """The settings of such a file; none where there is none.

    Raises:
        OSError: It is there and cannot be read, so that no session starts.

    Source:
        Spark 4.2, `Utils.getPropertiesFromFile`: UTF-8, in which a byte that is none becomes
        U+FFFD; what is no file is passed over. Java 17, `java.util.Properties.load(Reader)`.
    """
    if not is_there(file):
        return {}
    text = file.read_text(encoding="utf-8", errors="replace")
    found = {}
    for line in _logical_lines(text):
        parts = _KEY_AND_VALUE.fullmatch(line)
        if parts:
            found[_unescaped(parts[1])] = _unescaped(parts[2]).strip(_TRIMMED)
    return found


def is_there(file: Path | None) -> TypeGuard[Path]:
    """Whether it is a file, as Java asks it: what lies behind a locked folder is not there."""
    return file is not None and os.path.isfile(file)


def _logical_lines(text: str) -> Iterator[str]:
    """Without comments; a line that ends in a backslash goes on in the next one."""
    started = ""
    for natural in _LINE_ENDS.split(text):
        line = natural.lstrip(_BLANKS)
        if not started and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            started += line[:-1]
            continue
        yield started + line
        started = ""
    if started:
        yield started


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(
        lambda found: (
            chr(int(found[1][1:], 16)) if len(found[1]) > 1 else _CONTROLS.get(found[1], found[1])
        ),
        text,
    )
