"""What a statement puts in force: versions and ACLs."""

from __future__ import annotations

from datetime import datetime

from custody.adapters.dynamodb import rows
from custody.adapters.dynamodb.records import DynamoHeadReads, DynamoRecords
from custody.adapters.dynamodb.writes import write
from custody.application.ports import Flip
from custody.domain.ledger import transitions
from custody.domain.ledger.acl_history import revision_of
from custody.domain.model import Acl, DocumentKey, Envelope, Head, VersionRecord


class DynamoNarrowing(DynamoHeadReads):
    """``Narrowing``."""

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
        head = transitions.narrowed(
            self.head(key), acl, expected_revision, at=at, withdrawn=withdrawn
        )
        if not write(*rows.head_rows(self._ledger, head, revision_of(head, at, by=by))):
            raise transitions.moved("document")
        return head


class DynamoPublication(DynamoRecords):
    """``Publication`` and ``AclPublication``."""

    def signed(self, record: VersionRecord) -> VersionRecord:
        return self._change(
            record.key, record.version, lambda stored: transitions.signed(stored, record)
        )

    def flip(self, flip: Flip) -> Head | None:
        key, version = flip.record.key, flip.record.version
        for _ in self._ledger.pacing.tries():
            former, stored = self._pair(key, version)
            result = transitions.flipped(
                former, stored.value if stored else None, flip.record, flip.at
            )
            writes = []
            if stored is not None and result.record is not None:
                writes.append(rows.version_row(self._work, result.record, stored.revision))
            if result.write_head and result.head is not None and former is not None:
                since = result.head.recorded_at or flip.at
                writes += rows.head_rows(self._ledger, result.head, revision_of(result.head, since))
                past = self._stored(key, former.version) if former.version else None
                retired = transitions.superseded(past.value, since) if past else None
                if past is not None and retired is not None:
                    writes.append(rows.version_row(self._work, retired, past.revision))
            if not writes or write(*writes):
                return result.head
        raise self._ledger.unavailable("contended")

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
        for _ in self._ledger.pacing.tries():
            head, stored = self._pair(key, version)
            result = transitions.flipped_acl(
                head,
                stored.value if stored else None,
                acl_revision=acl_revision,
                acl=acl,
                statement_id=statement_id,
                envelope=envelope,
            )
            if not isinstance(result, tuple) or stored is None:
                return None if isinstance(result, tuple) else result
            after, record = result
            if write(
                *rows.head_rows(self._ledger, after, revision_of(after, at)),
                rows.version_row(self._work, record, stored.revision),
            ):
                return after
        raise self._ledger.unavailable("contended")
