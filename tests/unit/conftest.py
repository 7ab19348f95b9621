# SPDX-License-Identifier: Apache-2.0
"""Makes Hypothesis deterministic, so a commit that passed once passes again."""

from hypothesis import settings

settings.register_profile(
    "deterministic", derandomize=True, deadline=None, database=None, max_examples=60
)
settings.load_profile("deterministic")
