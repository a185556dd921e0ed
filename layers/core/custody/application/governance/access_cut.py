"""Cut a principal off: tokens that were issued before are void from the next read on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from custody.application.callers import require, trust_view_for
from custody.application.governance.key_registry import MAX_REASON_CHARACTERS
from custody.application.ports import Clock, TrustLedger, TrustReads
from custody.domain.intake import validation
from custody.domain.ledger.trust_changes import TrustAction, TrustChange, about_principal
from custody.domain.model import Principal, Scope
from custody.errors import Unprocessable

MAX_SUBJECT_CHARACTERS = 256


@dataclass(frozen=True, slots=True)
class CutRequest:
    """``not_before`` None: now."""

    subject: str
    reason: str
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    subject: str
    not_before: datetime


class CutLedger(TrustReads, TrustLedger, Protocol):
    """What cutting access asks of the ledger."""


@dataclass(frozen=True, slots=True)
class CutAccess:
    ledger: CutLedger
    clock: Clock

    def __call__(self, principal: Principal, request: CutRequest) -> Cut:
        """Inside the caller's tenant, and only ever forward: an earlier cut is never taken back.
        Raises Forbidden(scope-missing), Unprocessable for a time that has yet to come: a clock that
        is wrong would shut somebody out for good."""
        require(principal, Scope.GOVERN)
        subject = validation.printable(
            request.subject, field="subject", limit=MAX_SUBJECT_CHARACTERS
        )
        validation.printable(request.reason, field="reason", limit=MAX_REASON_CHARACTERS)
        trust_view_for(self.ledger, principal)
        now = self.clock.now()
        wanted = now if request.not_before is None else request.not_before
        if wanted > now:
            raise Unprocessable("This time has yet to come.", field="not_before")
        change = TrustChange(
            about_principal(subject), TrustAction.CUT, now, principal.subject, request.reason
        )
        holds = self.ledger.set_not_before(principal.tenant, subject, wanted, change=change)
        return Cut(subject, holds)
