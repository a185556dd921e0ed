"""Wait for the queues, for as long as a caller may be kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from custody.application.ports import Clock

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 0.5


@dataclass(frozen=True, slots=True)
class Waiting:
    """``sleep`` takes seconds. ``seconds``: how long to wait at most."""

    clock: Clock
    sleep: Callable[[float], None]
    seconds: float = 15.0

    def until[T](self, look: Callable[[], T | None]) -> T | None:
        """The first answer of ``look`` that is not None, or None when the time is over. It looks
        at least once, and once more when the time is over."""
        end = self.clock.now() + timedelta(seconds=self.seconds)
        pause = _FIRST_PAUSE
        while True:
            found = look()
            left = (end - self.clock.now()).total_seconds()
            if found is not None or left <= 0:
                return found
            self.sleep(min(pause, left))
            pause = min(pause * 1.5, _LONGEST_PAUSE)
