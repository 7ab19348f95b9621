# SPDX-License-Identifier: Apache-2.0
"""Reads `spark-defaults.conf` for a command that adds to its values before a JVM starts.

Spark itself reads the file in the JVM. A value that the command sets replaces the value in the
file, so the command must know the value first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

_BLANKS = " \t\f"
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_KEY_AND_VALUE = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# Spark's `trimExceptCRLF` removes these characters at both ends of a value.
_TRIMMED = "".join(chr(code) for code in range(ord(" ") + 1) if chr(code) not in "\r\n")


def defaults_file(environ: Mapping[str, str], spark_home: Path | None) -> Path | None:
    """Returns the path at which Spark looks for its defaults."""
    folder = environ.get("SPARK_CONF_DIR")
    if folder:
        return Path(folder) / "spark-defaults.conf"
    return None if spark_home is None else spark_home / "conf" / "spark-defaults.conf"


def defaults(file: Path | None) -> dict[str, str]:
    """Returns the settings of a defaults file; none if the file does not exist.

    Raises:
        OSError: The file cannot be read, so that no session starts.

    Source:
        Spark 4.2, `Utils.getPropertiesFromFile`: UTF-8, and U+FFFD for bytes that are not UTF-8;
        Spark ignores a path that is not a file. Java 17, `java.util.Properties.load(Reader)`.
    """
    # Java does the same: a file in an unreadable folder does not exist.
    if file is None or not os.path.isfile(file):
        return {}
    text = file.read_text(encoding="utf-8", errors="replace")
    found = {}
    for line in _logical_lines(text):
        parts = _KEY_AND_VALUE.fullmatch(line)
        if parts:
            found[_unescaped(parts[1])] = _unescaped(parts[2]).strip(_TRIMMED)
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Yields the lines without comments; a line that ends in a backslash continues in the next."""
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
