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
    from spark_ext.launch.attach import attach
    from spark_ext.launch.session import configure
    from spark_ext.model.dropped import ColumnVerdict, DroppedPlace, LiveColumn
    from spark_ext.model.metadata import ColumnChange, FileCount, FlagChange
    from spark_ext.removal.reasons import Reason
    from spark_ext.removal.row import (
        CostSum,
        ErrorSum,
        Obstacle,
        ObstacleSum,
        SurveyedTable,
        SurveySums,
    )
    from spark_ext.removal.stages import RemovalStage
    from spark_ext.tables.audit import AuditResult, audit
    from spark_ext.tables.calls import align_names, remove_column_mapping, track, untrack
    from spark_ext.tables.erase import Certificate, DroppedColumns, dropped_columns
    from spark_ext.tables.find import Survey, survey
    from spark_ext.tables.options import LakehouseOptions
    from spark_ext.tables.progress import LakehouseProgress, Progress
    from spark_ext.tables.report import LakehouseInterrupted, LakehouseReport
    from spark_ext.tables.results import (
        ColumnMappingStatus,
        NameAlignment,
        OutcomeSum,
        StatementResult,
        TableResult,
    )
    from spark_ext.tables.table import UsageTracking

__all__ = [
    "AuditResult",
    "Certificate",
    "ColumnChange",
    "ColumnMappingStatus",
    "ColumnVerdict",
    "CostSum",
    "DroppedColumns",
    "DroppedPlace",
    "ErrorSum",
    "FileCount",
    "Finding",
    "FlagChange",
    "LakehouseInterrupted",
    "LakehouseOptions",
    "LakehouseProgress",
    "LakehouseReport",
    "LiveColumn",
    "NameAlignment",
    "Obstacle",
    "ObstacleSum",
    "OutcomeSum",
    "Progress",
    "Reason",
    "RemovalStage",
    "SparkExtError",
    "StatementResult",
    "Survey",
    "SurveySums",
    "SurveyedTable",
    "TableResult",
    "UsageTracking",
    "__version__",
    "align_names",
    "attach",
    "audit",
    "configure",
    "dropped_columns",
    "remove_column_mapping",
    "survey",
    "track",
    "untrack",
]

_MODULES = {
    "AuditResult": "spark_ext.tables.audit",
    "Certificate": "spark_ext.tables.erase",
    "ColumnChange": "spark_ext.model.metadata",
    "ColumnMappingStatus": "spark_ext.tables.results",
    "ColumnVerdict": "spark_ext.model.dropped",
    "CostSum": "spark_ext.removal.row",
    "DroppedColumns": "spark_ext.tables.erase",
    "DroppedPlace": "spark_ext.model.dropped",
    "ErrorSum": "spark_ext.removal.row",
    "FileCount": "spark_ext.model.metadata",
    "Finding": "spark_ext.auditing.check",
    "FlagChange": "spark_ext.model.metadata",
    "LakehouseInterrupted": "spark_ext.tables.report",
    "LakehouseOptions": "spark_ext.tables.options",
    "LakehouseProgress": "spark_ext.tables.progress",
    "LakehouseReport": "spark_ext.tables.report",
    "LiveColumn": "spark_ext.model.dropped",
    "NameAlignment": "spark_ext.tables.results",
    "Obstacle": "spark_ext.removal.row",
    "ObstacleSum": "spark_ext.removal.row",
    "OutcomeSum": "spark_ext.tables.results",
    "Progress": "spark_ext.tables.progress",
    "Reason": "spark_ext.removal.reasons",
    "RemovalStage": "spark_ext.removal.stages",
    "SparkExtError": "spark_ext.errors",
    "StatementResult": "spark_ext.tables.results",
    "Survey": "spark_ext.tables.find",
    "SurveySums": "spark_ext.removal.row",
    "SurveyedTable": "spark_ext.removal.row",
    "TableResult": "spark_ext.tables.results",
    "UsageTracking": "spark_ext.tables.table",
    "align_names": "spark_ext.tables.calls",
    "attach": "spark_ext.launch.attach",
    "audit": "spark_ext.tables.audit",
    "configure": "spark_ext.launch.session",
    "dropped_columns": "spark_ext.tables.erase",
    "remove_column_mapping": "spark_ext.tables.calls",
    "survey": "spark_ext.tables.find",
    "track": "spark_ext.tables.calls",
    "untrack": "spark_ext.tables.calls",
}


def __getattr__(name: str) -> object:
    if name == "column_mapping":
        return import_module("spark_ext.column_mapping")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
