"""Heads and versions, read and listed."""

from __future__ import annotations

from collections.abc import Sequence

from custody.application.ports import Page
from custody.domain.ledger import transitions
from custody.domain.ledger.acl_history import AclRevision
from custody.domain.model import DocumentKey, Head, VersionRecord
from custody_memory.ledger.pages import page
from custody_memory.ledger.state import State

_SCANNED = 100


class MemoryDocuments(State):
    def head(self, key: DocumentKey) -> Head | None:
        with self._lock:
            return self._heads.get(key)

    def version(self, key: DocumentKey, version: int) -> VersionRecord | None:
        with self._lock:
            return self._versions.get(key, {}).get(version)

    def versions(
        self, key: DocumentKey, *, limit: int = 100, cursor: str | None = None
    ) -> Page[VersionRecord]:
        with self._lock:
            records = self._versions.get(key, {})
            below = transitions.version_cursor(cursor)
            numbers = sorted((n for n in records if below is None or n < below), reverse=True)
            items = tuple(records[n] for n in numbers[:limit])
        more = len(numbers) > limit
        return Page(items, str(items[-1].version) if more and items else None)

    def acl_revisions(self, key: DocumentKey) -> Sequence[AclRevision]:
        with self._lock:
            return tuple(self._acl_revisions.get(key, ()))

    def scan_heads(self, tenant: str, *, cursor: str | None = None) -> Page[Head]:
        with self._lock:
            heads = [head for key, head in self._heads.items() if key.tenant == tenant]
        return page(heads, lambda head: head.key.document_id, _SCANNED, cursor)

    def cursor_after(self, head: Head) -> str:
        return head.key.document_id

    def list_heads(
        self,
        tenant: str,
        *,
        source_id: str | None,
        state: str | None,
        name: str | None,
        limit: int,
        cursor: str | None,
    ) -> Page[Head]:
        with self._lock:
            heads = [
                head
                for key, head in self._heads.items()
                if key.tenant == tenant
                and source_id in (None, head.source_id)
                and state in (None, head.state.value)
                and name in (None, head.name)
            ]
        return page(heads, transitions.listing_position, limit, cursor)
