# SPDX-License-Identifier: Apache-2.0
"""A schema as the log has it: its columns at every level, and their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, TypeVar
from unicodedata import normalize

DataType = Mapping[str, Any]
Schema = DataType
Field = Mapping[str, Any]
Path = tuple[str, ...]
_Item = TypeVar("_Item")

EMPTY_SCHEMA: Schema = {"type": "struct", "fields": []}

# Delta 4.4.0, DeltaColumnMapping.scala, `PARQUET_LIST_ELEMENT_FIELD_NAME` and its neighbours.
CHILDREN = {
    "array": (("elementType", "element"),),
    "map": (("keyType", "key"), ("valueType", "value")),
}

# The segments of paths that are not names.
INNER = frozenset(segment for children in CHILDREN.values() for _, segment in children)

# Spark, UnresolvedAttribute: a name with a dot is in backticks.
_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")

# Spark, DataType.scala: the types whose names in SQL and JSON differ.
_SQL_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


def logical_name(field: Field) -> str:
    """Returns the name that users see."""
    name: str = field["name"]
    return name


def walk(
    schema: Schema, *, name: Callable[[Field], str] = logical_name
) -> list[tuple[Path, Field]]:
    """Returns every field at every level with its path, parents before children.

    Inside an array or a map the path has a segment `element`, `key` or `value`.

    Source: Delta 4.4.0, SchemaMergingUtils.scala, `explode`.

    Example:
        >>> item = {"type": "struct", "fields": [{"name": "x", "type": "long"}]}
        >>> items = {"type": "array", "elementType": item, "containsNull": True}
        >>> schema = {"type": "struct", "fields": [{"name": "items", "type": items}]}
        >>> [path for path, field in walk(schema)]
        [('items',), ('items', 'element', 'x')]
    """
    found: list[tuple[Path, Field]] = []
    _collect(schema, (), name, found)
    return found


def _collect(
    data_type: DataType, path: Path, name: Callable[[Field], str], found: list[tuple[Path, Field]]
) -> None:
    # A nested generator passes each field up level by level. On a table of thousands of columns,
    # generators took most of the time of a rule call.
    if data_type["type"] == "struct":
        for field in data_type["fields"]:
            field_path = (*path, name(field))
            found.append((field_path, field))
            field_type = field["type"]
            if not isinstance(field_type, str):
                _collect(field_type, field_path, name, found)
        return
    for key, segment in CHILDREN.get(data_type["type"], ()):
        child = data_type[key]
        if not isinstance(child, str):
            _collect(child, (*path, segment), name, found)


def inner_types(path: Path, data_type: DataType | str) -> Iterator[tuple[Path, DataType | str]]:
    """Yields a column's type and the types of its elements, keys and values, without struct fields.

    Example:
        >>> ids = {"type": "array", "elementType": "long", "containsNull": True}
        >>> [path for path, _ in inner_types(("ids",), ids)]
        [('ids',), ('ids', 'element')]
    """
    yield path, data_type
    if not isinstance(data_type, str):
        for key, segment in CHILDREN.get(data_type["type"], ()):
            yield from inner_types((*path, segment), data_type[key])


def lower(path: Path) -> Path:
    """Returns a path in lower case, as Spark and readers of Parquet compare paths."""
    return tuple(name.lower() for name in path)


def is_below(path: Path, others: Collection[Path]) -> bool:
    """Returns whether a path is inside a struct, array or map of one of the others.

    Example:
        >>> is_below(("s", "x"), {("s",)}), is_below(("s",), {("s",)})
        (True, False)
    """
    return any(path[:length] in others for length in range(1, len(path)))


def topmost(items: Iterable[_Item], path: Callable[[_Item], Path]) -> Iterator[_Item]:
    """Yields the items that are not inside an earlier item; of a struct, only the struct.

    Example:
        >>> list(topmost([("s",), ("s", "x"), ("t", "x")], lambda path: path))
        [('s',), ('t', 'x')]
    """
    found: set[Path] = set()
    for item in items:
        if not is_below(path(item), found):
            found.add(path(item))
            yield item


def quoted(path: Path) -> str:
    """Returns a path for SQL, with backticks around the names that need them.

    Example:
        >>> quoted(("a b", "element", "x"))
        '`a b`.element.x'
    """
    return ".".join(
        name if name.isidentifier() and name.isascii() else backticked(name) for name in path
    )


def path_of(text: str) -> Path:
    """Returns the path that a text of SQL names; empty if the text is not a name.

    Example:
        >>> path_of("a.`b.c`"), path_of("`a"), path_of("")
        (('a', 'b.c'), (), ())
    """
    if not re.fullmatch(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*", text):
        return ()
    found = _PART.findall(text)
    return tuple(backticked_name.replace("``", "`") or plain for backticked_name, plain in found)


def as_code(path: Path) -> str:
    """Returns a path for a sentence, with one pair of backticks if possible.

    Example:
        >>> as_code(("s", "x")), as_code(("s", "a b"))
        ('`s.x`', 's.`a b`')
    """
    name = quoted(path)
    return name if "`" in name else f"`{name}`"


def backticked(name: str) -> str:
    """Returns a name in backticks for SQL; the name may contain any character."""
    return "`" + name.replace("`", "``") + "`"


def type_name(data_type: DataType | str) -> str:
    """Returns the name of a data type in SQL, without the metadata of its fields.

    Source: Spark, DataType.scala, `catalogString`; primitive types keep their names in JSON.

    Example:
        >>> type_name({"type": "array", "elementType": "long", "containsNull": True})
        'array<bigint>'
    """
    if isinstance(data_type, str):
        return _SQL_NAMES.get(data_type, data_type)
    if data_type["type"] == "struct":
        fields = (f"{field['name']}:{type_name(field['type'])}" for field in data_type["fields"])
        return f"struct<{','.join(fields)}>"
    if data_type["type"] not in CHILDREN:
        return str(data_type["type"])
    children = (type_name(data_type[key]) for key, _ in CHILDREN[data_type["type"]])
    return f"{data_type['type']}<{','.join(children)}>"


def differing(one: Schema, other: Schema) -> tuple[Schema, Schema]:
    """Returns two schemas without the top-level columns that are equal in both, in any order.

    A wide table changes in a few columns. A comparison of two columns is a hundred times faster
    than a walk through them.

    Example:
        >>> a, b = ({"name": name, "type": "long"} for name in "ab")
        >>> _, after = differing({"type": "struct", "fields": [a]},
        ...                      {"type": "struct", "fields": [b, a]})
        >>> after["fields"]
        [{'name': 'b', 'type': 'long'}]
    """
    by_name = {field["name"]: field for field in one["fields"]}
    same = {
        field["name"]
        for field in other["fields"]
        # Both schemas share a column that the JVM sent once. A comparison of dicts takes longer.
        if (known := by_name.get(field["name"])) is field or known == field
    }
    return _without(one, same), _without(other, same)


def _without(schema: Schema, names: set[str]) -> Schema:
    return {**schema, "fields": [f for f in schema["fields"] if f["name"] not in names]}


def map_fields(schema: Schema, change: Callable[[Path, Field], Field]) -> Schema:
    """Returns a schema with every field changed by a function; the same object if none changes.

    The function takes the path in the names before the change and the field, parents before
    children. It must not change a nested type.

    Source: Delta 4.4.0, SchemaMergingUtils.scala, `transformColumns`.

    Example:
        >>> schema = {"type": "struct", "fields": [{"name": "a", "type": "long"}]}
        >>> map_fields(schema, lambda path, field: {**field, "name": "b"})
        {'type': 'struct', 'fields': [{'name': 'b', 'type': 'long'}]}
    """
    return _map(schema, (), change)


def _map(data_type: DataType, path: Path, change: Callable[[Path, Field], Field]) -> DataType:
    if data_type["type"] == "struct":
        fields = data_type["fields"]
        changed = [_map_field(field, (*path, field["name"]), change) for field in fields]
        same = all(new is old for new, old in zip(changed, fields, strict=True))
        return data_type if same else {**data_type, "fields": changed}
    result = data_type
    for key, segment in CHILDREN.get(data_type["type"], ()):
        child = data_type[key]
        if not isinstance(child, str):
            new_child = _map(child, (*path, segment), change)
            result = result if new_child is child else {**result, key: new_child}
    return result


def _map_field(field: Field, path: Path, change: Callable[[Path, Field], Field]) -> Field:
    new = change(path, field)
    field_type = new["type"]
    if isinstance(field_type, str):
        return new
    new_type = _map(field_type, path, change)
    return new if new_type is field_type else {**new, "type": new_type}


# SQL allows blanks around a dot outside of backticks.
_DOT = re.compile(r"(`(?:[^`]|``)*`)|\s*\.\s*")


@dataclass(frozen=True)
class NamePattern:
    """A name or a shell pattern of columns.

    Comparisons ignore letter case and the Unicode form, because Delta and people write one name in
    several ways. A proof that data does not exist has to consider all of them.

    Args:
        text: The last part or parts of a path, or a whole path after the last parts of the table's
            name; with dots or as SQL quotes it, with or without `element`, `key` and `value`; or a
            pattern with `*`, `?` and `[..]` for one of these.
        table: The parts of the table's name.
    """

    text: str
    table: Path = ()

    def matches(self, path: Path) -> bool:
        """Returns whether a path is the name or matches the pattern.

        Example:
            >>> pattern = NamePattern("ss?")
            >>> [pattern.matches(path) for path in (("SSN",), ("person", "ssn"), ("ssn", "id"))]
            [True, True, False]
            >>> NamePattern("p.`ssn`").matches(("a", "p", "element", "ssn"))
            True
            >>> NamePattern("a[1]").matches(("a[1]",))
            True
        """
        folded = tuple(map(_folded, path))
        for end in _ends(folded):
            names = [".".join(end), quoted(end)]
            if any(_matches(name, wanted) for name in names for wanted in self._texts):
                return True
            # Only the whole path may follow the last parts of the table's name.
            tables = self._tables if end[0] == folded[0] else [()]
            if any(_match((*table, *end), self._parts) for table in tables):
                return True
        return False

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset((_folded(self.text), _folded(self.text.strip())))

    @cached_property
    def _parts(self) -> Path:
        text = _DOT.sub(lambda found: found[1] or ".", self.text.strip())
        return tuple(map(_folded, path_of(text)))

    @cached_property
    def _tables(self) -> list[Path]:
        """Returns the last parts of the table's name, of any number."""
        folded = tuple(map(_folded, self.table))
        return [folded[start:] for start in range(len(folded) + 1)]


def _ends(path: Path) -> Iterator[Path]:
    """Yields the last parts of a path, with and without the segments of arrays and maps.

    Example:
        >>> list(_ends(("a", "key", "x")))
        [('x',), ('key', 'x'), ('a', 'x'), ('a', 'key', 'x')]
    """
    ends: dict[Path, None] = {(): None}
    for name in reversed(path):
        longer = [(name, *end) for end in ends]
        yield from longer
        ends = dict.fromkeys([*(ends if name in INNER else ()), *longer])


def _match(path: Path, wanted: Path) -> bool:
    return len(path) == len(wanted) and all(map(_matches, path, wanted))


def _matches(name: str, wanted: str) -> bool:
    return name == wanted or fnmatchcase(name, wanted)


def _folded(text: str) -> str:
    return normalize("NFC", normalize("NFC", text).casefold())
