"""Heads and version records, read one by one and changed on the revision that was read."""

from __future__ import annotations

from collections.abc import Callable

from custody.adapters.dynamodb import layout, rows
from custody.adapters.dynamodb.batches import batch
from custody.adapters.dynamodb.rows import Stored
from custody.adapters.dynamodb.table import OnLedger, OnWork
from custody.adapters.dynamodb.writes import write
from custody.domain.ledger import transitions
from custody.domain.model import DocumentKey, Head, VersionRecord


class DynamoHeadReads(OnLedger):
    """``HeadReads``."""

    def head(self, key: DocumentKey) -> Head | None:
        stored = rows.load(Head, self._ledger.get(layout.head(key)))
        return stored.value if stored else None


class DynamoVersionReads(OnWork):
    """``VersionReads``; what the writers of version records share."""

    def version(self, key: DocumentKey, version: int) -> VersionRecord | None:
        stored = self._stored(key, version)
        return stored.value if stored else None

    def _stored(self, key: DocumentKey, version: int) -> Stored[VersionRecord] | None:
        return rows.load_version(self._work.get(layout.version(key, version)))

    def _change(
        self,
        key: DocumentKey,
        version: int,
        decide: Callable[[VersionRecord], VersionRecord | None],
    ) -> VersionRecord:
        for _ in self._work.pacing.tries():
            stored = self._stored(key, version)
            record = transitions.record_of(stored.value if stored else None)
            after = decide(record)
            if after is None or stored is None:
                return record
            if write(rows.version_row(self._work, after, stored.revision)):
                return after
        raise self._work.unavailable("contended")


class DynamoRecords(DynamoHeadReads, DynamoVersionReads):
    """What the writers of heads and their versions share."""

    def _pair(
        self, key: DocumentKey, version: int
    ) -> tuple[Head | None, Stored[VersionRecord] | None]:
        """A head and one of its versions, in one request."""
        items = batch(
            [(self._ledger, layout.head(key)), (self._work, layout.version(key, version))]
        )
        by_sort = {item["sk"]["S"]: item for item in items}
        head = rows.load(Head, by_sort.get("HEAD"))
        stored = rows.load_version(by_sort.get(layout.version_sort(version)))
        return head.value if head else None, stored
