"""Superseded versions that are due to go."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from custody.domain.ledger import retention
from custody.domain.model import DocumentKey, VersionRecord
from custody_memory.ledger.state import State


class MemoryRetention(State):
    def superseded_through(self, through: datetime) -> Iterator[VersionRecord]:
        with self._lock:
            every = [record for found in self._versions.values() for record in found.values()]
        for record in every:
            if retention.is_due(record, through):
                yield record

    def expire(
        self, key: DocumentKey, version: int, *, through: datetime, at: datetime
    ) -> VersionRecord:
        return self._change(
            key, version, lambda record: retention.expired(record, through=through, at=at)
        )

    def let_go(self, key: DocumentKey, version: int) -> None:
        self._change(key, version, retention.let_go)
