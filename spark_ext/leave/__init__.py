# SPDX-License-Identifier: Apache-2.0
"""What leaving column mapping costs: pure functions on a table's metadata and protocol."""
