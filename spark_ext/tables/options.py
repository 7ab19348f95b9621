# SPDX-License-Identifier: Apache-2.0
"""The options of a call over many tables, checked before anything runs, and its limits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any, Literal, TypedDict

from spark_ext.removal.row import SurveyedTable
from spark_ext.tables.goals import Plan
from spark_ext.tables.progress import LakehouseProgress, shown
from spark_ext.tables.results import BYTES, ERRORS, TIME
from spark_ext.tables.sql import SCHEMA, is_path

# Returns whether a table with a name and a kind is read.
Chosen = Callable[[str, str | None], bool]

CONTINUE = "continue"
_FILTERS = ("include", "exclude")
_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


class LakehouseOptions(TypedDict, total=False):
    """The options of a call over many tables.

    Args:
        include: Shell patterns of tables (`fnmatch`), by default all. A pattern matches the name of
            a table with or without its catalog and schemas, or the path of a table or its last
            folder. Letter case counts if Spark is case-sensitive.
        exclude: Patterns of tables to omit, also if `include` matches.
        only: Returns whether the table of a survey row is included. The row of a table that cannot
            be read has its name and its error alone.
        parallel: The number of tables that run at a time, 4 by default. Each runs in a thread, and
            in a separate scheduler pool if `spark.scheduler.mode` is FAIR.
        max_bytes: A limit for the sum of the planned bytes of all tables that begin. Each table is
            read again just before it begins; files that other writers add later do not count.
        max_time: A limit in seconds, or a `timedelta`. When the time is over, no table begins, and
            running tables are cancelled.
        on_error: `continue`, or the number of failures after which no table begins.
        dry_run: Return the plan, and change nothing.
        progress: Called before the first table, every two seconds, and after tables; None for no
            reports.
    """

    include: str | Sequence[str]
    exclude: str | Sequence[str]
    only: Callable[[SurveyedTable], bool] | None
    parallel: int
    max_bytes: int | None
    max_time: float | timedelta | None
    on_error: Literal["continue"] | int
    dry_run: bool
    progress: Callable[[LakehouseProgress], None] | None


@dataclass(frozen=True, kw_only=True)
class Options:
    """The checked options; `LakehouseOptions` documents each. Raises TypeError or ValueError."""

    include: str | Sequence[str] = ()
    exclude: str | Sequence[str] = ()
    only: Callable[[SurveyedTable], bool] | None = None
    parallel: int = 4
    max_bytes: int | None = None
    max_time: float | timedelta | None = None
    on_error: str | int = CONTINUE
    dry_run: bool = False
    progress: Callable[[LakehouseProgress], None] | None = shown

    def __post_init__(self) -> None:
        object.__setattr__(self, "include", _patterns("include", self.include))
        object.__setattr__(self, "exclude", _patterns("exclude", self.exclude))
        if isinstance(self.max_time, timedelta):
            object.__setattr__(self, "max_time", self.max_time.total_seconds())
        for name in ("only", "progress"):
            value = getattr(self, name)
            _require(value is None or callable(value), name, value, "a function or None", TypeError)
        require_number("parallel", self.parallel, 1)
        if self.max_bytes is not None:
            require_number("max_bytes", self.max_bytes, 0)
        if self.max_time is not None:
            require_number("max_time", self.max_time, 0, (int, float))
            _require(self.max_time != math.inf, "max_time", self.max_time, "None for no limit")
        if self.on_error != CONTINUE:
            require_number("on_error", self.on_error, 1)
        _require(isinstance(self.dry_run, bool), "dry_run", self.dry_run, "a boolean", TypeError)

    @classmethod
    def of(cls, function: str, options: Mapping[str, Any]) -> Options:
        """Returns the options of a call of a function. Raises also if an option is unknown."""
        for name in options.keys() - {each.name for each in fields(cls)}:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        return cls(**options)

    def budget(self) -> Budget:
        """Returns the limits."""
        assert not isinstance(self.max_time, timedelta)
        errors = self.on_error if isinstance(self.on_error, int) else None
        return Budget(self.max_bytes, self.max_time, errors)

    @property
    def filters(self) -> tuple[str, ...]:
        """Returns the options that choose tables, in words."""
        of_only = () if self.only is None else ("only: a function",)
        patterns = (f"{name} {each}" for name in _FILTERS for each in getattr(self, name))
        return (*patterns, *of_only)

    def chooses(self, *, case_sensitive: bool) -> Chosen:
        """Returns a function that returns whether the patterns choose the name of a table.

        A schema that cannot be listed may have a table that `include` chooses. It is not chosen if
        `exclude` has its name, or all its tables.
        """

        def matches(pattern: str, name: str) -> bool:
            if not case_sensitive:
                pattern, name = pattern.casefold(), name.casefold()
            return fnmatchcase(name, pattern)

        def chosen(name: str, kind: str | None) -> bool:
            if not self.include and not self.exclude:
                return True
            is_schema = kind == SCHEMA
            forms = {*spellings(name), *(spellings(f"{name}.`*`") if is_schema else ())}
            included, excluded = (
                any(matches(pattern, form) for pattern in patterns for form in forms)
                for patterns in (self.include, self.exclude)
            )
            return (included or is_schema or not self.include) and not excluded

        return chosen


@dataclass
class Budget:
    """The limits of a call, the planned bytes that began, and the failures; None is no limit."""

    max_bytes: int | None = None
    max_seconds: float | None = None
    max_errors: int | None = None
    begun_bytes: int = 0
    errors: int = 0

    def refusal(self, plan: Plan, seconds: float) -> str | None:
        """Returns why a table may not begin after these seconds of the call; None if it fits."""
        if self.max_errors is not None and self.errors >= self.max_errors:
            return ERRORS
        if self.is_over(seconds):
            return TIME
        size = plan.files.size_in_bytes
        # A table without files to copy fits at any time.
        if self.max_bytes is not None and size and self.begun_bytes + size > self.max_bytes:
            return BYTES
        return None

    def is_over(self, seconds: float) -> bool:
        """Returns whether the time is over."""
        return self.max_seconds is not None and seconds >= self.max_seconds


def spellings(name: str) -> tuple[str, ...]:
    """Returns the texts that a pattern may match: ends of a name, or a path and its last folder.

    Example:
        >>> spellings("c.sales.`tmp-1`")
        ('c.sales.`tmp-1`', 'c.sales.tmp-1', 'sales.`tmp-1`', 'sales.tmp-1', '`tmp-1`', 'tmp-1')
        >>> spellings("/data/trips.delta")
        ('/data/trips.delta', 'trips.delta')
    """
    found = list(_PART.finditer(name))
    parts = [(part[1] or "").replace("``", "`") or part[2] for part in found]
    of_delta = len(parts) == 2 and parts[0] == "delta" and "/" in parts[1]
    if of_delta or is_path(name):
        place = parts[1] if of_delta else name
        forms = [name, place, place.rstrip("/").rpartition("/")[2]]
    else:
        starts = [(name[part.start() :], parts[number:]) for number, part in enumerate(found)]
        forms = [form for text, rest in starts for form in (text, ".".join(rest))]
    return tuple(dict.fromkeys(forms))


def _patterns(name: str, given: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    is_list = isinstance(given, Sequence) and all(isinstance(each, str) for each in given)
    _require(is_list, name, given, "a text or a list of texts", TypeError)
    return tuple(given)


def require_number(
    name: str, value: object, least: int, types: type | tuple[type, ...] = int
) -> None:
    """Raises if an option is not a number, or too small."""
    is_number = isinstance(value, types) and not isinstance(value, bool)
    _require(is_number, name, value, "a number", TypeError)
    _require(value >= least, name, value, f"at least {least}")  # type: ignore[operator]


def _require(
    is_right: bool,
    name: str,
    value: object,
    expected: str,
    error: type[Exception] = ValueError,
) -> None:
    if not is_right:
        raise error(f"Cannot run with {name}={value!r}: use {expected}. No table was changed.")
