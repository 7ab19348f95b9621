# SPDX-License-Identifier: Apache-2.0
"""Values and pure functions for the metadata of a table; imports the standard library only."""
