# SPDX-License-Identifier: Apache-2.0
"""Reads deletion vectors of a local table without any code of Delta or spark_ext.

Source:
    Protocol, "Deletion Vectors".
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import UUID

Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


@dataclass(frozen=True)
class Vector:
    """The vector at the place that a descriptor names."""

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
    return table / unquote(path_of(descriptor)).removeprefix("file://").removeprefix("file:")


def read(file: Path, offset: int) -> Vector:
    """Reads the vector at an offset of a file, and ignores its checksum."""
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
    return None if found.checksum == zlib.crc32(found.bitmap) else "its checksum is another"
