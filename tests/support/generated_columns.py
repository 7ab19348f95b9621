# SPDX-License-Identifier: Apache-2.0
"""Creates tables with generated or identity columns through the DeltaTable builder.

SQL has such columns since Delta 4.4.0 (AbstractDeltaCatalog.scala, `capabilities`), and the builder
in all releases.
"""

from __future__ import annotations

import re
from pathlib import Path

from delta.tables import DeltaTable, IdentityGenerator
from pyspark.sql import SparkSession

# Commas outside of brackets separate columns.
COLUMN = re.compile(r"(?:[^,(<]|\([^)]*\)|<[^>]*>)+")
PARTS = re.compile(
    r"(?P<name>\w+) (?P<type>\w+(?:<.*>)?)"
    r"(?: GENERATED (?P<how>ALWAYS|BY DEFAULT) AS (?:IDENTITY|\((?P<expression>.*)\)))?"
)
PROPERTY = re.compile(r"'([^']+)' = '([^']+)'")


def create_by_builder(spark: SparkSession, path: Path, columns: str, *properties: str) -> None:
    """Creates the table that CREATE TABLE with these columns and properties would create."""
    builder = DeltaTable.create(spark).location(str(path))
    for column in COLUMN.findall(columns):
        parts = PARTS.fullmatch(column.strip())
        assert parts is not None, column
        always = parts["expression"] or IdentityGenerator()
        builder.addColumn(
            parts["name"],
            parts["type"],
            generatedAlwaysAs=always if parts["how"] == "ALWAYS" else None,
            generatedByDefaultAs=IdentityGenerator() if parts["how"] == "BY DEFAULT" else None,
        )
    for text in properties:
        found = PROPERTY.fullmatch(text)
        assert found is not None, text
        builder.property(*found.groups())
    builder.execute()
