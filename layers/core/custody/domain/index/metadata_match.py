"""How metadata is indexed and matched: one scheme for both indexes.

Equality works on tags, one string a (key, value), so that a value with a quote, a backslash or an
operator in it is never anything but itself. A number equals a number (1 and 1.0), a string a
string, a boolean a boolean. Ranges work on numbers, and on strings that are RFC 3339 times; one and
the same value must satisfy both bounds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from custody.domain.index.candidates import FilterClause, Range
from custody.domain.model import MetadataValue
from custody.domain.timestamps import parse_rfc3339
from custody.errors import Unprocessable

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BEGINNING = -(1 << 61)
"""Microseconds that stand for "since ever"; before every time that can be written."""
END = 1 << 61
"""Microseconds that stand for "until further notice"."""


def microseconds(moment: datetime) -> int:
    """Since 1970-01-01 UTC, exactly."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


@lru_cache(maxsize=4096)  # the same documents come up again and again
def moment_of(value: int) -> datetime:
    """Raises ValueError for a time that the calendar of ``datetime`` doesn't reach."""
    try:
        return _EPOCH + timedelta(microseconds=value)
    except OverflowError:
        raise ValueError("no such time") from None


def tag(key: str, value: str | float | bool) -> str:
    """The string that stands for ``key`` having ``value``; no two pairs share one."""
    match value:
        case bool():
            kind, written = "b", str(value)
        case str():
            kind, written = "s", value
        case float() if value.is_integer():
            kind, written = "n", str(int(value))
        case _:
            kind, written = "n", repr(value)
    return json.dumps([key, kind, written], ensure_ascii=False, separators=(",", ":"))


def tag_prefix(key: str) -> str:
    """What all tags of ``key`` begin with, and no tag of another key."""
    return json.dumps([key], ensure_ascii=False)[:-1] + ","


def tags(metadata: Mapping[str, MetadataValue]) -> list[str]:
    """All tags of one chunk, sorted; each element of a list has its own."""
    return sorted({tag(key, value) for key, value in _values(metadata)})


@dataclass(frozen=True, slots=True)
class OrderedValue:
    """A value that ranges apply to. Exactly one of ``number`` and ``time`` (microseconds) is set."""

    key: str
    number: float | None = None
    time: int | None = None


def ordered_values(metadata: Mapping[str, MetadataValue]) -> list[OrderedValue]:
    ordered: list[OrderedValue] = []
    for key, value in _values(metadata):
        if isinstance(value, str):
            if (time := _time(value)) is not None:
                ordered.append(OrderedValue(key, time=time))
        elif not isinstance(value, bool) and (number := _number(value)) is not None:
            ordered.append(OrderedValue(key, number=number))
    return ordered


@dataclass(frozen=True, slots=True)
class AnyTag:
    """At least one of ``tags``; none at all matches nothing."""

    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """A value of ``key`` within the bounds, both inclusive; ``unit`` is "number" or "time"."""

    key: str
    unit: str
    gte: float | None
    lte: float | None


def conditions(clauses: Mapping[str, FilterClause]) -> list[AnyTag | Between]:
    """What must hold, all of it. Raises Unprocessable for a range without a usable bound."""
    return [_condition(key, clause) for key, clause in clauses.items()]


def _condition(key: str, clause: FilterClause) -> AnyTag | Between:
    if isinstance(clause, Range):
        return _between(key, clause)
    wanted = clause if isinstance(clause, tuple) else (clause,)
    flat = [
        tag(key, single)
        for value in wanted
        for single in (value if isinstance(value, tuple) else (value,))
    ]
    return AnyTag(tuple(sorted(set(flat))))


def _between(key: str, bounds: Range) -> Between:
    gte, lte = _bound(bounds.gte), _bound(bounds.lte)
    units = {bound[0] for bound in (gte, lte) if bound is not None}
    usable = (bounds.gte is None or gte is not None) and (bounds.lte is None or lte is not None)
    if len(units) != 1 or not usable:
        raise Unprocessable(
            "A range needs bounds that are finite numbers, or RFC 3339 times.",
            field=f"filter.{key}",
        )
    return Between(key, units.pop(), gte[1] if gte else None, lte[1] if lte else None)


def _bound(value: float | str | None) -> tuple[str, float] | None:
    if value is None or isinstance(value, bool):
        return None
    found = _time(value) if isinstance(value, str) else _number(value)
    return None if found is None else ("time" if isinstance(value, str) else "number", found)


def _values(metadata: Mapping[str, MetadataValue]) -> Iterator[tuple[str, str | float | bool]]:
    for key, value in metadata.items():
        if isinstance(value, tuple):
            yield from ((key, single) for single in value)
        else:
            yield key, value


def _time(text: str) -> int | None:
    try:
        return microseconds(parse_rfc3339(text))
    except ValueError:
        return None


def _number(value: float) -> float | None:
    """As a double; None for what a double can't hold."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
