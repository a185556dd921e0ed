"""Heads and version records, read one by one and changed on the revision that was read."""

from __future__ import annotations

from collections.abc import Callable

from custody.adapters.dynamodb import layout, rows
from custody.adapters.dynamodb.rows import Stored
from custody.adapters.dynamodb.table import OnTable
from custody.domain.ledger import transitions
from custody.domain.model import DocumentKey, Head, VersionRecord


class DynamoRecords(OnTable):
    """``HeadReads`` and ``VersionReads``; what the writers of documents share."""

    def head(self, key: DocumentKey) -> Head | None:
        stored = rows.load(Head, self._table.get(layout.head(key)))
        return stored.value if stored else None

    def version(self, key: DocumentKey, version: int) -> VersionRecord | None:
        stored = self._stored(key, version)
        return stored.value if stored else None

    def _stored(self, key: DocumentKey, version: int) -> Stored[VersionRecord] | None:
        return rows.load_version(self._table.get(layout.version(key, version)))

    def _pair(
        self, key: DocumentKey, version: int
    ) -> tuple[Head | None, Stored[VersionRecord] | None]:
        """A head and one of its versions, in one request."""
        items = self._table.batch([layout.head(key), layout.version(key, version)])
        by_sort = {item["sk"]["S"]: item for item in items}
        head = rows.load(Head, by_sort.get("HEAD"))
        stored = rows.load_version(by_sort.get(layout.version_sort(version)))
        return head.value if head else None, stored

    def _change(
        self,
        key: DocumentKey,
        version: int,
        decide: Callable[[VersionRecord], VersionRecord | None],
    ) -> VersionRecord:
        for _ in self._table.pacing.tries():
            stored = self._stored(key, version)
            record = transitions.record_of(stored.value if stored else None)
            after = decide(record)
            if after is None or stored is None:
                return record
            if self._table.write(rows.version_row(after, stored.revision)):
                return after
        raise self._table.unavailable("contended")
