"""Erasures in DynamoDB."""

from __future__ import annotations

from datetime import datetime

from custody.adapters.dynamodb import layout, rows
from custody.adapters.dynamodb.records import DynamoHeadReads, DynamoRecords
from custody.adapters.dynamodb.table import OnLedger
from custody.adapters.dynamodb.writes import write
from custody.domain.ledger import transitions
from custody.domain.ledger.acl_history import revision_of
from custody.domain.ledger.erasures import Erasure, ErasureState
from custody.domain.model import DocumentKey, Head
from custody.errors import Conflict


class DynamoErasureReads(OnLedger):
    """``ErasureReads``."""

    def erasure(self, tenant: str, erasure_id: str) -> Erasure | None:
        stored = rows.load(Erasure, self._ledger.get(layout.erasure(tenant, erasure_id)))
        return stored.value if stored else None


class DynamoTombstones(DynamoErasureReads, DynamoHeadReads):
    """``Tombstones``."""

    def tombstone(self, erasure: Erasure, *, expected_revision: int) -> Head:
        head = self.head(erasure.key)
        if head is not None and head.erasure_id == erasure.erasure_id:
            return head
        after, kept = transitions.tombstoned(head, erasure, expected_revision)
        changed = rows.head_rows(
            self._ledger, after, revision_of(after, kept.requested_at, by=kept.requested_by)
        )
        if write(*changed, rows.erasure_row(self._ledger, kept, 0)):
            return after
        if self.erasure(erasure.key.tenant, erasure.erasure_id) is not None:
            raise Conflict("The erasure id is already in use.", code="version-conflict")
        raise transitions.moved("document")


class DynamoErasures(DynamoErasureReads, DynamoRecords):
    """``ErasureLedger``."""

    def put_erasure(self, erasure: Erasure) -> None:
        """A COMPLETE one is never put back by a slower delivery."""
        key = layout.erasure(erasure.key.tenant, erasure.erasure_id)
        for _ in self._ledger.pacing.tries():
            stored = rows.load(Erasure, self._ledger.get(key))
            if (
                stored is not None
                and stored.value.state is ErasureState.COMPLETE
                and erasure.state is not ErasureState.COMPLETE
            ):
                return
            if write(rows.erasure_row(self._ledger, erasure, stored.revision if stored else 0)):
                return
        raise self._ledger.unavailable("contended")

    def mark_erased(self, key: DocumentKey, version: int, *, at: datetime) -> None:
        """The head is read before the record: how far it is erased only ever grows, so a record
        that it covered then is covered when it is written."""
        for _ in self._ledger.pacing.tries():
            head, stored = self.head(key), self._stored(key, version)
            after = transitions.stripped(head, stored.value if stored else None, key, at)
            if after is None or stored is None:
                return
            if write(rows.version_row(self._work, after, stored.revision)):
                return
        raise self._ledger.unavailable("contended")
