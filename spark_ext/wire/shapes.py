# SPDX-License-Identifier: Apache-2.0
"""Checks that a message of the JVM has the shape that it should have."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from spark_ext.errors import MalformedMessageError

Shape = Mapping[str, tuple[type, ...]]


def request_of(text: str, shape: Shape) -> dict[str, Any]:
    """A request's object. Raises as `shaped`."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise MalformedMessageError(path="$", problem=f"is no JSON: {error}") from error
    return shaped(value, "$", shape)


def shaped(value: Any, path: str, shape: Shape) -> dict[str, Any]:
    """A JSON object with the keys of a shape and values of its types.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE.
    """
    # An unknown key is refused: it may be a fact that would change a rule's decision.
    if not isinstance(value, dict) or value.keys() != shape.keys():
        raise MalformedMessageError(path=path, problem=f"is no object of {sorted(shape)}")
    for key, types in shape.items():
        if type(value[key]) not in types:
            expected = " or ".join(accepted.__name__ for accepted in types)
            raise MalformedMessageError(path=f"{path}.{key}", problem=f"is no {expected}")
    return value


def strings(values: Iterable[Any], path: str) -> tuple[str, ...]:
    """Strings, all of them. Raises as `shaped`."""
    found = tuple(values)
    if not all(type(value) is str for value in found):
        raise MalformedMessageError(path=path, problem="has a value that is no string")
    return found
