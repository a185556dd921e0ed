"""Waiting for something that the service finishes later."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from custody_client.errors import CustodyTimeoutError

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 2.0


@dataclass(frozen=True, slots=True)
class Waiter:
    """Looks, then looks again after growing pauses (0.25 s up to 2 s)."""

    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic

    def until[T](
        self,
        look: Callable[[], T | None],
        done: Callable[[T], bool],
        *,
        seconds: float,
        what: str,
    ) -> T:
        """The first value that is ``done``. Looks at least once.

        Raises CustodyTimeoutError with the last value seen.
        """
        end = self.monotonic() + seconds
        pause = FIRST_PAUSE
        while True:
            seen = look()
            if seen is not None and done(seen):
                return seen
            left = end - self.monotonic()
            if left <= 0:
                raise CustodyTimeoutError(what, seconds, seen)
            self.sleep(min(pause, left))
            pause = min(pause * 1.5, LONGEST_PAUSE)
