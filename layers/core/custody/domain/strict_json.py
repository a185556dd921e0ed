"""The one reader of JSON that others wrote: RFC 8259 with every door closed.

Python's ``json`` takes NaN, repeated names, half surrogate pairs, numbers beyond a double and any
depth. Two readers that differ in one of these see two documents in one text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NoReturn

MAX_DEPTH = 32
_REPLACEMENT = "\ufffd"
_SURROGATE = re.compile("[\ud800-\udfff]")


class Fault(StrEnum):
    """What is wrong, as a clause."""

    EMPTY = "there is no text"
    ENCODING = "it is not UTF-8"
    REPLACED = "it holds a bare U+FFFD"
    SYNTAX = "it does not follow the grammar"
    CONSTANT = "a number is NaN or infinite"
    RANGE = "a number is too large"
    DIGITS = "a number has too many digits"
    REPEATED = "a name is given twice in one object"
    SURROGATE = "a string holds half a surrogate pair"
    DEPTH = "it is nested too deeply"


class NotStrict(ValueError):
    """``where``: the place of a SYNTAX fault, the number of CONSTANT, the name of REPEATED."""

    def __init__(self, fault: Fault, where: str | None = None) -> None:
        super().__init__(f"{fault} ({where})" if where else fault.value)
        self.fault = fault
        self.where = where


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise NotStrict(Fault.REPEATED, name)
            seen.add(name)
    return found


def _no_constant(name: str) -> NoReturn:
    raise NotStrict(Fault.CONSTANT, name)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NotStrict(Fault.RANGE)
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
)


def read(
    data: bytes | str, *, max_depth: int = MAX_DEPTH, replacement_allowed: bool = True
) -> object:
    """The value of a JSON text: dict, list, str, int, float, bool or None. ``max_depth``: how many
    arrays and objects may lie in one another. ``replacement_allowed``: whether U+FFFD may stand in
    the text itself and not only as an escape. Raises NotStrict."""
    try:
        # a str is encoded to find half pairs that stand in it bare
        text = data.decode("utf-8") if isinstance(data, bytes) else data.encode("utf-8").decode()
    except UnicodeError:
        raise NotStrict(Fault.ENCODING) from None
    if not replacement_allowed and _REPLACEMENT in text:
        raise NotStrict(Fault.REPLACED)
    if not text.strip():
        raise NotStrict(Fault.EMPTY)
    value = _decoded(text)
    # A statement escapes nothing and is flat, and many are read: such a text is not walked.
    if "\\" in text or text.count("{") + text.count("[") > max_depth:
        _check(value, max_depth)
    return value


def _decoded(text: str) -> object:
    try:
        value: object = _DECODER.decode(text)
    except NotStrict:
        raise
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise NotStrict(Fault.SYNTAX, where) from None
    except RecursionError:
        raise NotStrict(Fault.DEPTH) from None
    except ValueError:  # Python's own limit for the digits of an integer
        raise NotStrict(Fault.DIGITS) from None
    return value


def _check(value: object, max_depth: int) -> None:
    """Level by level, so that no depth exhausts the stack."""
    level, depth = [value], 0
    while level:
        if depth == max_depth and any(isinstance(item, dict | list) for item in level):
            raise NotStrict(Fault.DEPTH)
        level, depth = list(_below(level)), depth + 1


def _below(level: Iterable[object]) -> Iterator[object]:
    """What the arrays and objects of a level hold; its strings are looked at."""
    for item in level:
        if isinstance(item, str):
            if not item.isascii() and _SURROGATE.search(item):
                raise NotStrict(Fault.SURROGATE)
        elif isinstance(item, dict):
            yield from item
            yield from item.values()
        elif isinstance(item, list):
            yield from item
