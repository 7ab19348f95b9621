# SPDX-License-Identifier: Apache-2.0
"""Makes mapped tables of every type by a history of renames, drops and adds, from a seed."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

from pyspark.sql.types import StructType

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.session_conf import session_conf

EPOCH = datetime.datetime(1970, 1, 1)
UTC = datetime.timezone.utc

Maker = Callable[[Random], Any]


def _seconds(random: Random) -> datetime.timedelta:
    return datetime.timedelta(
        seconds=random.randint(-(10**9), 3 * 10**9), microseconds=random.randint(0, 999_999)
    )


SIMPLE: dict[str, Maker] = {
    "boolean": lambda r: r.random() < 0.5,
    "tinyint": lambda r: r.randint(-128, 127),
    "smallint": lambda r: r.randint(-(2**15), 2**15 - 1),
    "int": lambda r: r.randint(-(2**31), 2**31 - 1),
    "bigint": lambda r: r.choice([r.randint(-(2**63), 2**63 - 1), 2**63 - 1, -(2**63)]),
    "float": lambda r: r.choice([0.5, -0.0, 1e30, math.inf, 0.1015625]),
    "double": lambda r: r.choice([r.random(), -0.0, 0.0, math.inf, -math.inf, 1e-300]),
    "decimal(5,2)": lambda r: Decimal(r.randint(-99_999, 99_999)).scaleb(-2),
    "decimal(18,4)": lambda r: Decimal(r.randint(-(10**17), 10**17)).scaleb(-4),
    "decimal(38,10)": lambda r: Decimal(r.randint(-(10**37), 10**37)).scaleb(-10),
    "string": lambda r: r.choice(
        ["", "ä€𝄞", "x" * 50, "a\nb\"'\\", "\ufffd" * 40, str(r.random())]
    ),
    "binary": lambda r: bytes(r.randrange(256) for _ in range(r.randrange(9))),
    "date": lambda r: (EPOCH + _seconds(r)).date(),
    "timestamp": lambda r: (EPOCH + _seconds(r)).replace(tzinfo=UTC),
    "timestamp_ntz": lambda r: EPOCH + _seconds(r),
}
PARTITIONS: dict[str, list[Any]] = {
    "string": [None, "", "a b", "x/y=z", "ä%:#?+", "__HIVE_DEFAULT_PARTITION__x"],
    "date": [None, datetime.date(1999, 12, 31), datetime.date(2024, 2, 29)],
    "timestamp": [None, datetime.datetime(2024, 2, 29, 1, 2, 3, 456, tzinfo=UTC)],
    "decimal(9,3)": [None, Decimal("-1.500"), Decimal("123456.789")],
    "double": [None, 0.1, -2.0],
    "int": [None, 0, -7],
    "boolean": [None, True, False],
}


class Type:
    """Draws a type, as DDL and as a function that makes values."""

    def __init__(self, random: Random, depth: int) -> None:
        kind = random.choice(["simple"] * 6 + ["struct", "struct", "array", "map"])
        if depth == 0 or kind == "simple":
            self.ddl, maker = random.choice(list(SIMPLE.items()))
            self._make: Maker = maker
        elif kind == "struct":
            fields = [(f"f{n}", Type(random, depth - 1)) for n in range(random.randint(2, 4))]
            self.ddl = f"struct<{','.join(f'{name}:{child.ddl}' for name, child in fields)}>"
            self._make = lambda r: {name: child.value(r) for name, child in fields}
        elif kind == "array":
            element = Type(random, depth - 1)
            self.ddl = f"array<{element.ddl}>"
            self._make = lambda r: [element.value(r) for _ in range(r.randrange(4))]
        else:
            value = Type(random, depth - 1)
            self.ddl = f"map<string,{value.ddl}>"
            self._make = lambda r: {f"k{n}": value.value(r) for n in range(r.randrange(3))}

    def value(self, random: Random) -> Any:
        return None if random.random() < 0.2 else self._make(random)


# The prefix of each value of the `secret` columns, which `drop_secrets` drops.
DROPPED = "<dropped from the table>"
MARKED = {
    "secret": "string",
    "box": "struct<kept:int,secret:string>",
    "boxes": "array<struct<secret:string,kept:int>>",
}

# A few rows make several row groups, each of several pages.
SMALL = {
    "parquet.block.size": "500",
    "parquet.block.size.row.check.min": "3",
    "parquet.block.size.row.check.max": "3",
    "parquet.page.size": "100",
    "parquet.page.size.row.check.min": "2",  # also in the first row group
    "parquet.page.row.count.limit": "2",
}
BLOOM = {
    "parquet.bloom.filter.enabled": "true",
    "parquet.bloom.filter.expected.ndv": "30",
    "parquet.bloom.filter.max.bytes": "1024",
}
CODECS = ["uncompressed", "snappy", "gzip", "zstd", "lz4_raw", "lz4"]


def layout(seed: int) -> dict[str, str]:
    """Returns the writer's settings of a seed; each seed varies several of them."""
    codec = CODECS[seed % len(CODECS)]
    # Spark 4.2 misreads uncompressed strings in version 2, also those in Delta's checkpoints.
    is_v2 = seed % 5 in (1, 3) and codec != "uncompressed"
    return {
        "spark.sql.parquet.compression.codec": codec,
        "parquet.writer.version": "v2" if is_v2 else "v1",
        "parquet.enable.dictionary": str(seed % 4 != 1).lower(),
        **(SMALL if seed % 2 == 0 else {}),
        **(BLOOM if seed % 3 == 0 else {}),
    }


class _History:
    def __init__(self, table: Table, seed: int) -> None:
        self.table = table
        self.layout = layout(seed)
        self.random = Random(seed)
        self.columns: dict[str, Type] = {}
        self.partitions: dict[str, str] = {}
        self.rows = 0
        self.names = 0

    def name(self) -> str:
        self.names += 1
        return self.random.choice(
            [f"c{self.names}", f"Ü{self.names}", f"c.{self.names}", f"C-{self.names}"]
        )

    def create(self) -> None:
        columns = {"id": "bigint", "whole": "int", **MARKED}
        for _ in range(self.random.randint(3, 7)):
            name = self.name()
            self.columns[name] = Type(self.random, 2)
            columns[name] = self.columns[name].ddl
        for _ in range(self.random.randint(0, 2)):
            name = f"p{self.name()}"
            self.partitions[name] = self.random.choice(list(PARTITIONS))
            columns[name] = self.partitions[name]
        properties = [TRACKED, NAME_MODE, "'delta.feature.timestampNtz' = 'supported'"]
        for feature in ("enableDeletionVectors", "enableRowTracking", "randomizeFilePrefixes"):
            value = str(self.random.random() < 0.5).lower()
            properties.append(f"'delta.{feature}' = '{value}'")
        self.table.create(
            ", ".join(f"`{name}` {ddl}" for name, ddl in columns.items()),
            *properties,
            partitioned_by=", ".join(f"`{name}`" for name in self.partitions),
        )

    def insert(self) -> None:
        schema = self.table.frame().schema
        rows = [self._row(schema) for _ in range(self.random.randint(1, 30))]
        frame = self.table.spark.createDataFrame(rows, schema)
        writer = frame.coalesce(1).write.format("delta").mode("append")
        with session_conf(self.table.spark, self.layout):
            writer.save(str(self.table.path))

    def _row(self, schema: StructType) -> tuple[Any, ...]:
        self.rows += 1
        secret = f"{DROPPED}{self.rows}"
        box = {"kept": self.rows, "secret": secret}
        values: dict[str, Any] = {"id": self.rows, "whole": self.random.randint(0, 9)}
        values |= {"secret": secret, "box": box, "boxes": [box, None]}
        for name in schema.fieldNames():
            if name in self.partitions:
                values[name] = self.random.choice(PARTITIONS[self.partitions[name]])
            elif name in self.columns:
                values[name] = self.columns[name].value(self.random)
        return tuple(values[name] for name in schema.fieldNames())

    def rename(self) -> None:
        old = self.random.choice([*self.columns, *self.partitions])
        # The new name may differ in letter case only.
        new = self.random.choice([self.name(), old.swapcase()])
        if new.lower() != old.lower() and new.lower() in map(str.lower, self.all_names()):
            return
        if new == old:
            return
        if new.lower() == old.lower():
            self.table.alter(f"RENAME COLUMN `{old}` TO between")
            self.table.alter(f"RENAME COLUMN between TO `{new}`")
        else:
            self.table.alter(f"RENAME COLUMN `{old}` TO `{new}`")
        group: dict[str, Any] = self.columns if old in self.columns else self.partitions
        group[new] = group.pop(old)

    def rename_nested(self) -> None:
        for name, column in self.columns.items():
            if column.ddl.startswith("struct<f0:") and "f1:" in column.ddl:
                self.table.alter(f"RENAME COLUMN `{name}`.f0 TO f1x")
                self.table.alter(f"DROP COLUMN `{name}`.f1")
                self._forget(name)
                return

    def _forget(self, name: str) -> None:
        """Inserts nulls from now on, because the column has another type than earlier."""
        self.columns[name] = _Null()

    def drop(self) -> None:
        if len(self.columns) > 1:
            name = self.random.choice(list(self.columns))
            self.table.alter(f"DROP COLUMN `{name}`")
            self.dropped = name
            del self.columns[name]

    def add(self, name: str | None = None) -> None:
        name = name or self.name()
        self.columns[name] = Type(self.random, 2)
        self.table.alter(f"ADD COLUMN `{name}` {self.columns[name].ddl}")

    def drop_and_add(self) -> None:
        self.drop()
        if self.dropped not in self.all_names():
            self.add(self.dropped)

    dropped = "id"

    def drop_secrets(self) -> None:
        """Drops the secret columns at every level."""
        self.table.alter("DROP COLUMNS (secret, box.secret, boxes.element.secret)")

    def delete(self) -> None:
        row = self.random.randint(1, self.rows)
        self.table.spark.sql(f"DELETE FROM {self.table.name} WHERE id = {row}")

    def all_names(self) -> list[str]:
        return ["id", "whole", *MARKED, *self.columns, *self.partitions]


class _Null(Type):
    def __init__(self) -> None:
        self.ddl = ""

    def value(self, random: Random) -> Any:
        return None


def generated(table: Table, seed: int) -> Table:
    """Makes a table of several files, and renames, drops and adds columns in between."""
    history = _History(table, seed)
    history.create()
    history.insert()
    steps = [
        history.rename,
        history.rename_nested,
        history.drop,
        history.drop_and_add,
        history.add,
        history.delete,
    ]
    history.random.shuffle(steps)
    for number, step in enumerate(steps):
        step()
        if number == 2:
            history.drop_secrets()
        if number % 2:
            history.insert()
    history.rename()
    return table
