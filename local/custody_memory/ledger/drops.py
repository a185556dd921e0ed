"""Drops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from custody.domain.ledger import transitions
from custody.domain.ledger.drops import Drop
from custody.domain.model import SourceKey
from custody_memory.ledger.state import State


class MemoryDrops(State):
    def drop(self, source: SourceKey, name: str) -> Drop | None:
        with self._lock:
            return self._drops.get((source.tenant, name), {}).get(source.source_id)

    def put_drop(self, drop: Drop) -> Drop:
        with self._lock:
            return self._store_drop(drop)

    def find_drops(self, tenant: str, name: str) -> Sequence[Drop]:
        with self._lock:
            found = self._drops.get((tenant, name), {})
            return tuple(found[source_id] for source_id in sorted(found))

    def _store_drop(self, drop: Drop) -> Drop:
        stored = self.drop(drop.source, drop.name)
        if (stored.revision if stored else 0) != drop.revision:
            raise transitions.moved("drop")
        after = replace(drop, revision=drop.revision + 1)
        self._drops.setdefault((drop.source.tenant, drop.name), {})[drop.source.source_id] = after
        return after
