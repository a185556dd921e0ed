"""The state of each dependency, asked at most once in a few seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from threading import Lock
from typing import Protocol

from custody.application.ports import Clock
from custody.errors import CustodyError

KEEP = timedelta(seconds=5)


class Pinged(Protocol):
    def ping(self) -> None: ...


class State(StrEnum):
    OK = "ok"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class HealthReport:
    """``dependencies``: name to state. Codes, addresses and messages stay in the log."""

    state: State
    dependencies: Mapping[str, State]
    checked_at: datetime


class Health:
    def __init__(self, dependencies: Mapping[str, Pinged], clock: Clock) -> None:
        self._dependencies = dict(dependencies)
        self._clock = clock
        self._lock = Lock()
        self._last: HealthReport | None = None

    def __call__(self) -> HealthReport:
        """Anyone may ask, so asking often must cost the dependencies nothing."""
        with self._lock:
            now = self._clock.now()
            if (
                self._last is None
                or not self._last.checked_at <= now < self._last.checked_at + KEEP
            ):
                states = {name: _state(each) for name, each in self._dependencies.items()}
                sound = all(state is State.OK for state in states.values())
                overall = State.OK if sound else State.UNAVAILABLE
                self._last = HealthReport(overall, states, now)
            return self._last


def _state(dependency: Pinged) -> State:
    try:
        dependency.ping()
    except CustodyError:
        return State.UNAVAILABLE
    return State.OK
