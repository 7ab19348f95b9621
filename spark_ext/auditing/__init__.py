# SPDX-License-Identifier: Apache-2.0
"""The audit: what in a table's log and data files is not as it should be.

Pure functions over parsed actions. They share the log's replay with nothing but the history, and
nothing with the rules that write tables, so that a defect there is seen here.
"""

from __future__ import annotations

from spark_ext.auditing.checks.checkpoint_differs import checkpoint_differs
from spark_ext.auditing.checks.column_without_mapping import column_without_mapping
from spark_ext.auditing.checks.commit_torn import commit_torn
from spark_ext.auditing.checks.drop_without_flag import drop_without_flag
from spark_ext.auditing.checks.dropped_column_shown import dropped_column_shown
from spark_ext.auditing.checks.feature_without_flag import feature_without_flag
from spark_ext.auditing.checks.file_columns import file_columns
from spark_ext.auditing.checks.file_missing import file_missing
from spark_ext.auditing.checks.file_unreadable import file_unreadable
from spark_ext.auditing.checks.flag_no_boolean import flag_no_boolean
from spark_ext.auditing.checks.flag_started_false import flag_started_false
from spark_ext.auditing.checks.flag_turned_back import flag_turned_back
from spark_ext.auditing.checks.flag_without_feature import flag_without_feature
from spark_ext.auditing.checks.hinted_checkpoint_missing import hinted_checkpoint_missing
from spark_ext.auditing.checks.id_used_again import id_used_again
from spark_ext.auditing.checks.log_without_commits import log_without_commits
from spark_ext.auditing.checks.log_without_start import log_without_start
from spark_ext.auditing.checks.mapping_keys_left import mapping_keys_left
from spark_ext.auditing.checks.max_column_id_too_small import max_column_id_too_small
from spark_ext.auditing.checks.max_column_id_went_down import max_column_id_went_down
from spark_ext.auditing.checks.name_of_another import name_of_another
from spark_ext.auditing.checks.partition_folders import partition_folders
from spark_ext.auditing.checks.partition_values import partition_values
from spark_ext.auditing.checks.physical_name_used_again import physical_name_used_again
from spark_ext.auditing.checks.protocol_too_low import protocol_too_low
from spark_ext.auditing.checks.statistics_names import statistics_names
from spark_ext.auditing.checks.unknown_mode import unknown_mode
from spark_ext.auditing.checks.unreadable_schema import unreadable_schema
from spark_ext.auditing.checks.uuid_missing import uuid_missing
from spark_ext.auditing.findings import Check, Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import states

__all__ = ["CHECKS", "Finding", "audit"]

# The worst first, which is the order of the findings.
CHECKS: tuple[Check, ...] = (
    # Nothing can be read.
    log_without_start,
    commit_torn,
    log_without_commits,
    unreadable_schema,
    unknown_mode,
    # Rows are wrong, or lost.
    file_missing,
    file_unreadable,
    dropped_column_shown,
    file_columns,
    partition_values,
    physical_name_used_again,
    id_used_again,
    mapping_keys_left,
    column_without_mapping,
    protocol_too_low,
    checkpoint_differs,
    # The next change makes them wrong.
    flag_turned_back,
    drop_without_flag,
    flag_started_false,
    uuid_missing,
    max_column_id_too_small,
    max_column_id_went_down,
    feature_without_flag,
    flag_no_boolean,
    flag_without_feature,
    statistics_names,
    hinted_checkpoint_missing,
    # A risk: the table is as it must be, and some readers may be misled.
    name_of_another,
    partition_folders,
)


def audit(log: TableLog) -> tuple[Finding, ...]:
    """What every check finds in a table, the worst first; nothing in a healthy one."""
    replayed = states(log)
    if not replayed:
        # A commit that lost its end may be why.
        return tuple(commit_torn(log, replayed)) or tuple(log_without_start(log, replayed))
    return tuple(
        finding
        for check in CHECKS
        for finding in sorted(
            check(log, replayed),
            key=lambda found: (found.version or 0, found.column or "", found.file or ""),
        )
    )
