"""A port like another one, each call of which passes by a hook first."""

from __future__ import annotations

from collections.abc import Callable

type Hook = Callable[[str, Callable[[], object]], object]


def interposed[P](port: P, hook: Hook) -> P:
    """Of the same class as ``port``. A call is ``hook(name, call)``, where ``call()`` makes it of
    the port itself; what the port calls of its own on the way is not heard of."""
    kind = type(port)
    members = {
        name: _method(port, name, hook) if callable(getattr(port, name)) else _value(port, name)
        for name in dir(port)
        if not name.startswith("_")
    }
    other: object = object.__new__(type(kind.__name__, (kind,), members))
    assert isinstance(other, kind)
    return other


def _method(port: object, name: str, hook: Hook) -> Callable[..., object]:
    def call(_: object, *given: object, **named: object) -> object:
        return hook(name, lambda: getattr(port, name)(*given, **named))

    return call


def _value(port: object, name: str) -> property:
    return property(lambda _: getattr(port, name))
