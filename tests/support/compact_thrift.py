# SPDX-License-Identifier: Apache-2.0
"""Reads and writes Thrift's compact protocol, as far as Parquet uses it.

Source: Thrift, thrift-compact-protocol.md.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
WHOLE = {I16, I32, I64}


@dataclass
class Struct:
    """Contains fields by id: `fields[4]` is a value, and `types[4]` is its type."""

    fields: dict[int, Any] = field(default_factory=dict)
    types: dict[int, int] = field(default_factory=dict)

    def __getitem__(self, number: int) -> Any:
        return self.fields[number]

    def __contains__(self, number: int) -> bool:
        return number in self.fields

    def get(self, number: int, default: Any = None) -> Any:
        return self.fields.get(number, default)

    def put(self, number: int, kind: int, value: Any) -> None:
        self.fields[number] = value
        self.types[number] = kind

    def drop(self, number: int) -> None:
        self.fields.pop(number, None)
        self.types.pop(number, None)


@dataclass
class List:
    kind: int
    items: list[Any]


class Reader:
    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position

    def byte(self) -> int:
        value = self.data[self.position]
        self.position += 1
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            part = self.byte()
            value |= (part & 0x7F) << shift
            shift += 7
            if not part & 0x80:
                return value

    def whole(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def bytes(self, length: int) -> bytes:
        if length > len(self.data) - self.position:
            raise EOFError(f"{length} bytes at {self.position} of {len(self.data)}")
        self.position += length
        return self.data[self.position - length : self.position]

    def value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self.byte()
        if kind in WHOLE:
            return self.whole()
        if kind == DOUBLE:
            return struct.unpack("<d", self.bytes(8))[0]
        if kind == BINARY:
            return self.bytes(self.varint())
        if kind in (LIST, SET):
            return self.list()
        if kind == STRUCT:
            return self.struct()
        raise ValueError(f"type {kind} at {self.position}")

    def list(self) -> List:
        header = self.byte()
        size = header >> 4 if header >> 4 != 15 else self.varint()
        kind = header & 0x0F
        if kind in (TRUE, FALSE):
            return List(kind, [self.byte() == TRUE for _ in range(size)])
        return List(kind, [self.value(kind) for _ in range(size)])

    def struct(self) -> Struct:
        found = Struct()
        number = 0
        while header := self.byte():
            number = number + (header >> 4) if header >> 4 else self.whole()
            found.put(number, header & 0x0F, self.value(header & 0x0F))
        return found


class Writer:
    def __init__(self) -> None:
        self.data = bytearray()

    def varint(self, value: int) -> None:
        while value > 0x7F:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def whole(self, value: int) -> None:
        self.varint(value << 1 if value >= 0 else ((-value) << 1) - 1)

    def value(self, kind: int, value: Any) -> None:
        if kind == BYTE:
            self.data.append(value)
        elif kind in WHOLE:
            self.whole(value)
        elif kind == DOUBLE:
            self.data += struct.pack("<d", value)
        elif kind == BINARY:
            self.varint(len(value))
            self.data += value
        elif kind in (LIST, SET):
            self.list(value)
        elif kind == STRUCT:
            self.struct(value)
        else:
            raise ValueError(f"type {kind}")

    def list(self, value: List) -> None:
        size = len(value.items)
        self.data.append(min(size, 15) << 4 | value.kind)
        if size >= 15:
            self.varint(size)
        for item in value.items:
            if value.kind in (TRUE, FALSE):
                self.data.append(TRUE if item else FALSE)
            else:
                self.value(value.kind, item)

    def struct(self, value: Struct) -> None:
        last = 0
        for number in sorted(value.fields, key=lambda field: (field < 0, field)):
            kind = value.types[number]
            if kind in (TRUE, FALSE):
                kind = TRUE if value[number] else FALSE
            if 0 < number - last <= 15:
                self.data.append((number - last) << 4 | kind)
            else:
                self.data.append(kind)
                self.whole(number)
            if kind not in (TRUE, FALSE):
                self.value(kind, value[number])
            last = number
        self.data.append(0)


def decoded(data: bytes, position: int = 0) -> tuple[Struct, int]:
    """Returns the structure at a position, and the position of its end."""
    reader = Reader(data, position)
    return reader.struct(), reader.position


def encoded(value: Struct) -> bytes:
    writer = Writer()
    writer.struct(value)
    return bytes(writer.data)
