"""The one that decides: the read of every search, and the whole of a ledger.

Strongly consistent, conditional writes only. Raises Unavailable(code="ledger-unavailable").
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from custody.application.ports.documents import (
    AclPublication,
    Admissions,
    HeadListing,
    HeadReads,
    Narrowing,
    Publication,
    Rejections,
    VersionHistory,
    VersionSteps,
)
from custody.application.ports.drops import DropLedger, DropListing
from custody.application.ports.erasures import ErasureLedger, Tombstones
from custody.application.ports.pages import PageSecrets
from custody.application.ports.sources import SourceLedger, SourceReads
from custody.application.ports.trust import TrustLedger
from custody.domain.model import DocumentKey, LedgerView, SourceKey


class LedgerReads(Protocol):
    def view(
        self,
        tenant: str,
        subject: str,
        documents: Collection[DocumentKey],
        sources: Collection[SourceKey],
    ) -> LedgerView:
        """One (parallel) strongly consistent read of heads, sources, the control items and the
        principal's not_before. Raises Unavailable(code="policy-unavailable") without a control
        item."""
        ...


class Ledger(
    LedgerReads,
    TrustLedger,
    SourceReads,
    SourceLedger,
    HeadReads,
    HeadListing,
    VersionHistory,
    VersionSteps,
    Admissions,
    Rejections,
    Publication,
    Narrowing,
    AclPublication,
    DropLedger,
    DropListing,
    Tombstones,
    ErasureLedger,
    PageSecrets,
    Protocol,
):
    """The whole of one: what an adapter offers. A use case names the parts that it needs."""

    def ping(self) -> None: ...
