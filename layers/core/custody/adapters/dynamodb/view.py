"""The read that every search makes: heads and sources, and what governs them now."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from custody.adapters.dynamodb import codec, layout
from custody.adapters.dynamodb.control import ControlReads, read_bodies, view_of
from custody.adapters.dynamodb.table import OnLedger
from custody.domain.model import DocumentKey, Head, LedgerView, SourceKey


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
        heads = codec.load_many(Head, bodies["HEAD"])
        return replace(view_of(tenant, bodies), heads={head.key: head for head in heads})
