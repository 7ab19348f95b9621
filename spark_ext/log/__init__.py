# SPDX-License-Identifier: Apache-2.0
"""What a table's `_delta_log` says, parsed and replayed: for the history and the audit."""
