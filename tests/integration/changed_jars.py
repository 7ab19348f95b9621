# SPDX-License-Identifier: Apache-2.0
"""Makes copies of jars with other files in them, as another build may contain."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

# The file of our jar that has its version.
OUR_DESCRIPTION = "META-INF/maven/io.sparkext/spark-ext/pom.properties"

_UTF8 = 1
# The number of bytes after each tag of a constant. A constant of `_TWO_NUMBERS` counts twice.
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4}
_SIZES |= {15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_TWO_NUMBERS = {5, 6}


def changed_jar(jar: str, to: Path, changes: Mapping[str, Callable[[bytes], bytes | None]]) -> str:
    """Writes a copy of a jar in which some files have other content; None removes a file."""
    with zipfile.ZipFile(jar) as original, zipfile.ZipFile(to, "w") as copy:
        assert changes.keys() <= set(original.namelist())
        for item in original.infolist():
            content = changes.get(item.filename, bytes)(original.read(item))
            if content is not None:
                # Compression would take most of the time.
                copy.writestr(item, content, zipfile.ZIP_STORED)
    return str(to)


def with_other_name(old: str, new: str) -> Callable[[bytes], bytes]:
    """Returns a change of a class file that replaces a text in all its constants."""

    def change(class_file: bytes) -> bytes:
        assert old.encode() in class_file
        changed, place = bytearray(class_file[:10]), 10
        remaining = int.from_bytes(class_file[8:10], "big") - 1
        while remaining > 0:
            tag = class_file[place]
            if tag == _UTF8:
                size = int.from_bytes(class_file[place + 1 : place + 3], "big")
                text = class_file[place + 3 : place + 3 + size]
                text = text.replace(old.encode(), new.encode())
                changed += bytes([tag]) + len(text).to_bytes(2, "big") + text
                place += 3 + size
            else:
                changed += class_file[place : place + 1 + _SIZES[tag]]
                place += 1 + _SIZES[tag]
            remaining -= 2 if tag in _TWO_NUMBERS else 1
        return bytes(changed + class_file[place:])

    return change
