"""Who could have been shown a document at a time, as an auditor asks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from custody.application.callers import no_such_document, require, view_for
from custody.application.ports import AclHistory, Clock, LedgerReads, SourceHistory
from custody.domain.ledger.acl_history import Held, held_at
from custody.domain.ledger.sources import SourceChange, source_at
from custody.domain.model import DocumentKey, Principal, Scope, SourceKey
from custody.errors import Unprocessable


@dataclass(frozen=True, slots=True)
class PastAccess:
    """``held`` None: nothing had been live yet. ``source`` None: the source did not exist yet."""

    document_id: str
    source_id: str
    at: datetime
    held: Held | None
    source: SourceChange | None


class AccessHistoryLedger(LedgerReads, AclHistory, SourceHistory, Protocol):
    """What the history of access asks of the ledger."""


@dataclass(frozen=True, slots=True)
class AccessHistory:
    ledger: AccessHistoryLedger
    clock: Clock

    def __call__(self, principal: Principal, document_id: str, at: datetime | None) -> PastAccess:
        """Of the caller's own tenant; ``at`` None: now. An erased document answers too: who could
        read it, never what it was. Raises Forbidden(scope-missing), NotFound,
        Unprocessable(invalid-field) for a time that has yet to come."""
        require(principal, Scope.AUDIT)
        now = self.clock.now()
        moment = now if at is None else at
        if moment > now:
            raise Unprocessable("This time has yet to come.", field="at")
        key = DocumentKey(principal.tenant, document_id)
        head = view_for(self.ledger, principal, (key,)).heads.get(key)
        if head is None:
            raise no_such_document()
        changes = self.ledger.source_changes(SourceKey(key.tenant, head.source_id))
        return PastAccess(
            document_id=document_id,
            source_id=head.source_id,
            at=moment,
            held=held_at(self.ledger.acl_revisions(key), moment),
            source=source_at(changes, moment),
        )
