"""Sources."""

from __future__ import annotations

from dataclasses import replace

from custody.application.ports import Page
from custody.domain.ledger import transitions
from custody.domain.model import Source, SourceKey
from custody_memory.ledger.pages import page
from custody_memory.ledger.state import State


class MemorySources(State):
    def source(self, key: SourceKey) -> Source | None:
        with self._lock:
            return self._sources.get(key)

    def put_source(self, source: Source, *, expected_revision: int | None) -> Source:
        with self._lock:
            stored = self._sources.get(source.key)
            revision = stored.revision if stored else 0
            if expected_revision not in (None, revision):
                raise transitions.moved("source")
            after = replace(source, revision=revision + 1)
            self._sources[source.key] = after
            return after

    def list_sources(self, tenant: str, *, limit: int, cursor: str | None) -> Page[Source]:
        with self._lock:
            sources = [source for key, source in self._sources.items() if key.tenant == tenant]
        return page(sources, lambda source: source.key.source_id, limit, cursor)
