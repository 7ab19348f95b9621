# SPDX-License-Identifier: Apache-2.0
"""Amounts of a command line: bytes, durations and numbers."""

from __future__ import annotations

import argparse
import re
from datetime import timedelta

_BYTES: dict[str, int] = {
    "B": 1,
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGTP", 1)},
    **{f"{prefix}IB": 1024**power for power, prefix in enumerate("KMGTP", 1)},
}
_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d+)?) ?([A-Za-z]+)", re.ASCII)
# Each unit is given at most once.
_DURATION = re.compile(
    "(?=.)" + "".join(rf"(?:\d{{1,6}}(?:\.\d+)?{unit})?" for unit in _SECONDS), re.ASCII
)


def size(text: str) -> int:
    """Returns bytes.

    Raises:
        ArgumentTypeError: The text is not a number with a unit of bytes.

    Example:
        >>> size("500GB"), size("1.5 MiB"), size("42B")
        (500000000000, 1572864, 42)
    """
    match = _SIZE.fullmatch(text)
    unit = _BYTES.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size: write a number and a unit, such as 500GB (10^9 bytes each) "
            "or 500GiB (2^30 bytes each)"
        )
    return int(float(match[1]) * unit)


def duration(text: str) -> timedelta:
    """Returns a duration.

    Raises:
        ArgumentTypeError: The text is not a list of numbers with units of time.

    Example:
        >>> str(duration("1h30m")), str(duration("45s"))
        ('1:30:00', '0:00:45')
    """
    if not _DURATION.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a duration: write numbers and units, such as 6h, 90m, 45s or 1h30m"
        )
    parts = re.findall(r"([\d.]+)([dhms])", text)
    return timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))


def count(text: str) -> int:
    """Returns a number from 1.

    Raises:
        ArgumentTypeError: The text is not such a number.

    Example:
        >>> count("4")
        4
    """
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)
