"""Let one document in through the API: judge it, keep its bytes, record it as PENDING."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from custody.application.callers import require, view_for
from custody.application.ingestion.admission import (
    NOWHERE,
    Admission,
    Admitted,
    declared_media,
    version_that_says,
)
from custody.application.ports import (
    Admissions,
    ChunkCounts,
    Clock,
    Jobs,
    LedgerReads,
    ObjectStore,
    VersionReads,
)
from custody.application.races import again_when_moved
from custody.domain.intake import validation
from custody.domain.jobs import ParseJob, PublishJob
from custody.domain.ledger import sources
from custody.domain.ledger.access import own_acl
from custody.domain.model import (
    Acl,
    DocumentKey,
    Head,
    Principal,
    Scope,
    Source,
    SourceKey,
    VersionRecord,
    VersionState,
)
from custody.domain.storage import object_keys
from custody.errors import (
    Conflict,
    NotFound,
    PreconditionFailed,
    Rejected,
    TooLarge,
    Unprocessable,
    UnsupportedMedia,
)


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    """``acl`` None: the document's own where it was given one, else the source's default. ``if_match``: the head's revision that the caller read;
    0 means that the document must not exist yet."""

    document_id: str
    source_id: str
    content: bytes
    content_type: str
    title: str | None = None
    acl: tuple[str, ...] | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    observed_at: datetime | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    if_match: int | None = None


class AcceptLedger(LedgerReads, VersionReads, Admissions, Protocol):
    """What letting a document in asks of the ledger."""


@dataclass(frozen=True, slots=True)
class Accept:
    ledger: AcceptLedger
    objects: ObjectStore
    index: ChunkCounts
    jobs: Jobs
    clock: Clock
    max_content_bytes: int = 6 * 1024 * 1024

    def from_api(self, principal: Principal, request: DocumentRequest) -> Admitted:
        """Raises NotFound(source-not-found), Conflict(source-… | document-owned-elsewhere),
        Forbidden(not-a-writer), Unprocessable, TooLarge, UnsupportedMedia, PreconditionFailed."""
        require(principal, Scope.WRITE)
        validation.source_id(request.source_id)
        key = DocumentKey(
            principal.tenant,
            validation.document_id(request.document_id, source_id=request.source_id),
        )
        owner = SourceKey(principal.tenant, request.source_id)
        admitted = again_when_moved(
            lambda: self._admit(principal, key, owner, request),
            lost="The document is being changed by others; try again.",
        )
        move_on(self.jobs, admitted)
        return admitted

    def _admit(
        self, principal: Principal, key: DocumentKey, owner: SourceKey, request: DocumentRequest
    ) -> Admitted:
        read = view_for(self.ledger, principal, (key,), (owner,))
        source = _writable(principal, read.sources.get(owner))
        head = read.heads.get(key)
        draft = self._draft(principal, source, key, request, own_acl(head))
        _check_head(head, source, request.if_match)
        found = version_that_says(self.ledger, self.index, head, draft)
        return found or self._let_in(draft, head, request.content)

    def _draft(
        self,
        principal: Principal,
        source: Source,
        key: DocumentKey,
        request: DocumentRequest,
        kept: Acl | None,
    ) -> VersionRecord:
        tenant, now = key.tenant, self.clock.now()
        if not request.content:
            raise Unprocessable("The content is empty.", code="empty-document", field="content")
        if len(request.content) > self.max_content_bytes:
            raise TooLarge(
                f"The content is larger than {self.max_content_bytes:,} bytes; ask for an upload.",
                code="body-too-large",
                field="content",
            )
        validation.validity(request.valid_from, request.valid_to)
        wanted = (
            None
            if request.acl is None
            else validation.acl(request.acl, tenant=tenant, field="acl.allow")
        )
        return VersionRecord(
            key=key,
            version=0,
            source_id=source.key.source_id,
            name=key.document_id,
            state=VersionState.PENDING,
            content_type=_content_type(request),
            content_sha256=hashlib.sha256(request.content).hexdigest(),
            raw=NOWHERE,
            acl=sources.document_acl(source, wanted, kept),
            acl_kept=wanted is None and kept is not None,
            title=validation.title(request.title),
            metadata=validation.metadata(request.metadata),
            observed_at=min(request.observed_at or now, now),
            valid_from=request.valid_from,
            valid_to=request.valid_to,
            connector=f"api:{principal.subject}",
            accepted_at=now,
        )

    def _let_in(self, draft: VersionRecord, head: Head | None, content: bytes) -> Admitted:
        """Raises Moved."""
        version = (head.accepted_version if head else 0) + 1
        raw = self.objects.put(
            object_keys.raw(draft.key, version), content, content_type=draft.content_type
        )
        record = self.ledger.accept(
            replace(draft, raw=raw), expected_revision=head.revision if head else 0
        )
        return Admitted(record, Admission.NEW)


def _content_type(request: DocumentRequest) -> str:
    """The declared type, held against the bytes before anything is written."""
    validation.content_type(request.content_type)
    try:
        return declared_media(
            request.content, content_type=request.content_type, name=request.document_id
        )
    except Rejected as error:
        raise UnsupportedMedia(error.detail, code=error.code, field="content_type") from None


def move_on(jobs: Jobs, admitted: Admitted) -> None:
    """Send what carries the version on. Repeats are harmless, and a repeated request repairs what
    a crash between the ledger and the queue left undone."""
    record = admitted.record
    if admitted.admission is Admission.MISSING:
        jobs.send([PublishJob(record.key, record.version)])
    elif admitted.admission is not Admission.UNCHANGED:
        jobs.send([ParseJob(record.key, record.version)])


def _writable(principal: Principal, source: Source | None) -> Source:
    if source is None:
        raise NotFound("There is no such source.", code="source-not-found", field="source_id")
    sources.check_writer(principal, source)
    sources.check_active(source)
    return source


def _check_head(head: Head | None, source: Source, if_match: int | None) -> None:
    if head is not None and head.source_id != source.key.source_id:
        raise Conflict(
            "The document belongs to another source.",
            code="document-owned-elsewhere",
            field="document_id",
        )
    if not validation.still_is(if_match, head.revision if head else 0):
        raise PreconditionFailed("The document has changed since it was read.")
