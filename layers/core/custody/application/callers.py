"""Who asks, checked against the ledger: scopes, cut access, and what a caller may see."""

from __future__ import annotations

from dataclasses import dataclass

from custody.application.ports import LedgerReads, TrustReads
from custody.domain.ledger import access, sources
from custody.domain.model import (
    PUBLIC_TENANT,
    DocumentKey,
    Head,
    LedgerView,
    Outcome,
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


@dataclass(frozen=True, slots=True)
class Seen:
    """One document as one caller sees it. ``inside``: with its history, not only what is live."""

    head: Head
    source: Source | None
    inside: bool


def see(
    principal: Principal,
    head: Head,
    source: Source | None,
    trust_domains: frozenset[str] | None,
) -> Seen | None:
    """None when the document is nothing to this caller."""
    if head.key.tenant == principal.tenant:
        writes = source is not None and sources.is_writer(principal, source)
        if writes or oversees(principal):
            return Seen(head, source, inside=True)
    if head.version == 0:
        return None
    if access.authorize(principal, head, source, trust_domains).outcome is not Outcome.VERIFIED:
        return None
    return Seen(head, source, inside=False)


def find(ledger: LedgerReads, principal: Principal, document_id: str) -> Seen:
    """The caller's own tenant first, then the public one. Raises NotFound."""
    for tenant in dict.fromkeys((principal.tenant, PUBLIC_TENANT)):
        key = DocumentKey(tenant, document_id)
        read = view_for(ledger, principal, (key,))
        if key in read.unreadable_heads and tenant == principal.tenant and oversees(principal):
            raise IntegrityError("The document's record can't be read.", code="malformed-item")
        head = read.heads.get(key)
        if head is None:
            continue
        # Read again beside its source: both must be of one moment.
        owner = SourceKey(tenant, head.source_id)
        read = view_for(ledger, principal, (key,), (owner,))
        head = read.heads.get(key)
        if head is None:
            continue
        seen = see(principal, head, read.sources.get(owner), read.control.trust_domains)
        if seen is not None:
            return seen
    raise no_such_document()
