# SPDX-License-Identifier: Apache-2.0
"""The colours of states in HTML, and sizes with a unit."""

from __future__ import annotations

import re
from typing import Any, Final

# A background and a text, so that both themes of a notebook show the same.
GOOD: Final = ";background:#dcfce7;color:#14532d"
CARE: Final = ";background:#fef3c7;color:#78350f"
BAD: Final = ";background:#fee2e2;color:#7f1d1d"

STATES: Final = {
    # The costs of a removal stage.
    **dict.fromkeys(("NOTHING", "METADATA"), GOOD),
    **dict.fromkeys(("COPY", "HISTORY"), CARE),
    **dict.fromkeys(("REWRITE", "BLOCKED"), BAD),
    # The outcomes of a table in a lakehouse.
    **dict.fromkeys(("DONE", "ALREADY_DONE"), GOOD),
    **dict.fromkeys(("WAITING", "NOT_BEGUN", "CANCELLED"), CARE),
    **dict.fromkeys(("FAILED", "UNREADABLE"), BAD),
    # The verdicts about an erased column.
    **dict.fromkeys(("ERASED", "NEVER_HAD"), GOOD),
    **dict.fromkeys(("STILL_PRESENT", "NOT_READ", "UNKNOWN"), CARE),
    "LIVE": BAD,
    # The severities of an audit's findings.
    "damage": BAD,
    "risk": CARE,
}
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_NUMBER = re.compile(r"\d[\d,]*")


class Coloured(str):
    """A text with a colour of its own, which is not in `STATES`."""

    colour: str

    def __new__(cls, text: str, colour: str) -> Coloured:
        """Returns the text in one of the colours above."""
        made = super().__new__(cls, text)
        made.colour = colour
        return made


def colours(value: Any) -> str:
    """Returns the style of a state; empty for other values."""
    if isinstance(value, Coloured):
        return value.colour
    return STATES.get(value, "") if isinstance(value, str) else ""


def in_units(text: str) -> str:
    """Returns a text whose numbers of bytes have a decimal unit.

    Example:
        >>> in_units("941"), in_units("at most 5,000"), in_units("34567890123")
        ('941 B', 'at most 5.0 kB', '34.6 GB')
    """
    return _NUMBER.sub(lambda found: size(int(found[0].replace(",", ""))), text)


def size(number: int) -> str:
    """Returns bytes with a decimal unit.

    Example:
        >>> size(0), size(999_950), size(12_000_000)
        ('0 B', '1.0 MB', '12.0 MB')
    """
    if number < 1000:
        return f"{number} B"
    scaled, unit = float(number), 0
    while scaled >= 999.95 and unit < len(_UNITS) - 1:
        scaled, unit = scaled / 1000, unit + 1
    return f"{scaled:.1f} {_UNITS[unit]}"
