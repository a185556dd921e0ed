"""Sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from custody.application.ports import Page
from custody.domain.ledger import sources, transitions
from custody.domain.ledger.sources import SourceChange
from custody.domain.model import Source, SourceKey
from custody_memory.ledger.pages import page
from custody_memory.ledger.state import State


class MemorySources(State):
    def source(self, key: SourceKey) -> Source | None:
        with self._lock:
            return self._sources.get(key)

    def put_source(
        self,
        source: Source,
        *,
        expected_revision: int | None,
        by: str | None = None,
        reason: str | None = None,
    ) -> Source:
        with self._lock:
            stored = self._sources.get(source.key)
            revision = stored.revision if stored else 0
            if expected_revision not in (None, revision):
                raise transitions.moved("source")
            after = replace(source, revision=revision + 1)
            change = sources.change_of(after, by=by, reason=reason)
            self._sources[source.key] = after
            self._source_changes.setdefault(source.key, []).append(change)
            return after

    def list_sources(self, tenant: str, *, limit: int, cursor: str | None) -> Page[Source]:
        with self._lock:
            found = [source for key, source in self._sources.items() if key.tenant == tenant]
        return page(found, lambda source: source.key.source_id, limit, cursor)

    def source_changes(self, key: SourceKey) -> Sequence[SourceChange]:
        with self._lock:
            return tuple(self._source_changes.get(key, ()))
