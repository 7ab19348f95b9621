# SPDX-License-Identifier: Apache-2.0
"""Runs the rows of `statements/*.txt`: flag, columns and rows. `scripts.py` describes them."""

from tests.integration.scripts import as_tests

globals().update(as_tests("statements"))
