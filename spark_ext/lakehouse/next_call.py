# SPDX-License-Identifier: Apache-2.0
"""Says what to call next after a call over many tables: as a command, and in Python."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from spark_ext.show.tables import Lines, Part

# Values that both forms can contain. Others are functions and objects of the caller.
_WRITTEN = (str, int, float, tuple)
_UNITS = {"d": 86_400, "h": 3_600, "m": 60}


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call over many tables.

    Args:
        function: The name of the function of `spark_ext`.
        command: The name of the command.
        where: The places as texts; empty for the current schema of the session.
        options: The options that differ from their defaults, by the names of the function.
        files: The options and files that only the command has.
    """

    function: str
    command: str
    where: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[tuple[str, str], ...] = ()

    def with_options(self, **options: Any) -> Call:
        """Returns the call with other options."""
        return replace(self, options={**self.options, **options})

    def texts(self) -> tuple[str, ...]:
        """Returns the command, and the call in Python unless only the command writes the files.

        The command is missing if the call needs the session's current schema, or a function.

        Example:
            >>> options = {"parallel": 8}
            >>> Call(function="track", command="track", where=("db",), options=options).texts()
            ('spark-ext track db --parallel 8', "spark_ext.track(spark, 'db', parallel=8)")
        """
        found = []
        if self.where and all(isinstance(value, _WRITTEN) for value in self.options.values()):
            places = (f"./{place}" if place.startswith("-") else place for place in self.where)
            flags = (flag for each in self.options.items() for flag in _flags(*each))
            files = (word for each in self.files for word in each)
            found.append(shlex.join(["spark-ext", self.command, *places, *flags, *files]))
        if not self.files or not found:
            options = (f"{name}={_code(value)}" for name, value in self.options.items())
            arguments = ", ".join(["spark", *map(repr, self.where), *options])
            found.append(f"spark_ext.{self.function}({arguments})")
        return tuple(found)


@dataclass(frozen=True, kw_only=True)
class NextCall:
    """A proposed next call.

    Args:
        words: What the call does, for people, and from when.
        earliest: The time from which the call has something to do; None if it waits for no time.
        calls: The texts of the call, as `Call.texts` returns them.
    """

    words: str
    earliest: datetime | None
    calls: tuple[str, ...]

    def parts(self) -> Iterator[Part]:
        """Yields the parts for people."""
        yield Lines(f"Next, {self.words}:", self.calls)


def _code(value: object) -> str:
    return repr(value) if isinstance(value, _WRITTEN) else "..."


def _flags(name: str, value: Any) -> Iterator[str]:
    """Yields the words of an option on the command line."""
    option = f"--{name.replace('_', '-')}"
    if value is True:
        yield option
        return
    for each in value if isinstance(value, tuple) else (value,):
        text = {"max_bytes": _size, "max_time": _duration}.get(name, str)(each)
        # A pattern may begin like an option.
        yield from (f"{option}={text}",) if text.startswith("-") else (option, text)


def _size(number: int) -> str:
    return f"{number}B"


def _duration(seconds: float) -> str:
    """Returns a duration for the command line.

    Example:
        >>> _duration(21_600), _duration(5_400.5), _duration(0)
        ('6h', '1h30m0.5s', '0s')
    """
    text = ""
    for unit, size in _UNITS.items():
        number, seconds = divmod(seconds, size)
        text += f"{number:.0f}{unit}" if number else ""
    rest = f"{seconds:.6f}".rstrip("0").rstrip(".")
    return f"{text}{rest}s" if seconds or not text else text
