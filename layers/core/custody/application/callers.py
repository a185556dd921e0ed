"""Who asks, checked against the ledger: scopes, cut access, and what a caller may see."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from custody.application.ports import Clock, LedgerReads, TrustReads
from custody.domain.ledger import access, sources
from custody.domain.model import (
    PUBLIC_TENANT,
    DocumentKey,
    Head,
    LedgerView,
    Principal,
    Scope,
    Source,
    SourceKey,
)
from custody.domain.provenance.canonical import canonical_json
from custody.errors import Forbidden, IntegrityError, NotFound, Unauthenticated


def require(principal: Principal, *scopes: Scope) -> None:
    """One of ``scopes`` suffices; none asks for nothing. Raises Forbidden(scope-missing)."""
    if scopes and not any(principal.may(scope) for scope in scopes):
        wanted = " or ".join(scope.value for scope in scopes)
        raise Forbidden(f"This needs the scope {wanted}.", code="scope-missing")


def listing(principal: Principal, kind: str, *filters: str | None) -> bytes:
    """What a cursor is bound to: what is listed, for whom, by which filters."""
    return canonical_json([kind, principal.tenant, principal.subject, *filters])


def no_such_document() -> NotFound:
    """One answer for what does not exist and for what may not be seen."""
    return NotFound("There is no such document.")


def view_for(
    ledger: LedgerReads,
    principal: Principal,
    documents: tuple[DocumentKey, ...] = (),
    source_keys: tuple[SourceKey, ...] = (),
) -> LedgerView:
    """One consistent read. Raises Unauthenticated(token-revoked) when the caller's access was cut
    after the token was issued."""
    return _of_valid_token(
        principal, ledger.view(principal.tenant, principal.subject, documents, source_keys)
    )


def trust_view_for(
    trust: TrustReads, principal: Principal, source_keys: tuple[SourceKey, ...] = ()
) -> LedgerView:
    """``view_for`` where no document is asked for. Raises the same."""
    return _of_valid_token(
        principal, trust.trust_view(principal.tenant, principal.subject, source_keys)
    )


def _of_valid_token(principal: Principal, read: LedgerView) -> LedgerView:
    if access.token_is_void(principal, read.not_before):
        raise Unauthenticated("The token has been revoked.", code="token-revoked")
    return read


def oversees(principal: Principal) -> bool:
    """Governors and auditors look at all of their own tenant."""
    return principal.may(Scope.GOVERN) or principal.may(Scope.AUDIT)


class Standing(Protocol):
    """What a search holds against the live version of a document, apart from its chunks."""

    def against(
        self, head: Head, view: LedgerView, principal: Principal, *, now: datetime
    ) -> str | None:
        """The code of the first objection, None where there is none. ``view`` holds the source."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One document as one caller sees it. ``inside``: with its history and all that is kept of it,
    not only what is live; ``withheld``: to such a caller, why no search serves it to them now."""

    head: Head
    source: Source | None
    inside: bool
    withheld: str | None = None


@dataclass(frozen=True, slots=True)
class Sight:
    """What a caller may see of documents. A reader sees what a search could serve, by the same
    check; the source's writers, governors and auditors see the rest of their tenant's too, since it
    is they who mend it."""

    standing: Standing
    clock: Clock

    def see(self, principal: Principal, head: Head, view: LedgerView) -> Seen | None:
        """None when the document is nothing to this caller. ``view`` holds its source."""
        source = view.sources.get(SourceKey(head.key.tenant, head.source_id))
        withheld = self.standing.against(head, view, principal, now=self.clock.now())
        if head.key.tenant == principal.tenant:
            writes = source is not None and sources.is_writer(principal, source)
            if writes or oversees(principal):
                return Seen(head, source, inside=True, withheld=head.withdrawn or withheld)
        return None if withheld is not None else Seen(head, source, inside=False)

    def find(self, ledger: LedgerReads, principal: Principal, document_id: str) -> Seen:
        """The caller's own tenant first, then the public one. Raises NotFound.

        Always two reads of both places: the time that it takes tells what does not exist from what
        may not be seen no more than the answer does."""
        tenants = dict.fromkeys((principal.tenant, PUBLIC_TENANT))
        keys = tuple(DocumentKey(tenant, document_id) for tenant in tenants)
        found = view_for(ledger, principal, keys)
        if keys[0] in found.unreadable_heads and oversees(principal):
            raise IntegrityError("The document's record can't be read.", code="malformed-item")
        owners = tuple(SourceKey(key.tenant, head.source_id) for key, head in found.heads.items())
        # Read again beside their sources: both must be of one moment.
        view = view_for(ledger, principal, keys, owners)
        for key in keys:
            head = view.heads.get(key)
            seen = None if head is None else self.see(principal, head, view)
            if seen is not None:
                return seen
        raise no_such_document()
