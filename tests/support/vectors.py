# SPDX-License-Identifier: Apache-2.0
"""Reads deletion vectors of a local table without any code of Delta or spark_ext.

Source:
    Protocol, "Deletion Vectors".
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.support.table_log import local

MAGIC = 1681511377
NO_RUNS = 12346
WITH_RUNS = 12347
FEWEST_WITH_OFFSETS = 4
MOST_OF_AN_ARRAY = 4096
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


@dataclass(frozen=True)
class Vector:
    """Contains a deletion vector as its file stores it."""

    size: int
    bitmap: bytes
    checksum: int


def to_z85(data: bytes) -> str:
    """Encodes four bytes as five characters."""
    padded = data + bytes(-len(data) % 4)
    signs = ""
    for (number,) in struct.iter_unpack(">I", padded):
        signs += "".join(Z85[number // 85**power % 85] for power in range(4, -1, -1))
    return signs


def from_z85(signs: str) -> bytes:
    blocks = (signs[start : start + 5] for start in range(0, len(signs), 5))
    numbers = (sum(Z85.index(sign) * 85 ** (4 - at) for at, sign in enumerate(b)) for b in blocks)
    return b"".join(struct.pack(">I", number) for number in numbers)


def path_of(descriptor: dict[str, Any]) -> str:
    """Returns the path below the table's folder, or a URI."""
    text: str = descriptor["pathOrInlineDv"]
    if descriptor["storageType"] == "p":
        return text
    name = f"deletion_vector_{UUID(bytes=from_z85(text[-20:]))}.bin"
    return f"{text[:-20]}/{name}" if text[:-20] else name


def file_of(table: Path, descriptor: dict[str, Any]) -> Path:
    """Returns the local file of a vector."""
    return local(table, path_of(descriptor))


def read(file: Path, offset: int) -> Vector:
    """Reads the vector at an offset of a file, and does not verify its checksum."""
    content = file.read_bytes()
    (size,) = struct.unpack_from(">i", content, offset)
    bitmap = content[offset + 4 : offset + 4 + size]
    (checksum,) = struct.unpack_from(">I", content, offset + 4 + size)
    return Vector(size, bitmap, checksum)


def problem(table: Path, descriptor: dict[str, Any] | None) -> str | None:
    """Returns `missing` or another problem of a vector; None if a query can read the vector."""
    if not descriptor or descriptor["storageType"] == "i":
        return None
    file = file_of(table, descriptor)
    if not file.is_file():
        return "missing"
    try:
        found = read(file, descriptor.get("offset") or 0)
    except struct.error as error:
        return str(error)
    if found.size != descriptor["sizeInBytes"]:
        return f"it has {found.size} bytes"
    return None if found.checksum == zlib.crc32(found.bitmap) else "its checksum differs"


def deleted_rows(table: Path, descriptor: dict[str, Any]) -> set[int]:
    """Returns the numbers of the deleted rows of a file."""
    if descriptor["storageType"] == "i":
        return _rows(from_z85(descriptor["pathOrInlineDv"])[: descriptor["sizeInBytes"]])
    found = read(file_of(table, descriptor), descriptor.get("offset") or 0)
    assert found.size == descriptor["sizeInBytes"]
    return _rows(found.bitmap)


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, form: str) -> tuple[int, ...]:
        found = struct.unpack_from(f"<{form}", self._data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return found


def _rows(data: bytes) -> set[int]:
    source = _Bytes(data)
    magic, buckets = source.take("iq")
    assert magic == MAGIC
    rows: set[int] = set()
    for _ in range(buckets):
        (high,) = source.take("I")
        rows |= {high << 32 | low for low in _bitmap(source)}
    return rows


def _bitmap(source: _Bytes) -> set[int]:
    (cookie,) = source.take("I")
    have_runs: Callable[[int], bool] = lambda number: False  # noqa: E731
    if cookie == NO_RUNS:
        (size,) = source.take("I")
    else:
        assert cookie & 0xFFFF == WITH_RUNS
        size = (cookie >> 16) + 1
        flags = source.take(f"{(size + 7) // 8}B")
        have_runs = lambda number: bool(flags[number // 8] >> number % 8 & 1)  # noqa: E731
    header = source.take(f"{2 * size}H")
    if cookie == NO_RUNS or size >= FEWEST_WITH_OFFSETS:
        source.take(f"{size}I")
    found: set[int] = set()
    for number in range(size):
        high, count = header[2 * number] << 16, header[2 * number + 1] + 1
        if have_runs(number):
            (runs,) = source.take("H")
            pairs = source.take(f"{2 * runs}H")
            for start, length in zip(pairs[::2], pairs[1::2], strict=True):
                found |= {high | low for low in range(start, start + length + 1)}
        elif count <= MOST_OF_AN_ARRAY:
            found |= {high | low for low in source.take(f"{count}H")}
        else:
            words = source.take("1024Q")
            found |= {high | low for low in range(1 << 16) if words[low // 64] >> low % 64 & 1}
    return found
