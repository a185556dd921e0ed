"""Ask for the erasure of one document, which hides it at once; read what became of each copy."""

from __future__ import annotations

from dataclasses import dataclass

from custody.application.callers import Sight, no_such_document, oversees, require, view_for
from custody.application.erasure.tombstone import Tombstone
from custody.application.races import again_when_moved
from custody.domain.intake import validation
from custody.domain.ledger import sources
from custody.domain.ledger.erasures import Erasure
from custody.domain.model import Principal, Scope, SourceKey
from custody.errors import Forbidden, NotFound, PreconditionFailed

MAX_REASON_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    document_id: str
    reason: str
    if_match: int | None = None


@dataclass(frozen=True, slots=True)
class Erasures:
    tombstone: Tombstone
    sight: Sight

    def request(self, principal: Principal, request: ErasureRequest) -> Erasure:
        """Needs the erase scope, and a writer of the source or a governor. A document that the
        caller may not see does not exist. Once this returns, no read serves the document."""
        require(principal, Scope.ERASE)
        validation.printable(request.reason, field="reason", limit=MAX_REASON_CHARACTERS)
        return again_when_moved(
            lambda: self._request(principal, request),
            lost="The document is being changed by others; try again.",
        )

    def _request(self, principal: Principal, request: ErasureRequest) -> Erasure:
        seen = self.sight.find(self.tombstone.ledger, principal, request.document_id)
        writes = seen.source is not None and sources.is_writer(principal, seen.source)
        if seen.head.key.tenant != principal.tenant or not (writes or principal.may(Scope.GOVERN)):
            raise Forbidden("The caller is no writer of this source.", code="not-a-writer")
        if not validation.still_is(request.if_match, seen.head.revision):
            raise PreconditionFailed("The document has changed since it was read.")
        try:
            return self.tombstone.place(
                seen.head, reason=request.reason, requested_by=principal.subject
            )
        except NotFound:
            raise no_such_document() from None

    def show(self, principal: Principal, erasure_id: str) -> Erasure:
        """To whom asked for it, the source's writers, governors and auditors; anyone may ask."""
        ledger = self.tombstone.ledger
        view_for(ledger, principal)
        erasure = ledger.erasure(principal.tenant, erasure_id)
        if erasure is not None:
            owner = SourceKey(principal.tenant, erasure.source_id)
            source = view_for(ledger, principal, (), (owner,)).sources.get(owner)
            if (
                oversees(principal)
                or (not erasure.mirrored and erasure.requested_by == principal.subject)
                or (source is not None and sources.is_writer(principal, source))
            ):
                return erasure
        raise NotFound("There is no such erasure.")
