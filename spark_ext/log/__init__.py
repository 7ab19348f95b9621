# SPDX-License-Identifier: Apache-2.0
"""Parses and replays a table's `_delta_log` for the history, the audit and the erasure."""
