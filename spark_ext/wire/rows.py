# SPDX-License-Identifier: Apache-2.0
"""Our dataclasses as rows, of SQL and of JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def as_row(value: DataclassInstance) -> dict[str, Any]:
    """A dataclass by the names of columns, which are written as Delta writes them.

    Example:
        >>> from spark_ext.model.metadata import FileCount
        >>> as_row(FileCount(num_files=2, size_in_bytes=10))
        {'numFiles': 2, 'sizeInBytes': 10}
    """
    return asdict(value, dict_factory=_in_camel_case)


def _in_camel_case(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {re.sub(r"_(\w)", lambda end: end[1].upper(), name): value for name, value in fields}
