"""Ports: what the use cases need from the world. Adapters satisfy them structurally.

Every port raises ``custody.errors.Unavailable`` (with its own code) when its real thing can't be
reached, refuses or times out; none returns an empty answer instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np
import numpy.typing as npt

from custody.domain.index.candidates import IndexEntry, LegHits, LegQuery, Space, Vector
from custody.domain.jobs import Job
from custody.domain.ledger.drops import Drop
from custody.domain.ledger.erasures import Erasure
from custody.domain.model import (
    Acl,
    Chunk,
    Control,
    DocumentKey,
    Envelope,
    Head,
    Inspection,
    LedgerView,
    ObjectRef,
    PolicyRef,
    Principal,
    Source,
    SourceKey,
    VerificationKey,
    VersionRecord,
)

type Matrix = npt.NDArray[np.float32]


class Clock(Protocol):
    def now(self) -> datetime:
        """Aware UTC time."""
        ...


class Authorizer(Protocol):
    def __call__(self, authorization: str) -> Principal:
        """The caller whom an ``Authorization`` header names. Raises Unauthenticated, and
        Unavailable(code="issuer-unavailable")."""
        ...


class Identifiers(Protocol):
    def new(self, prefix: str) -> str:
        """A fresh unguessable id, ``<prefix>-<26 lower-case base32 characters>``."""
        ...


class EvidenceIndex(Protocol):
    """Proposes candidates. Raises Unavailable(code="index-unavailable") on any fault, a partial
    answer (failed shards, a time-out) included; IntegrityError(code="model-revision-mismatch")
    where a query's model revision differs from the index's."""

    def ensure(self, space: Space, *, model_revision: str, dimensions: int) -> None:
        """Create the space where missing. Mixed model revisions or dimensions are refused."""
        ...

    def put(self, space: Space, entries: Sequence[IndexEntry]) -> None:
        """Add or replace by chunk_id. All or an error. Zero, non-finite and wrong-sized vectors
        raise IntegrityError(code="invalid-vector") before anything is written."""
        ...

    def refresh(self, spaces: Collection[Space]) -> None:
        """Make all earlier writes visible to searches."""
        ...

    def count(self, space: Space, key: DocumentKey, version: int | None = None) -> int:
        """Chunks that a *search* can see (a get by id proves nothing)."""
        ...

    def set_acl(self, space: Space, key: DocumentKey, version: int, acl: Acl) -> None: ...

    def delete(
        self,
        space: Space,
        key: DocumentKey,
        *,
        version: int | None = None,
        through: int | None = None,
    ) -> None:
        """Delete one version, all versions up to and including ``through``, or all. Idempotent."""
        ...

    def search(self, query: LegQuery) -> LegHits:
        """Both legs in one round trip, the filter inside each. A space that does not exist yet
        proposes nothing; it is no error. The same round trip tells which metadata fields of the
        filter are on nothing that the filter's ACL terms open, whether or not a leg runs."""
        ...

    def ping(self) -> None:
        """Raise Unavailable unless the index answers."""
        ...


@dataclass(frozen=True, slots=True)
class Flip:
    """Make ``version`` the live one. ``record`` carries what publication added (root, statement,
    envelope, chunk_count, model_revision, published_at)."""

    record: VersionRecord


@dataclass(frozen=True, slots=True)
class Page[T]:
    items: tuple[T, ...]
    next: str | None = None


class Cursors(Protocol):
    """Positions in a listing, as callers carry them from page to page: a position names what comes
    next, which its caller need not be allowed to see."""

    def seal(self, position: str | None, *, listing: bytes) -> str | None:
        """``listing``: what is listed, with which filter, for whom. A cursor is good there only.
        None (the end) stays None."""
        ...

    def open(self, cursor: str | None, *, listing: bytes) -> str | None:
        """Raises BadRequest(invalid-cursor)."""
        ...


class Ledger(Protocol):
    """The one that decides. Strongly consistent, conditional writes only.

    Raises Unavailable(code="ledger-unavailable"); Conflict(code="version-conflict") where an
    expected revision is not the stored one and our own earlier write isn't the reason.
    """

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

    # control
    def control(self, tenant: str) -> Control: ...
    def put_key(self, key: VerificationKey) -> None: ...
    def put_policy_ref(self, tenant: str | None, ref: PolicyRef) -> None:
        """``tenant`` None: the service's default policy of that name."""
        ...

    def put_trust_domains(self, tenant: str, trust_domains: frozenset[str] | None) -> None:
        """What the tenant's policy allows; ``None``: every registered domain."""
        ...

    def set_not_before(self, tenant: str, subject: str, not_before: datetime) -> None:
        """Only ever moves forward."""
        ...

    # sources
    def source(self, key: SourceKey) -> Source | None: ...
    def put_source(self, source: Source, *, expected_revision: int | None) -> Source:
        """Returns it with its new revision. ``None``: create or replace whatever is there."""
        ...

    def list_sources(self, tenant: str, *, limit: int, cursor: str | None) -> Page[Source]: ...

    def page_secret(self) -> bytes:
        """32 bytes of the deployment's own, made when they are first asked for: what positions in
        listings are sealed with."""
        ...

    # documents
    def head(self, key: DocumentKey) -> Head | None: ...
    def version(self, key: DocumentKey, version: int) -> VersionRecord | None: ...
    def versions(
        self, key: DocumentKey, *, limit: int = 100, cursor: str | None = None
    ) -> Page[VersionRecord]:
        """Newest first."""
        ...

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

    def accept(
        self, draft: VersionRecord, *, expected_revision: int, drop: Drop | None = None
    ) -> VersionRecord:
        """Let one version in: allocates accepted_version + 1 (``draft.version`` is ignored),
        writes it PENDING and raises the head's revision, in one transaction with ``drop`` where
        given (stored with its revision + 1, conditional on it, and with the allocated version).
        ``expected_revision`` is the head's revision that the caller read (0: no head). Raises
        Conflict(version-conflict) when it moved, Conflict(document-owned-elsewhere) when another
        source owns the document. Never changes what is live."""
        ...

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

    def signed(self, record: VersionRecord) -> VersionRecord:
        """Keep statement and envelope of a PENDING version before it is indexed; the first one
        wins and is returned, so that a redelivery signs nothing twice."""
        ...

    def flip(self, flip: Flip) -> Head | None:
        """One transaction: version ACTIVE, head to it, the former live version SUPERSEDED.
        Returns the new head; the present head unchanged when this version is already live; None
        when it may no longer become live (erased, superseded by a newer live one, rejected)."""
        ...

    def reject(self, key: DocumentKey, version: int, reasons: Sequence[str]) -> None:
        """PENDING -> REJECTED with reasons. Never touches a live version."""
        ...

    def narrow(self, key: DocumentKey, acl: Acl, *, expected_revision: int) -> Head:
        """Step one of an ACL change: store the wanted ACL. ``narrowed_to`` is in force at once
        (both it and ``acl`` must permit); acl_revision + 1 waits to be signed."""
        ...

    def flip_acl(
        self,
        key: DocumentKey,
        *,
        version: int,
        acl_revision: int,
        acl: Acl,
        statement_id: str,
        envelope: Envelope,
    ) -> Head | None:
        """Step two: the signed ACL takes force, ``narrowed_to`` goes. None when overtaken."""
        ...

    # erasure
    def tombstone(self, erasure: Erasure, *, expected_revision: int) -> Head:
        """One transaction: the head ERASED through its accepted_version, the erasure stored."""
        ...

    def erasure(self, tenant: str, erasure_id: str) -> Erasure | None: ...
    def put_erasure(self, erasure: Erasure) -> None: ...
    def mark_erased(self, key: DocumentKey, version: int) -> None:
        """Strip a version record of everything but ids, digests, state and times."""
        ...

    # drops
    def drop(self, source: SourceKey, name: str) -> Drop | None: ...
    def put_drop(self, drop: Drop) -> Drop:
        """Conditional on ``drop.revision`` (0: absent); returns it with the next revision."""
        ...

    def find_drops(self, tenant: str, name: str) -> Sequence[Drop]:
        """Every source's drop of that name."""
        ...

    def ping(self) -> None: ...


@dataclass(frozen=True, slots=True)
class StoredObject:
    ref: ObjectRef
    content_type: str | None
    last_modified: datetime
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Upload:
    """A presigned PUT: the caller sends exactly ``headers`` with it."""

    url: str
    headers: Mapping[str, str]
    expires_at: datetime


class ObjectStore(Protocol):
    """One versioned bucket. Raises Unavailable(code="store-unavailable")."""

    def head(self, key: str) -> StoredObject | None:
        """The current version, or None where there is none (or a delete marker)."""
        ...

    def get(self, ref: ObjectRef, *, limit: int) -> bytes:
        """The pinned bytes. NotFound when that version is gone; TooLarge above ``limit`` bytes."""
        ...

    def put(
        self, key: str, body: bytes, *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> ObjectRef: ...

    def copy(self, source: ObjectRef, key: str) -> ObjectRef: ...

    def delete(self, prefix: str) -> int:
        """Delete every version and delete marker under ``prefix``; returns how many."""
        ...

    def delete_object(self, key: str, *, keep: Collection[str] = ()) -> int:
        """Every version and delete marker of exactly ``key`` but the version ids in ``keep``."""
        ...

    def exists(self, prefix: str) -> bool:
        """True when any version under ``prefix`` is left."""
        ...

    def presign_put(self, key: str, *, content_type: str, size: int, seconds: int) -> Upload: ...


class Jobs(Protocol):
    """The queues. Raises Unavailable(code="queue-unavailable")."""

    def send(self, jobs: Iterable[Job]) -> None:
        """Each job to the queue of its kind; all or an error (repeats are harmless)."""
        ...


class Signer(Protocol):
    """Raises Unavailable(code="signer-unavailable")."""

    def sign(self, payload_type: str, payload: bytes) -> Envelope:
        """DSSE: an ECDSA P-256 signature (DER) over SHA-256 of the PAE, digest computed here."""
        ...

    def verification_key(self) -> VerificationKey: ...


class Verifier(Protocol):
    def verify(self, envelope: Envelope, key: VerificationKey) -> bool:
        """Cryptography only: the key's state is not looked at. Never raises on bad input."""
        ...


class PolicyStore(Protocol):
    """Signed policies by digest. Raises Unavailable(code="policy-unavailable")."""

    def get(self, ref: PolicyRef) -> Envelope: ...
    def put(self, ref: PolicyRef, envelope: Envelope) -> None: ...


class Embedder(Protocol):
    """Vectors are float32 and L2-normalised. Raises Unavailable(code="model-unavailable")."""

    @property
    def revision(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    def embed_query(self, text: str) -> Vector:
        """Shape (dimensions,)."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), dimensions); a batch of one or many gives the same to 1e-5."""
        ...


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of parsed text with where it stood. ``page`` counts from 1."""

    text: str
    heading: str | None = None
    page: int | None = None


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    blocks: tuple[Block, ...]
    title: str | None = None
    signals: tuple[str, ...] = ()
    active_content_removed: bool = False
    media_type: str = "text/plain"
    parser: str = ""


class Parser(Protocol):
    def parse(self, content: bytes, *, content_type: str, name: str) -> ParsedDocument:
        """Raises Rejected with a stable code (empty-document, encrypted-pdf, malformed-pdf,
        type-mismatch, invalid-utf8, document-too-complex, …). ``content_type`` is sniffed against
        the bytes."""
        ...


class Chunker(Protocol):
    @property
    def version(self) -> str: ...
    def chunk(
        self, parsed: ParsedDocument, *, document_id: str, version: int, title: str | None
    ) -> tuple[Chunk, ...]:
        """Raises Rejected(code="too-many-chunks"), Rejected(code="empty-document")."""
        ...


class TraceStore(Protocol):
    """Ids, digests, ranks, scores and decisions of one search or answer; never text.
    ``trace`` is JSON-compatible. Raises Unavailable(code="trace-unavailable")."""

    def put(
        self,
        tenant: str,
        trace_id: str,
        subject: str,
        trace: Mapping[str, object],
        *,
        expires_at: datetime,
    ) -> None: ...

    def get(self, tenant: str, trace_id: str) -> tuple[str, Mapping[str, object]] | None:
        """(subject, trace), or None when there is none or it has expired."""
        ...
