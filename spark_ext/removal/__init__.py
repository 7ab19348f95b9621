# SPDX-License-Identifier: Apache-2.0
"""The removal of column mapping: stages, costs and plans, as pure functions on a table's metadata."""
