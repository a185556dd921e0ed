"""What searches and answers saw."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol


class TraceStore(Protocol):
    """Ids, digests, ranks, scores and decisions of one search or answer; never text.
    ``trace`` is JSON-compatible, as ``trace_codec`` writes it. It is kept with its tenant and
    subject, by which a user's traces can be found. Raises Unavailable(code="trace-unavailable"),
    IntegrityError(code="malformed-item") for a stored one that can't be unpacked."""

    def put(
        self,
        tenant: str,
        trace_id: str,
        subject: str,
        trace: Mapping[str, object],
        *,
        expires_at: datetime,
    ) -> None: ...

    def get(self, tenant: str, trace_id: str) -> tuple[str, Mapping[str, object]] | None:
        """(subject, trace), or None when there is none or it has expired."""
        ...
