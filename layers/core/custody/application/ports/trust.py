"""Whom and what a tenant trusts: keys, policies, trust domains, and tokens up to a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from custody.application.ports.pages import PageSecrets
from custody.application.ports.sources import SourceHistory, SourceLedger, SourceReads
from custody.domain.ledger.trust_changes import TrustChange
from custody.domain.model import (
    Control,
    KeyState,
    LedgerView,
    PolicyRef,
    SourceKey,
    VerificationKey,
)


class TrustReads(Protocol):
    def trust_view(
        self, tenant: str, subject: str, sources: Collection[SourceKey] = ()
    ) -> LedgerView:
        """``LedgerReads.view`` of no document: for what asks only who may act, and as whom."""
        ...


class TrustLedger(Protocol):
    def control(self, tenant: str) -> Control:
        """Raises Unavailable(code="policy-unavailable") without a control item."""
        ...

    def put_key(self, key: VerificationKey) -> None:
        """Raises Conflict(key-revoked) where it would undo a revocation, of which a table of its own
        tells also where an older copy of the trust table was put back."""
        ...

    def set_key_state(self, keyid: str, state: KeyState, change: TrustChange) -> VerificationKey:
        """With ``change`` in one transaction; a revocation also in the table of revocations. A key
        that is as wanted stays as it is, and nothing is kept. Raises NotFound(key-not-found),
        Conflict(key-revoked)."""
        ...

    def put_policy_ref(
        self,
        tenant: str | None,
        ref: PolicyRef,
        *,
        change: TrustChange | None = None,
        expected: PolicyRef | None = None,
    ) -> None:
        """``tenant`` None: the service's default policy of that name. ``expected``: what must be in
        force there still. Raises Moved."""
        ...

    def drop_policy_ref(
        self, tenant: str, name: str, *, expected: PolicyRef, change: TrustChange
    ) -> None:
        """The tenant goes by the service's default again. Raises Moved."""
        ...

    def packaged_policies(self) -> Mapping[str, str]:
        """Name to the digest of the packaged policy that a deployment last put in force."""
        ...

    def put_packaged(self, name: str, digest: str) -> None: ...

    def trust_changes(self, tenant: str | None, about: str) -> Sequence[TrustChange]:
        """Oldest first. ``tenant`` None: of the service's own."""
        ...

    def put_trust_domains(self, tenant: str, trust_domains: frozenset[str] | None) -> None:
        """What the tenant's policy allows; ``None``: every registered domain."""
        ...

    def set_not_before(
        self,
        tenant: str,
        subject: str,
        not_before: datetime,
        *,
        change: TrustChange | None = None,
    ) -> datetime:
        """Only ever moves forward; returns what holds."""
        ...

    def make_page_secret(self) -> None:
        """What positions in listings are sealed with. The first one stays."""
        ...


class LayoutMarks(Protocol):
    def mark_layout(self) -> None:
        """Mark what is stored as laid out by this version. Raises Unavailable(layout-outdated), and
        leaves word of it for every reader, where another version's is found."""
        ...


class Trust(
    TrustReads, TrustLedger, SourceReads, SourceLedger, SourceHistory, PageSecrets, Protocol
):
    """All of it. Only a deployment and governors may write it."""

    def ping(self) -> None: ...
