"""What a statement puts in force: versions and ACLs."""

from __future__ import annotations

from datetime import datetime

from custody.application.ports import Flip
from custody.domain.ledger import transitions
from custody.domain.ledger.acl_history import revision_of
from custody.domain.model import Acl, DocumentKey, Envelope, Head, VersionRecord
from custody_memory.ledger.state import State


class MemoryPublication(State):
    def signed(self, record: VersionRecord) -> VersionRecord:
        return self._change(
            record.key, record.version, lambda stored: transitions.signed(stored, record)
        )

    def flip(self, flip: Flip) -> Head | None:
        key, version = flip.record.key, flip.record.version
        with self._lock:
            former = self._heads.get(key)
            result = transitions.flipped(former, self._version(key, version), flip.record, flip.at)
            if result.record is not None:
                self._store(result.record)
            if result.write_head and result.head is not None and former is not None:
                since = result.head.recorded_at or flip.at
                self._change_head(result.head, revision_of(result.head, since))
                past = transitions.superseded(self._version(key, former.version), since)
                if past is not None:
                    self._store(past)
            return result.head

    def narrow(
        self,
        key: DocumentKey,
        acl: Acl,
        *,
        expected_revision: int,
        at: datetime,
        by: str | None = None,
        withdrawn: str | None = None,
    ) -> Head:
        with self._lock:
            head = transitions.narrowed(
                self._heads.get(key),
                acl,
                expected_revision,
                at=at,
                withdrawn=withdrawn,
            )
            self._change_head(head, revision_of(head, at, by=by))
            return head

    def flip_acl(
        self,
        key: DocumentKey,
        *,
        version: int,
        acl_revision: int,
        acl: Acl,
        statement_id: str,
        envelope: Envelope,
        at: datetime,
    ) -> Head | None:
        with self._lock:
            result = transitions.flipped_acl(
                self._heads.get(key),
                self._version(key, version),
                acl_revision=acl_revision,
                acl=acl,
                statement_id=statement_id,
                envelope=envelope,
            )
            if not isinstance(result, tuple):
                return result
            head, record = result
            self._change_head(head, revision_of(head, at))
            self._store(record)
            return head
