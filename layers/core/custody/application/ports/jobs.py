"""The queues."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from custody.domain.jobs import Job


class Jobs(Protocol):
    """The queues. Raises Unavailable(code="queue-unavailable")."""

    def send(self, jobs: Iterable[Job], *, delay_seconds: int = 0) -> None:
        """Each job to the queue of its kind; all or an error (repeats are harmless).
        ``delay_seconds``: nobody is handed them sooner; 900 at most."""
        ...
