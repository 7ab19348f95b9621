# SPDX-License-Identifier: Apache-2.0
"""Converts messages of the JVM to dataclasses, which define the shape of the messages.

A JSON object has a key for each field, in camel case. The jar has a record with the same
names, and a test compares the two.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from inspect import signature
from types import MappingProxyType, UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from spark_ext.errors import MalformedMessageError
from spark_ext.model.rows import in_camel_case, without_none

_T = TypeVar("_T")
# Converts a JSON value, given its path in the message, to a value of ours.
Reader = Callable[[Any, str], Any]

_NO_PARTS: Mapping[Any, Reader] = MappingProxyType({})
_SCALARS = (str, int, bool, type(None))


class Shape(Generic[_T]):
    """The shape of a JSON object: a dataclass or a function names the keys.

    Args:
        make: The dataclass or the function.
        given: Fields that are arguments of `read` and no keys.
        parts: The readers of types that have no shape of their own.
    """

    def __init__(
        self,
        make: Callable[..., _T],
        *,
        given: Iterable[str] = (),
        parts: Mapping[Any, Reader] = _NO_PARTS,
    ) -> None:
        self._make = make
        self._given = frozenset(given)
        self._parts = parts

    def parse(self, text: str) -> _T:
        """Reads the text of a request. Raises as `read`."""
        try:
            value = json.loads(text)
        except ValueError as error:
            raise MalformedMessageError(path="$", problem=f"is not valid JSON: {error}") from error
        return self.read(value, "$")

    def read(self, value: Any, path: str, **given: Any) -> _T:
        """Reads the JSON object at a path.

        Raises:
            MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, if the object has other keys
                or values of other types.
        """
        # An unknown key is refused, because it may be a fact that changes a rule's decision.
        keys = self.keys
        if not isinstance(value, dict) or value.keys() != keys.keys():
            raise MalformedMessageError(path=path, problem=f"is not an object of {sorted(keys)}")
        for key, (name, types, read) in keys.items():
            part = value[key]
            if type(part) not in types:
                expected = " or ".join(accepted.__name__ for accepted in types)
                raise MalformedMessageError(
                    path=f"{path}.{key}", problem=f"is not of type {expected}"
                )
            if read is not None and part is not None:
                part = read(part, key if path == "$" else f"{path}.{key}")
            given[name] = part
        return self._make(**given)

    @cached_property
    def keys(self) -> Mapping[str, tuple[str, tuple[type, ...], Reader | None]]:
        """Returns the field, the allowed types and the reader of each key."""
        # Called late, because it evaluates annotations, which are texts.
        hints = get_type_hints(self._make)
        return {
            in_camel_case(name): (name, self._json_types(hints[name]), self._reader(hints[name]))
            for name in signature(self._make).parameters
            if name not in self._given
        }

    def _json_types(self, hint: Any) -> tuple[type, ...]:
        if hint in _SCALARS:
            return (hint,)
        if hint in self._parts or dataclasses.is_dataclass(hint):
            return (dict,)
        kind = get_origin(hint)
        if kind in (Union, UnionType):
            return tuple(of for part in get_args(hint) for of in self._json_types(part))
        return (dict,) if issubclass(kind, Mapping) else (list,)

    def _reader(self, hint: Any) -> Reader | None:
        hint = without_none(hint)
        if hint in self._parts:
            return self._parts[hint]
        if dataclasses.is_dataclass(hint):
            return Shape(hint, parts=self._parts).read  # type: ignore[arg-type]
        many = get_origin(hint)
        if many not in (tuple, frozenset):
            return None
        (of, *_) = get_args(hint)
        if of is str:
            return lambda values, path: many(strings(values, path))
        one = self._reader(of)
        assert one is not None
        return lambda values, path: many([one(value, path) for value in values])


def strings(values: Iterable[Any], path: str) -> tuple[str, ...]:
    """Returns values that all have to be strings.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE.
    """
    found = tuple(values)
    for value in found:
        if type(value) is not str:
            raise MalformedMessageError(path=path, problem="has a value that is not a string")
    return found
