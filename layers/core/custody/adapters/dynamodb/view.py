"""The read that every search makes: heads and sources, and what governs them now."""

from __future__ import annotations

from collections.abc import Collection

from custody.adapters.dynamodb import codec, layout
from custody.adapters.dynamodb.control import ControlReads, control_of
from custody.adapters.dynamodb.rows import PrincipalControl
from custody.domain.model import DocumentKey, Head, LedgerView, Source, SourceKey


class DynamoView(ControlReads):
    """``LedgerReads``."""

    def view(
        self,
        tenant: str,
        subject: str,
        documents: Collection[DocumentKey],
        sources: Collection[SourceKey],
    ) -> LedgerView:
        keys = [self._service_copy(), layout.tenant(tenant), layout.principal(tenant, subject)]
        keys += [layout.source(key) for key in sources]
        keys += [layout.head(key) for key in documents]
        bodies = self._bodies(keys)
        principals = codec.load_many(PrincipalControl, bodies["PRINCIPAL"])
        heads = codec.load_many(Head, bodies["HEAD"])
        found = codec.load_many(Source, bodies["SOURCE"])
        return LedgerView(
            control=control_of(tenant, bodies),
            not_before=principals[0].not_before if principals else None,
            heads={head.key: head for head in heads},
            sources={source.key: source for source in found},
        )
