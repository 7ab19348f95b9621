# SPDX-License-Identifier: Apache-2.0
"""What removing column mapping costs: pure functions on a table's metadata and protocol."""
