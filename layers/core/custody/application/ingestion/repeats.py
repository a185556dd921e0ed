"""A repeated call is given the first answer, unless that tells of what was erased since."""

from __future__ import annotations

from dataclasses import dataclass

from custody.application.ports import HeadReads
from custody.domain.model import DocumentKey, Principal, VersionState
from custody.errors import Conflict


@dataclass(frozen=True, slots=True)
class Repeats:
    ledger: HeadReads

    def check(self, principal: Principal, document_id: str, version: int) -> None:
        """Raises Conflict(document-erased). The same key goes on being refused until it is
        forgotten: who wants to publish the content again says so with another."""
        head = self.ledger.head(DocumentKey(principal.tenant, document_id))
        if head is None or head.state is VersionState.ERASED or 0 < version <= head.erased_through:
            raise Conflict(
                "What the first call published has been erased since.", code="document-erased"
            )
