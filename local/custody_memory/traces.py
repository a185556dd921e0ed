"""Traces in memory, kept as JSON text so that a trace which JSON can't hold fails here too."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from datetime import datetime

from custody.application.ports import Clock


class MemoryTraces:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._traces: dict[tuple[str, str], tuple[str, str, datetime]] = {}

    def put(
        self,
        tenant: str,
        trace_id: str,
        subject: str,
        trace: Mapping[str, object],
        *,
        expires_at: datetime,
    ) -> None:
        text = json.dumps(trace, ensure_ascii=False, allow_nan=False)
        with self._lock:
            self._traces[tenant, trace_id] = (subject, text, expires_at)

    def get(self, tenant: str, trace_id: str) -> tuple[str, Mapping[str, object]] | None:
        with self._lock:
            found = self._traces.get((tenant, trace_id))
        if found is None or found[2] <= self._clock.now():
            return None
        trace: Mapping[str, object] = json.loads(found[1])
        return found[0], trace
