# SPDX-License-Identifier: Apache-2.0
"""How a table's columns and its flag came to be as they are, from its log."""
