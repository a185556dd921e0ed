"""What a statement puts in force: versions and ACLs."""

from __future__ import annotations

from custody.adapters.dynamodb import rows
from custody.adapters.dynamodb.records import DynamoRecords
from custody.application.ports import Flip
from custody.domain.ledger import transitions
from custody.domain.model import Acl, DocumentKey, Envelope, Head, VersionRecord


class DynamoPublication(DynamoRecords):
    """``Publication``, ``Narrowing`` and ``AclPublication``."""

    def signed(self, record: VersionRecord) -> VersionRecord:
        return self._change(
            record.key, record.version, lambda stored: transitions.signed(stored, record)
        )

    def flip(self, flip: Flip) -> Head | None:
        key, version = flip.record.key, flip.record.version
        for _ in self._table.pacing.tries():
            former, stored = self._pair(key, version)
            result = transitions.flipped(former, stored.value if stored else None, flip.record)
            writes = []
            if stored is not None and result.record is not None:
                writes.append(rows.version_row(result.record, stored.revision))
            if result.write_head and result.head is not None and former is not None:
                writes.append(rows.head_row(result.head))
                past = self._stored(key, former.version) if former.version else None
                retired = transitions.superseded(past.value) if past else None
                if past is not None and retired is not None:
                    writes.append(rows.version_row(retired, past.revision))
            if not writes or self._table.write(*writes):
                return result.head
        raise self._table.unavailable("contended")

    def narrow(self, key: DocumentKey, acl: Acl, *, expected_revision: int) -> Head:
        head = transitions.narrowed(self.head(key), acl, expected_revision)
        if not self._table.write(rows.head_row(head)):
            raise transitions.moved("document")
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
    ) -> Head | None:
        for _ in self._table.pacing.tries():
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
            if self._table.write(rows.head_row(after), rows.version_row(record, stored.revision)):
                return after
        raise self._table.unavailable("contended")
