# SPDX-License-Identifier: Apache-2.0
"""The history of a table's columns and of its flag, from its log."""
