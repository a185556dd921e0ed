"""Documents as they are listed and shown."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from custody.application.ports import Page
from custody.application.reading.documents import Shown
from custody.domain.model import Head, VersionRecord
from custody.http.schemas.common import AclBody, Cursor, Id, Path, Schema, Timestamp, acl_body
from custody.http.schemas.publishing import InspectionReply, inspection_reply


class DocumentsQuery(Schema):
    source_id: Id | None = None
    state: Literal["PENDING", "ACTIVE", "ERASED", "REJECTED", "QUARANTINED"] | None = None
    name: Path | None = None
    next: Cursor | None = None


class DocumentReply(Schema):
    tenant: str
    document_id: str
    source_id: str
    name: str
    version: int
    accepted_version: int
    state: str
    revision: int
    title: str | None
    uri: str | None
    acl: AclBody
    pending_acl: AclBody | None
    acl_revision: int
    content_sha256: str | None
    chunk_root: str | None
    chunk_count: int
    statement_id: str | None
    keyid: str | None
    observed_at: Timestamp | None
    valid_from: Timestamp | None
    valid_to: Timestamp | None
    recorded_at: Timestamp | None
    erasure_id: str | None


class DocumentVersionReply(Schema):
    version: int
    state: str
    content_type: str
    content_sha256: str
    chunk_count: int
    statement_id: str | None
    connector: str
    inspection: InspectionReply | None
    reasons: list[str]
    accepted_at: Timestamp | None
    published_at: Timestamp | None
    expired_at: Timestamp | None


class DocumentWithVersionsReply(DocumentReply):
    withheld: str | None = Field(
        description="To the source's writers, governors and auditors: why no search serves the "
        "document to them now."
    )
    versions: list[DocumentVersionReply]
    more_versions: bool


class DocumentsReply(Schema):
    documents: list[DocumentReply]
    next: str | None


def documents_reply(page: Page[Head]) -> DocumentsReply:
    return DocumentsReply(documents=[_document(head) for head in page.items], next=page.next)


def document_reply(shown: Shown) -> DocumentWithVersionsReply:
    return DocumentWithVersionsReply(
        **dict(_document(shown.head)),
        withheld=shown.withheld,
        versions=[_version(record) for record in shown.versions],
        more_versions=shown.more_versions,
    )


def _document(head: Head) -> DocumentReply:
    return DocumentReply(
        tenant=head.key.tenant,
        document_id=head.key.document_id,
        source_id=head.source_id,
        name=head.name or head.key.document_id,
        version=head.version,
        accepted_version=head.accepted_version,
        state=head.state.value,
        revision=head.revision,
        title=head.title,
        uri=head.uri,
        acl=AclBody(allow=list(head.acl.allow)),
        pending_acl=acl_body(head.narrowed_to),
        acl_revision=head.acl_revision,
        content_sha256=head.content_sha256,
        chunk_root=head.chunk_root,
        chunk_count=head.chunk_count,
        statement_id=head.statement_id,
        keyid=head.envelope.keyid if head.envelope else None,
        observed_at=head.observed_at,
        valid_from=head.valid_from,
        valid_to=head.valid_to,
        recorded_at=head.recorded_at,
        erasure_id=head.erasure_id,
    )


def _version(record: VersionRecord) -> DocumentVersionReply:
    return DocumentVersionReply(
        version=record.version,
        state=record.state.value,
        content_type=record.content_type,
        content_sha256=record.content_sha256,
        chunk_count=record.chunk_count,
        statement_id=record.statement_id,
        connector=record.connector,
        inspection=inspection_reply(record.inspection),
        reasons=list(record.reasons),
        accepted_at=record.accepted_at,
        published_at=record.published_at,
        expired_at=record.expired_at,
    )
