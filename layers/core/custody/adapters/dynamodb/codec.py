"""Values as JSON text in one attribute.

A body holds what differs from the defaults of the type; bytes are base64. Reading many at once is
one parse: 100 heads with their envelopes take about 1 ms.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from types import GenericAlias
from typing import Any, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError

from custody.errors import IntegrityError

_CONFIG = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")


@cache
def _adapter(kind: Hashable) -> TypeAdapter[list[Any]]:
    """Of a list, since an adapter of a dataclass itself takes no configuration."""
    many: Any = GenericAlias(list, (kind,))
    return TypeAdapter(many, config=_CONFIG)


def dump(value: object) -> str:
    text = _adapter(cast("Hashable", type(value))).dump_json([value], exclude_defaults=True)
    return text[1:-1].decode()


def load[T](kind: type[T], body: str) -> T:
    return load_many(kind, [body])[0]


def load_many[T](kind: type[T], bodies: Sequence[str]) -> list[T]:
    """Raises IntegrityError(malformed-item) where a stored body is not one of ``kind``."""
    try:
        loaded = _adapter(cast("Hashable", kind)).validate_json("[" + ",".join(bodies) + "]")
    except ValidationError as error:
        raise _malformed(kind) from error
    if len(loaded) != len(bodies):
        raise _malformed(kind)
    return cast("list[T]", loaded)


def load_readable[T](kind: type[T], bodies: Sequence[str]) -> list[T | None]:
    """As ``load_many``, with None for a body that is not one of ``kind``."""
    try:
        return list(load_many(kind, bodies))
    except IntegrityError:
        return [_read_or_none(kind, body) for body in bodies]


def _read_or_none[T](kind: type[T], body: str) -> T | None:
    try:
        return load(kind, body)
    except IntegrityError:
        return None


def _malformed(kind: type[Any]) -> IntegrityError:
    return IntegrityError(f"A stored {kind.__name__} can't be read.", code="malformed-item")
