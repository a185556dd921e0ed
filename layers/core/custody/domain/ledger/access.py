"""May this principal read this document now? The rule that the ledger check applies.

The checks run in this order, and the first that fails is the reason: tenant-mismatch, acl-denied,
untrusted-source. Documents of the tenant ``public`` are open to every tenant; their one ACL term is
``everyone``. ``classification`` is a reason that joins with clearance claims: until tokens carry
any, a source's classification is a label and restricts nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from custody.domain.model import (
    PUBLIC_TENANT,
    Acl,
    Denial,
    Head,
    Objection,
    Outcome,
    Principal,
    Source,
    SourceState,
    VersionState,
)


@dataclass(frozen=True, slots=True)
class Decision:
    """``outcome`` VERIFIED here means: nothing in the rules of access stands against it, and
    ``reason`` is None."""

    outcome: Outcome
    denial: Denial | None = None
    reason: Objection | None = None


ALLOWED = Decision(Outcome.VERIFIED)
_TENANT = Decision(Outcome.UNAUTHORIZED, Denial.TENANT_MISMATCH, Objection.TENANT_MISMATCH)
_ACL = Decision(Outcome.UNAUTHORIZED, Denial.ACL_DENIED, Objection.ACL_DENIED)
_SOURCE_ERASED = Decision(Outcome.STALE, None, Objection.SOURCE_ERASED)


def _untrusted(reason: Objection) -> Decision:
    return Decision(Outcome.UNAUTHORIZED, Denial.UNTRUSTED_SOURCE, reason)


_UNKNOWN = _untrusted(Objection.SOURCE_UNKNOWN)
_QUARANTINED = _untrusted(Objection.SOURCE_QUARANTINED)
_RETIRED = _untrusted(Objection.SOURCE_RETIRED)
_DOMAIN = _untrusted(Objection.TRUST_DOMAIN_NOT_ALLOWED)
_VERSION_QUARANTINED = _untrusted(Objection.VERSION_QUARANTINED)


def authorize(
    principal: Principal,
    head: Head,
    source: Source | None,
    trust_domains: frozenset[str] | None,
    terms: frozenset[str] | None = None,
) -> Decision:
    """``trust_domains``: the allowed ones, None for every registered one. ``terms``: the
    principal's own, where the caller has them at hand already."""
    if head.key.tenant not in (principal.tenant, PUBLIC_TENANT):
        return _TENANT
    held = principal.terms if terms is None else terms
    if not head.acl.permits(held):
        return _ACL
    if head.narrowed_to is not None and not head.narrowed_to.permits(held):
        return _ACL
    if source is None or source.key != (head.key.tenant, head.source_id):
        return _UNKNOWN
    if source.max_acl is not None and not source.max_acl.permits(held):
        return _ACL  # it may have been tightened since the document was let in
    if source.state is not SourceState.ACTIVE:
        return _QUARANTINED if source.state is SourceState.QUARANTINED else _RETIRED
    if head.state is VersionState.QUARANTINED:
        return _VERSION_QUARANTINED
    if trust_domains is not None and source.trust_domain not in trust_domains:
        return _DOMAIN
    if source.erased_through is not None and (
        head.recorded_at is None or head.recorded_at <= source.erased_through
    ):
        return _SOURCE_ERASED
    return ALLOWED


def narrowed(
    allowed: frozenset[str] | None, wanted: frozenset[str] | None
) -> frozenset[str] | None:
    """Trust domains that the tenant allows, narrowed by a request: it can't widen them."""
    if allowed is None or wanted is None:
        return wanted if allowed is None else allowed
    return allowed & wanted


def wanted_acl(head: Head) -> Acl:
    """The ACL that was asked for last, signed already or not."""
    return head.narrowed_to if head.narrowed_to is not None else head.acl


def own_acl(head: Head | None) -> Acl | None:
    """The ACL that somebody gave the live document, which a version that brings none keeps; None
    where nobody did."""
    return head.acl_set if head is not None and head.version > 0 else None


def token_is_void(principal: Principal, not_before: datetime | None) -> bool:
    """True when the principal's access was cut after the token was issued (or when the token does
    not say when that was)."""
    return not_before is not None and (
        principal.issued_at is None or principal.issued_at < not_before
    )
