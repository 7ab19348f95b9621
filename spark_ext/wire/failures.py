# SPDX-License-Identifier: Apache-2.0
"""Converts every error to a `SparkExtError`, which has a condition."""

from __future__ import annotations

import traceback

from spark_ext.errors import RuleFailedError, SparkExtError

_TRACEBACK_LINES = 12


def described(error: Exception) -> SparkExtError:
    """Returns the error itself if it has a condition, else a RuleFailedError with its traceback."""
    if isinstance(error, SparkExtError):
        return error
    lines = "".join(traceback.format_exception(error)).splitlines()[-_TRACEBACK_LINES:]
    return RuleFailedError(error=repr(error), traceback="\n".join(lines))
