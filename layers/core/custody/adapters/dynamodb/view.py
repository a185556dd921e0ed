"""The read that every search makes: heads and sources, and what governs them now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace

from custody.adapters.dynamodb import codec, layout
from custody.adapters.dynamodb.batches import batch
from custody.adapters.dynamodb.calls import Table
from custody.adapters.dynamodb.control import Bodies, ControlReads, read_bodies, view_of
from custody.adapters.dynamodb.layout import Key
from custody.adapters.dynamodb.table import OnLedger
from custody.domain.model import DocumentKey, Head, LedgerView, Source, SourceKey
from custody.errors import IntegrityError


class DynamoView(ControlReads, OnLedger):
    """``LedgerReads``: one batch over both tables."""

    def view(
        self,
        tenant: str,
        subject: str,
        documents: Collection[DocumentKey],
        sources: Collection[SourceKey],
    ) -> LedgerView:
        wanted = self._trust_keys(tenant, subject, sources)
        wanted += [(self._ledger, layout.head(key)) for key in documents]
        bodies = read_bodies(wanted)
        try:
            return _whole(tenant, bodies)
        except IntegrityError:
            return self._readable(tenant, bodies, documents, sources)

    def _readable(
        self,
        tenant: str,
        bodies: Bodies,
        documents: Collection[DocumentKey],
        sources: Collection[SourceKey],
    ) -> LedgerView:
        """One item that was damaged keeps no other from being read; which one it is takes another
        read, with the keys. What governs the whole tenant has to be right."""
        governing = defaultdict(list, {**bodies, "SOURCE": [], "HEAD": []})
        heads = _by_key(self._ledger, Head, {layout.head(key): key for key in documents})
        owners = _by_key(self._trust, Source, {layout.source(key): key for key in sources})
        return replace(
            view_of(tenant, governing),
            heads={key: head for key, head in heads.items() if head is not None},
            sources={key: source for key, source in owners.items() if source is not None},
            unreadable_heads=frozenset(key for key, head in heads.items() if head is None),
            unreadable_sources=frozenset(key for key, source in owners.items() if source is None),
        )


def _whole(tenant: str, bodies: Bodies) -> LedgerView:
    heads = codec.load_many(Head, bodies["HEAD"])
    return replace(view_of(tenant, bodies), heads={head.key: head for head in heads})


def _by_key[K: (DocumentKey, SourceKey), T: (Head, Source)](
    table: Table, kind: type[T], wanted: Mapping[Key, K]
) -> dict[K, T | None]:
    """Of the items that exist."""
    items = batch([(table, key) for key in wanted], attributes=("pk", "sk", "body"))
    bodies = [item.get("body", {}).get("S", "") for item in items]
    return {
        wanted[Key(item["pk"]["S"], item["sk"]["S"])]: found
        for item, found in zip(items, codec.load_readable(kind, bodies), strict=True)
    }
