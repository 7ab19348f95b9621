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
    from spark_ext.api.alignment import NameAlignment
    from spark_ext.api.audit import audit
    from spark_ext.api.audit_result import AuditResult
    from spark_ext.api.dropped import DroppedColumns
    from spark_ext.api.progress import Progress
    from spark_ext.api.statements import StatementResult
    from spark_ext.api.status import ColumnMappingStatus
    from spark_ext.api.survey import SurveyProgress, survey
    from spark_ext.api.survey_result import Survey
    from spark_ext.api.table import UsageTracking
    from spark_ext.auditing.findings import Finding
    from spark_ext.errors import SparkExtError
    from spark_ext.lakehouse.calls import align_names, remove_column_mapping, track, untrack
    from spark_ext.lakehouse.certificate import Certificate
    from spark_ext.lakehouse.erasure import dropped_columns
    from spark_ext.lakehouse.options import LakehouseOptions
    from spark_ext.lakehouse.progress import LakehouseProgress
    from spark_ext.lakehouse.report import LakehouseInterrupted, LakehouseReport
    from spark_ext.lakehouse.results import OutcomeSum, TableResult
    from spark_ext.launch.attach import attach
    from spark_ext.launch.session import configure
    from spark_ext.model.dropped import ColumnVerdict, DroppedPlace, LiveColumn
    from spark_ext.model.metadata import FileCount
    from spark_ext.model.status import ColumnChange, FlagChange
    from spark_ext.removal.reasons import Reason
    from spark_ext.removal.stages import RemovalStage
    from spark_ext.removal.survey import Obstacle, SurveyedTable
    from spark_ext.removal.survey_sums import CostSum, ErrorSum, ObstacleSum, SurveySums

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
    "SurveyProgress",
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
    "AuditResult": "spark_ext.api.audit_result",
    "Certificate": "spark_ext.lakehouse.certificate",
    "ColumnChange": "spark_ext.model.status",
    "ColumnMappingStatus": "spark_ext.api.status",
    "ColumnVerdict": "spark_ext.model.dropped",
    "CostSum": "spark_ext.removal.survey_sums",
    "DroppedColumns": "spark_ext.api.dropped",
    "DroppedPlace": "spark_ext.model.dropped",
    "ErrorSum": "spark_ext.removal.survey_sums",
    "FileCount": "spark_ext.model.metadata",
    "Finding": "spark_ext.auditing.findings",
    "FlagChange": "spark_ext.model.status",
    "LakehouseInterrupted": "spark_ext.lakehouse.report",
    "LakehouseOptions": "spark_ext.lakehouse.options",
    "LakehouseProgress": "spark_ext.lakehouse.progress",
    "LakehouseReport": "spark_ext.lakehouse.report",
    "LiveColumn": "spark_ext.model.dropped",
    "NameAlignment": "spark_ext.api.alignment",
    "Obstacle": "spark_ext.removal.survey",
    "ObstacleSum": "spark_ext.removal.survey_sums",
    "OutcomeSum": "spark_ext.lakehouse.results",
    "Progress": "spark_ext.api.progress",
    "Reason": "spark_ext.removal.reasons",
    "RemovalStage": "spark_ext.removal.stages",
    "SparkExtError": "spark_ext.errors",
    "StatementResult": "spark_ext.api.statements",
    "Survey": "spark_ext.api.survey_result",
    "SurveyProgress": "spark_ext.api.survey",
    "SurveySums": "spark_ext.removal.survey_sums",
    "SurveyedTable": "spark_ext.removal.survey",
    "TableResult": "spark_ext.lakehouse.results",
    "UsageTracking": "spark_ext.api.table",
    "align_names": "spark_ext.lakehouse.calls",
    "attach": "spark_ext.launch.attach",
    "audit": "spark_ext.api.audit",
    "configure": "spark_ext.launch.session",
    "dropped_columns": "spark_ext.lakehouse.erasure",
    "remove_column_mapping": "spark_ext.lakehouse.calls",
    "survey": "spark_ext.api.survey",
    "track": "spark_ext.lakehouse.calls",
    "untrack": "spark_ext.lakehouse.calls",
}


def __getattr__(name: str) -> object:
    if name == "column_mapping":
        return import_module("spark_ext.column_mapping")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
