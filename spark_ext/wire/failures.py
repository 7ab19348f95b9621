# SPDX-License-Identifier: Apache-2.0
"""Every error as one of ours, which alone have a condition."""

from __future__ import annotations

import traceback

from spark_ext.errors import RuleFailedError, SparkExtError

_TRACEBACK_LINES = 12


def described(error: Exception) -> SparkExtError:
    """An error that was caught: itself, or what tells that a rule failed."""
    if isinstance(error, SparkExtError):
        return error
    lines = "".join(traceback.format_exception(error)).splitlines()[-_TRACEBACK_LINES:]
    return RuleFailedError(error=repr(error), traceback="\n".join(lines))
