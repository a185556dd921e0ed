"""Erasures."""

from __future__ import annotations

from datetime import datetime

from custody.domain.ledger import transitions
from custody.domain.ledger.acl_history import revision_of
from custody.domain.ledger.erasures import Erasure, ErasureState
from custody.domain.model import DocumentKey, Head
from custody.errors import Conflict
from custody_memory.ledger.state import State


class MemoryErasures(State):
    def tombstone(self, erasure: Erasure, *, expected_revision: int) -> Head:
        with self._lock:
            head = self._heads.get(erasure.key)
            if head is not None and head.erasure_id == erasure.erasure_id:
                return head
            slot = (erasure.key.tenant, erasure.erasure_id)
            after, stored = transitions.tombstoned(head, erasure, expected_revision)
            if slot in self._erasures:
                raise Conflict("The erasure id is already in use.", code="version-conflict")
            self._change_head(
                after, revision_of(after, stored.requested_at, by=stored.requested_by)
            )
            self._erasures[slot] = stored
            return after

    def erasure(self, tenant: str, erasure_id: str) -> Erasure | None:
        with self._lock:
            return self._erasures.get((tenant, erasure_id))

    def put_erasure(self, erasure: Erasure) -> None:
        """A COMPLETE one is never put back by a slower delivery."""
        slot = (erasure.key.tenant, erasure.erasure_id)
        with self._lock:
            stored = self._erasures.get(slot)
            if (
                stored is None
                or stored.state is not ErasureState.COMPLETE
                or erasure.state is ErasureState.COMPLETE
            ):
                self._erasures[slot] = erasure

    def mark_erased(self, key: DocumentKey, version: int, *, at: datetime) -> None:
        with self._lock:
            record = transitions.stripped(
                self._heads.get(key), self._version(key, version), key, at
            )
            if record is not None:
                self._store(record)
