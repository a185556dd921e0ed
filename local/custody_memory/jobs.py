"""Jobs in memory: collected for a test, or drained in process."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from custody.domain.jobs import Job


class MemoryJobs:
    """``sent`` keeps every job ever sent; ``pending`` those not yet drained. A job with a delay waits
    for ``release``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: deque[Job] = deque()
        self._delayed: deque[Job] = deque()
        self._sent: list[Job] = []

    def send(self, jobs: Iterable[Job], *, delay_seconds: int = 0) -> None:
        batch = list(jobs)
        with self._lock:
            (self._delayed if delay_seconds else self._pending).extend(batch)
            self._sent.extend(batch)

    def release(self) -> None:
        """The time is over that any job was held back for."""
        with self._lock:
            self._pending.extend(self._delayed)
            self._delayed.clear()

    @property
    def sent(self) -> tuple[Job, ...]:
        with self._lock:
            return tuple(self._sent)

    @property
    def pending(self) -> tuple[Job, ...]:
        with self._lock:
            return tuple(self._pending)

    def drain(self, handlers: Mapping[type, Callable[[Any], object]]) -> int:
        """Hand each pending job to the handler of its type, those that handlers send included.

        Returns how many were done. A job whose handler raises goes back to the front and the
        error goes on to the caller, as a queue would deliver it again. A type without a handler
        raises KeyError.
        """
        done = 0
        while True:
            with self._lock:
                if not self._pending:
                    return done
                job = self._pending.popleft()
            try:
                handlers[type(job)](job)
            except BaseException:
                with self._lock:
                    self._pending.appendleft(job)
                raise
            done += 1
