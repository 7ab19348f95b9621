# SPDX-License-Identifier: Apache-2.0
"""Column mapping for Delta Lake that can be removed again without rewriting files."""

# A public name is imported at its first use, because the rule process (`spark_ext.process`) imports
# this package without pyspark.

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from spark_ext.version import __version__

if TYPE_CHECKING:
    from spark_ext import column_mapping as column_mapping
    from spark_ext.auditing.check import Finding
    from spark_ext.errors import SparkExtError
    from spark_ext.launch import attach, configure
    from spark_ext.model.dropped import ColumnVerdict, DroppedPlace, LiveColumn
    from spark_ext.model.metadata import ColumnChange, FileCount, FlagChange
    from spark_ext.removal.reasons import Reason
    from spark_ext.removal.stages import (
        CostSum,
        ErrorSum,
        Obstacle,
        ObstacleSum,
        RemovalStage,
        SurveyedTable,
        SurveySums,
    )
    from spark_ext.tables.calls import align_names, remove_column_mapping, track, untrack
    from spark_ext.tables.find import LakehouseOptions, Survey, survey
    from spark_ext.tables.inspect import (
        AuditResult,
        Certificate,
        DroppedColumns,
        audit,
        dropped_columns,
    )
    from spark_ext.tables.progress import LakehouseProgress, Progress
    from spark_ext.tables.report import (
        LakehouseInterrupted,
        LakehouseReport,
        OutcomeSum,
        StatementResult,
        TableResult,
    )
    from spark_ext.tables.table import ColumnMappingStatus, NameAlignment, UsageTracking

__all__ = ["UsageTracking", "attach", "audit", "configure", "dropped_columns", "survey"]
__all__ += ["__version__", "align_names", "remove_column_mapping", "track", "untrack"]
__all__ += ["AuditResult", "ColumnChange", "ColumnMappingStatus", "Finding", "FlagChange"]
__all__ += ["FileCount", "NameAlignment", "Reason", "RemovalStage", "StatementResult"]
__all__ += ["Certificate", "ColumnVerdict", "DroppedColumns", "DroppedPlace", "LiveColumn"]
__all__ += ["CostSum", "ErrorSum", "Obstacle", "ObstacleSum", "Survey", "SurveySums"]
__all__ += ["LakehouseOptions", "LakehouseReport", "OutcomeSum", "SurveyedTable", "TableResult"]
__all__ += ["LakehouseInterrupted", "LakehouseProgress", "Progress", "SparkExtError"]

_NAMES = {
    "auditing.check": "Finding",
    "errors": "SparkExtError",
    "launch": "attach configure",
    "model.dropped": "ColumnVerdict DroppedPlace LiveColumn",
    "model.metadata": "ColumnChange FileCount FlagChange",
    "removal.reasons": "Reason",
    "removal.stages": "CostSum ErrorSum Obstacle ObstacleSum RemovalStage SurveySums SurveyedTable",
    "tables.calls": "align_names remove_column_mapping track untrack",
    "tables.find": "LakehouseOptions Survey survey",
    "tables.inspect": "AuditResult Certificate DroppedColumns audit dropped_columns",
    "tables.progress": "LakehouseProgress Progress",
    "tables.report": "LakehouseInterrupted LakehouseReport OutcomeSum StatementResult TableResult",
    "tables.table": "ColumnMappingStatus NameAlignment UsageTracking",
}


def __getattr__(name: str) -> object:
    if name == "column_mapping":
        return import_module("spark_ext.column_mapping")
    for module, names in _NAMES.items():
        if name in names.split():
            return getattr(import_module(f"spark_ext.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
