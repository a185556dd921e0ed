"""The ledger in memory: the same decisions as the real one, under one lock."""

from __future__ import annotations

from custody_memory.ledger.documents import MemoryDocuments
from custody_memory.ledger.erasures import MemoryErasures
from custody_memory.ledger.ingestion import MemoryIngestion
from custody_memory.ledger.pages import MemoryPageSecrets
from custody_memory.ledger.publication import MemoryPublication
from custody_memory.ledger.retention import MemoryRetention
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
    MemoryRetention,
    MemoryPageSecrets,
):
    def mark_layout(self) -> None:
        """A process's own: no other version laid it out."""

    def ping(self) -> None:
        """Always there, once a deployment has put what governs it."""
        self._check_governed()
