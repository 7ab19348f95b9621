# SPDX-License-Identifier: Apache-2.0
"""Chooses the variants of a test that every run has; the matrix runs all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest


def in_matrix(*cases: Any) -> list[Any]:
    """Returns cases that only the matrix runs."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.matrix)
        for case in cases
    ]


def crossed(*axes: Sequence[Any]) -> list[Any]:
    """Returns all combinations. Every run has each value at least once; the matrix runs all."""
    sizes = [len(axis) for axis in axes]
    chosen = {tuple(number % size for size in sizes) for number in range(max(sizes))}
    return [
        pytest.param(
            *(axis[place] for axis, place in zip(axes, places, strict=True)),
            marks=() if places in chosen else pytest.mark.matrix,
        )
        for places in product(*map(range, sizes))
    ]
