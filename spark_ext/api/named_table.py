# SPDX-License-Identifier: Apache-2.0
"""Reads one table through the table functions of spark-ext."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spark_ext.api.functions import answer, literal
from spark_ext.api.refusals import run
from spark_ext.api.removal import RemovalState
from spark_ext.api.removal_stages import RemovalStages
from spark_ext.errors import MalformedMessageError
from spark_ext.launch.releases import UNKNOWN_VERSION, require_version
from spark_ext.model.column_mapping import mode_of
from spark_ext.model.former_ids import aligning_mode
from spark_ext.model.keys import ALIGNING, MODE_NONE
from spark_ext.model.usage import parsed_flag
from spark_ext.removal.alignment import AligningTable
from spark_ext.removal.stages import STAGES, RemovalStage
from spark_ext.wire.rows import of_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

# The text that begins a variable.
VARIABLE = "${"


def named_table(spark: SparkSession, *arguments: str) -> Row:
    """Returns the row of `column_mapping_named_table`, with the full name of a table.

    Raises:
        DifferentVersionsError: The session has a jar of another version.
    """
    (row,) = answer(spark, "column_mapping_named_table", *arguments).collect()
    # A jar without this column is older than the column.
    require_version(row.asDict().get("jarVersion", UNKNOWN_VERSION))
    return row


def sql_name(spark: SparkSession, name: str) -> str:
    """Returns a full name as SQL text that Spark reads back unchanged.

    Spark substitutes variables in statements, and readable names are not escaped for that.
    """
    return str(named_table(spark, literal(name))["sqlName"]) if VARIABLE in name else name


def flag_of(table: Row) -> bool | None:
    """Returns whether a column was ever dropped or renamed; None for an untracked table."""
    return parsed_flag(table["hasDroppedOrRenamed"]) is not False if table["tracked"] else None


class NamedTable:
    """A table that every query finds again by its full name.

    Args:
        spark: The session.
        name: The `name` of the row of `named_table`.
    """

    def __init__(self, spark: SparkSession, name: str) -> None:
        self.spark = spark
        self.name = name

    def row(self) -> Row:
        """Returns the row of `column_mapping_named_table` as it is now."""
        return named_table(self.spark, literal(self.name))

    def answer(self, function: str, *arguments: str) -> DataFrame:
        """Returns the rows of a table function for this table. Raises as `functions.answer`."""
        return answer(self.spark, function, literal(self.name), *arguments)

    def stages(self, *, exact: bool) -> RemovalStages:
        """Returns the stages of a removal.

        Raises:
            MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, if a stage is missing.
        """
        arguments = ("true",) if exact else ()
        rows = self.answer("column_mapping_removal", *arguments).collect()
        stages = RemovalStages(of_row(RemovalStage, row) for row in rows)
        names = tuple(stage.stage for stage in stages)
        if names != STAGES:
            # A missing stage would count as reached.
            problem = f"has the stages {names}, and not {STAGES}"
            raise MalformedMessageError(path="answer", problem=problem)
        return stages

    def removal_state(self, *, exact: bool) -> RemovalState:
        """Returns the stages with the version, which is read first: no stage is older."""
        table = self.row()
        return RemovalState(table["sqlName"], table["version"], self.stages(exact=exact))

    def aligning_table(self) -> AligningTable:
        """Returns the facts that decide the next step of an alignment.

        Other writers may commit between two queries. So the stage is read between two equal
        readings of the other facts, and must agree with them.
        """
        version, facts = self._mapping()
        while True:
            unmapped = self.stages(exact=False)[0]
            newer, now = self._mapping()
            agrees = facts["mode"] == MODE_NONE or not unmapped.reached
            if now == facts and agrees:
                return AligningTable(version=version, unmapped=unmapped, **facts)
            version, facts = newer, now

    def _mapping(self) -> tuple[int, dict[str, Any]]:
        """Returns the version, and the other facts of an `AligningTable` without its stage."""
        table = self.row()
        shown = run(self.spark, f"SHOW TBLPROPERTIES {table['sqlName']}").collect()
        properties = {row["key"]: row["value"] for row in shown}
        aligning = properties.get(ALIGNING)
        return table["version"], {
            "name": table["sqlName"],
            "mode": mode_of(properties),
            "flag": flag_of(table),
            "aligning": None if aligning is None else aligning_mode(aligning),
        }
