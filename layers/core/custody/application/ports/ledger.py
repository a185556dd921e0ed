"""The one that decides: the read of every search, the whole of a ledger, and the parts of it that
a function may be given. Rights are held by part: trust, what is live, and what is on its way.

Strongly consistent, conditional writes only. Raises Unavailable(code="ledger-unavailable").
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from custody.application.ports.documents import (
    AclHistory,
    AclPublication,
    Admissions,
    HeadListing,
    HeadReads,
    HeadScan,
    Narrowing,
    Publication,
    Rejections,
    Retention,
    VersionHistory,
    VersionReads,
    VersionSteps,
)
from custody.application.ports.drops import DropLedger, DropListing
from custody.application.ports.erasures import ErasureLedger, Tombstones
from custody.application.ports.sources import SourceReads
from custody.application.ports.trust import LayoutMarks, Trust
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
        item, Unavailable(code="layout-outdated") where another version laid it out."""
        ...


class Heads(LedgerReads, HeadReads, HeadListing, AclHistory, Narrowing, Tombstones, Protocol):
    """What is live and what is erased, under the trust that is read beside it."""

    def ping(self) -> None: ...


class Work(VersionHistory, VersionSteps, Retention, DropLedger, DropListing, Protocol):
    """Versions and drops, without what they make live."""

    def ping(self) -> None: ...


class ErasureWork(HeadReads, VersionReads, DropLedger, ErasureLedger, Protocol):
    """What carries an erasure on, and cleans up."""


class IndexWork(HeadReads, HeadScan, VersionHistory, SourceReads, Protocol):
    """What an index is built of. Nothing of it is written."""


class Ledger(
    Trust,
    Heads,
    Work,
    ErasureWork,
    IndexWork,
    Admissions,
    Rejections,
    Publication,
    AclPublication,
    LayoutMarks,
    Protocol,
):
    """The whole of one: what an adapter offers. A use case names the parts that it needs."""
