"""Whom and what a tenant trusts: keys, policies, trust domains, and tokens up to a time."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from custody.application.ports.pages import PageSecrets
from custody.application.ports.sources import SourceHistory, SourceLedger, SourceReads
from custody.domain.model import Control, LedgerView, PolicyRef, SourceKey, VerificationKey


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
        """Raises Conflict(key-revoked) where it would undo a revocation."""
        ...

    def put_policy_ref(self, tenant: str | None, ref: PolicyRef) -> None:
        """``tenant`` None: the service's default policy of that name."""
        ...

    def put_trust_domains(self, tenant: str, trust_domains: frozenset[str] | None) -> None:
        """What the tenant's policy allows; ``None``: every registered domain."""
        ...

    def set_not_before(self, tenant: str, subject: str, not_before: datetime) -> None:
        """Only ever moves forward."""
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
