"""Documents in the ledger: heads, which say what is live, and the records of their versions.

Every write is conditional. Raises Unavailable(code="ledger-unavailable"); Moved where an expected
revision is not the stored one and our own earlier write isn't the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from custody.application.ports.pages import Page
from custody.domain.ledger.acl_history import AclRevision
from custody.domain.ledger.drops import Drop
from custody.domain.model import (
    Acl,
    DocumentKey,
    Envelope,
    Head,
    Inspection,
    ObjectRef,
    VersionRecord,
)


@dataclass(frozen=True, slots=True)
class Flip:
    """Make a version the live one at ``at``. ``record`` carries what publication added (root,
    statement, envelope, chunk_count, model_revision)."""

    record: VersionRecord
    at: datetime


class HeadReads(Protocol):
    def head(self, key: DocumentKey) -> Head | None: ...


class HeadListing(Protocol):
    def list_heads(
        self,
        tenant: str,
        *,
        source_id: str | None,
        state: str | None,
        name: str | None,
        limit: int,
        cursor: str | None,
    ) -> Page[Head]: ...


class HeadScan(Protocol):
    def scan_heads(self, tenant: str, *, cursor: str | None = None) -> Page[Head]:
        """Every head that was there before the first page was asked for, in no order, each as it
        is when its page is read: strongly consistent, which no listing is. A page may be short,
        even empty, and still name a next one."""
        ...

    def cursor_after(self, head: Head) -> str:
        """Of the page that goes on after this head."""
        ...


class VersionReads(Protocol):
    def version(self, key: DocumentKey, version: int) -> VersionRecord | None: ...


class VersionHistory(VersionReads, Protocol):
    def versions(
        self, key: DocumentKey, *, limit: int = 100, cursor: str | None = None
    ) -> Page[VersionRecord]:
        """Newest first."""
        ...


class Admissions(Protocol):
    def accept(
        self, draft: VersionRecord, *, expected_revision: int, drop: Drop | None = None
    ) -> VersionRecord:
        """Let one version in: allocates accepted_version + 1 (``draft.version`` is ignored),
        writes it PENDING and raises the head's revision, in one transaction with ``drop`` where
        given (stored with its revision + 1, conditional on it, and with the allocated version).
        ``expected_revision`` is the head's revision that the caller read (0: no head). Raises
        Moved, Conflict(document-owned-elsewhere) when another source owns the document. Never
        changes what is live."""
        ...


class VersionSteps(VersionReads, Protocol):
    """What becomes of a PENDING version on its way. Touches version records alone."""

    def chunked(
        self,
        key: DocumentKey,
        version: int,
        *,
        chunks: ObjectRef,
        chunk_count: int,
        parts_total: int,
        parser: str,
        chunker: str,
        title: str | None,
        inspection: Inspection,
    ) -> VersionRecord:
        """Record the parse of a PENDING version. Idempotent."""
        ...

    def part_done(
        self, key: DocumentKey, version: int, part: int, *, model_revision: str
    ) -> VersionRecord:
        """Record one embedded part; returns the record as it is after it. Idempotent."""
        ...


class Rejections(Protocol):
    def reject(self, key: DocumentKey, version: int, reasons: Sequence[str]) -> None:
        """PENDING -> REJECTED with reasons. Never touches a live version."""
        ...


class Publication(Protocol):
    """What a statement puts in force."""

    def signed(self, record: VersionRecord) -> VersionRecord:
        """Keep statement and envelope of a PENDING version before it is indexed; the first one
        wins and is returned, so that a redelivery signs nothing twice."""
        ...

    def flip(self, flip: Flip) -> Head | None:
        """One transaction: version ACTIVE, head to it, the former live version SUPERSEDED, the
        ACL's revision kept. The one's ``published_at`` is the other's ``superseded_at``.
        Returns the new head; the present head unchanged when this version is already live; None
        when it may no longer become live (erased, superseded by a newer live one, rejected).
        Raises Moved where another statement was kept meanwhile."""
        ...


class Narrowing(Protocol):
    def narrow(
        self,
        key: DocumentKey,
        acl: Acl,
        *,
        expected_revision: int,
        at: datetime,
        by: str | None = None,
        withdrawn: str | None = None,
    ) -> Head:
        """Step one of an ACL change: store the wanted ACL. ``narrowed_to`` is in force at once
        (both it and ``acl`` must permit); acl_revision + 1 waits to be signed. It stays the
        document's until another is given, unless the service itself closes it (``withdrawn``: why). Raises Moved;
        Conflict(document-not-live)."""
        ...


class AclPublication(Protocol):
    def flip_acl(
        self,
        key: DocumentKey,
        *,
        version: int,
        acl_revision: int,
        acl: Acl,
        statement_id: str,
        envelope: Envelope,
        at: datetime,
    ) -> Head | None:
        """Step two: the signed ACL takes force, ``narrowed_to`` goes. None when overtaken."""
        ...


class Retention(VersionReads, Protocol):
    """What is kept of superseded versions (``domain/ledger/retention``). Touches version records
    alone."""

    def superseded_through(self, through: datetime) -> Iterator[VersionRecord]:
        """Those of which something may be left and that were superseded up to ``through``, or are
        marked already; in no order, read page by page as they are asked for. The listing may lag
        behind by moments; each record is as the ledger has it when its page is read."""
        ...

    def expire(
        self, key: DocumentKey, version: int, *, through: datetime, at: datetime
    ) -> VersionRecord:
        """Mark a version that was superseded up to ``through``, and no other one. Returns the
        record as it is after it. Idempotent."""
        ...

    def let_go(self, key: DocumentKey, version: int) -> None:
        """Nothing of an expired version is left. Idempotent."""
        ...


class AclHistory(Protocol):
    def acl_revisions(self, key: DocumentKey) -> Sequence[AclRevision]:
        """Every one that was kept, oldest first; empty where nothing was ever live."""
        ...
