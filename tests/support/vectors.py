# SPDX-License-Identifier: Apache-2.0
"""The deletion vectors of a local table, read by code that shares nothing with Delta or spark_ext.

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
    """What lies where a descriptor points to."""

    size: int
    bitmap: bytes
    checksum: int


def to_z85(data: bytes) -> str:
    """Five signs for each four bytes."""
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
    """Below the table's folder, or a URI."""
    text: str = descriptor["pathOrInlineDv"]
    if descriptor["storageType"] == "p":
        return text
    name = f"deletion_vector_{UUID(bytes=from_z85(text[-20:]))}.bin"
    return f"{text[:-20]}/{name}" if text[:-20] else name


def file_of(table: Path, descriptor: dict[str, Any]) -> Path:
    """The local file with a vector."""
    return table / unquote(path_of(descriptor)).removeprefix("file://").removeprefix("file:")


def read(file: Path, offset: int) -> Vector:
    """The vector at an offset of a file, whatever its checksum is."""
    content = file.read_bytes()
    (size,) = struct.unpack_from(">i", content, offset)
    bitmap = content[offset + 4 : offset + 4 + size]
    (checksum,) = struct.unpack_from(">I", content, offset + 4 + size)
    return Vector(size, bitmap, checksum)


def problem(table: Path, descriptor: dict[str, Any] | None) -> str | None:
    """What is wrong with a vector: `missing`, or anything else; None if a query can read it."""
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
