# SPDX-License-Identifier: Apache-2.0
"""Makes sessions that count as sessions of Spark Connect."""

from __future__ import annotations


class ConnectSession:
    """Counts as a session of Spark Connect, without a server."""

    __module__ = "pyspark.sql.connect.session"
    session_id = "s"
