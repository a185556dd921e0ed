"""Signed policies in memory, by digest."""

from __future__ import annotations

import threading

from custody.domain.model import Envelope, PolicyRef
from custody.errors import Unavailable


class MemoryPolicies:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._envelopes: dict[str, Envelope] = {}

    def find(self, digest: str) -> Envelope | None:
        with self._lock:
            return self._envelopes.get(digest)

    def get(self, ref: PolicyRef) -> Envelope:
        found = self.find(ref.digest)
        if found is None:
            raise Unavailable(f"The {ref.name} policy is not stored.", code="policy-unavailable")
        return found

    def put(self, ref: PolicyRef, envelope: Envelope) -> None:
        """The first envelope of a digest stays."""
        with self._lock:
            self._envelopes.setdefault(ref.digest, envelope)
