"""Erasures in DynamoDB."""

from __future__ import annotations

from custody.adapters.dynamodb import layout, rows
from custody.adapters.dynamodb.records import DynamoRecords
from custody.domain.ledger import transitions
from custody.domain.ledger.erasures import Erasure, ErasureState
from custody.domain.model import DocumentKey, Head
from custody.errors import Conflict


class DynamoErasures(DynamoRecords):
    """``Tombstones`` and ``ErasureLedger``."""

    def tombstone(self, erasure: Erasure, *, expected_revision: int) -> Head:
        head = self.head(erasure.key)
        if head is not None and head.erasure_id == erasure.erasure_id:
            return head
        after, kept = transitions.tombstoned(head, erasure, expected_revision)
        if self._table.write(rows.head_row(after), rows.erasure_row(kept, 0)):
            return after
        if self.erasure(erasure.key.tenant, erasure.erasure_id) is not None:
            raise Conflict("The erasure id is already in use.", code="version-conflict")
        raise transitions.moved("document")

    def erasure(self, tenant: str, erasure_id: str) -> Erasure | None:
        stored = rows.load(Erasure, self._table.get(layout.erasure(tenant, erasure_id)))
        return stored.value if stored else None

    def put_erasure(self, erasure: Erasure) -> None:
        """A COMPLETE one is never put back by a slower delivery."""
        key = layout.erasure(erasure.key.tenant, erasure.erasure_id)
        for _ in self._table.pacing.tries():
            stored = rows.load(Erasure, self._table.get(key))
            if (
                stored is not None
                and stored.value.state is ErasureState.COMPLETE
                and erasure.state is not ErasureState.COMPLETE
            ):
                return
            if self._table.write(rows.erasure_row(erasure, stored.revision if stored else 0)):
                return
        raise self._table.unavailable("contended")

    def mark_erased(self, key: DocumentKey, version: int) -> None:
        for _ in self._table.pacing.tries():
            head = rows.load(Head, self._table.get(layout.head(key)))
            stored = rows.load_version(self._table.get(layout.version(key, version)))
            after = transitions.stripped(
                head.value if head else None, stored.value if stored else None, key
            )
            if after is None or stored is None:
                return
            if self._table.write(rows.version_row(after, stored.revision)):
                return
        raise self._table.unavailable("contended")
