"""The ledger in memory: the same decisions as the real one, under one lock."""

from __future__ import annotations

from collections.abc import Iterable

from custody.domain.model import Head, Source, VersionRecord
from custody_memory.ledger.documents import MemoryDocuments
from custody_memory.ledger.erasures import MemoryErasures
from custody_memory.ledger.ingestion import MemoryIngestion
from custody_memory.ledger.pages import MemoryPageSecrets
from custody_memory.ledger.publication import MemoryPublication
from custody_memory.ledger.sources import MemorySources
from custody_memory.ledger.view import MemoryView

__all__ = ["MemoryLedger"]


class MemoryLedger(
    MemoryView,
    MemorySources,
    MemoryDocuments,
    MemoryIngestion,
    MemoryPublication,
    MemoryErasures,
    MemoryPageSecrets,
):
    def ping(self) -> None:
        """Always there."""

    def plant(
        self,
        *,
        heads: Iterable[Head] = (),
        records: Iterable[VersionRecord] = (),
        sources: Iterable[Source] = (),
    ) -> None:
        """Store exactly these, past every rule: what a test or a benchmark starts from."""
        with self._lock:
            self._heads.update((head.key, head) for head in heads)
            self._sources.update((source.key, source) for source in sources)
            for record in records:
                self._store(record)
