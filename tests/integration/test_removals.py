# SPDX-License-Identifier: Apache-2.0
"""Runs the rows of `removal/*.txt`: which files are kept. `scripts.py` describes them."""

from tests.integration.scripts import as_tests

globals().update(as_tests("removal"))
