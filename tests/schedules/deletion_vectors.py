# SPDX-License-Identifier: Apache-2.0
"""Reads deletion vectors in the formats of the Delta protocol."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import UUID

ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
MAGIC = 1681511377
UUID_LENGTH = 20
NO_RUNS = 12346
WITH_RUNS = 12347
FEWEST_WITH_OFFSETS = 4
MOST_OF_AN_ARRAY = 4096


def deleted_rows(table: Path, vector: dict[str, Any]) -> set[int]:
    """Returns the numbers of the deleted rows of a file."""
    encoded = vector["pathOrInlineDv"]
    if vector["storageType"] == "i":
        return _rows(_base85(encoded)[: vector["sizeInBytes"]])
    file = vector_file(table, vector)
    assert file
    with file.open("rb") as stream:
        stream.seek(vector.get("offset", 1))
        (size,) = struct.unpack(">i", stream.read(4))
        assert size == vector["sizeInBytes"]
        return _rows(stream.read(size))


def vector_file(table: Path, vector: dict[str, Any]) -> Path | None:
    """Returns the file of a vector, or None if the log contains the vector."""
    encoded = vector["pathOrInlineDv"]
    if vector["storageType"] == "i":
        return None
    if vector["storageType"] == "p":
        return Path(unquote(encoded).split(":", 1)[-1])
    prefix, name = encoded[:-UUID_LENGTH], encoded[-UUID_LENGTH:]
    return table / prefix / f"deletion_vector_{UUID(bytes=_base85(name))}.bin"


def _base85(text: str) -> bytes:
    found = bytearray()
    for start in range(0, len(text), 5):
        number = 0
        for character in text[start : start + 5]:
            number = number * 85 + ALPHABET.index(character)
        found += struct.pack(">I", number)
    return bytes(found)


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
