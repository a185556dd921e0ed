"""The read that every search makes."""

from __future__ import annotations

from collections.abc import Collection

from custody.domain.model import DocumentKey, LedgerView, SourceKey
from custody_memory.ledger.trust import MemoryTrust


class MemoryView(MemoryTrust):
    def trust_view(
        self, tenant: str, subject: str, sources: Collection[SourceKey] = ()
    ) -> LedgerView:
        return self.view(tenant, subject, (), sources)

    def view(
        self,
        tenant: str,
        subject: str,
        documents: Collection[DocumentKey],
        sources: Collection[SourceKey],
    ) -> LedgerView:
        with self._lock:
            heads = {key: head for key in documents if (head := self._heads.get(key))}
            return LedgerView(
                control=self.control(tenant),
                not_before=self._not_before.get((tenant, subject)),
                heads=heads,
                sources={key: found for key in sources if (found := self._sources.get(key))},
            )
