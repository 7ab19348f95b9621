# SPDX-License-Identifier: Apache-2.0
"""What a table's metadata is: pure functions and values, of the standard library only."""
