"""A document that is to be published, and what became of it."""

from __future__ import annotations

import base64
import binascii

from custody.application.ingestion.accept_document import DocumentRequest
from custody.application.ingestion.post_document import Published
from custody.domain.model import Inspection
from custody.errors import Unprocessable
from custody.http.schemas.common import AclBody, Id, MediaType, Schema, Timestamp, acl_terms

type Metadata = dict[str, str | int | float | bool | list[str]]


class DocumentBody(Schema):
    document_id: Id
    source_id: Id
    content: str | None = None
    content_base64: str | None = None
    content_type: MediaType
    title: str | None = None
    acl: AclBody | None = None
    valid_from: Timestamp | None = None
    valid_to: Timestamp | None = None
    observed_at: Timestamp | None = None
    metadata: Metadata | None = None


class InspectionReply(Schema):
    content_hash: str
    signals: list[str]
    suspicious: bool
    active_content_removed: bool


class PublishedDocumentReply(Schema):
    document_id: str
    version: int
    state: str
    content_sha256: str
    chunk_count: int
    chunk_root: str | None
    statement_id: str | None
    keyid: str | None
    inspection: InspectionReply | None
    unchanged: bool


def document_request(body: DocumentBody, if_match: int | None) -> DocumentRequest:
    """Raises Unprocessable(invalid-field)."""
    content, content_type = _content(body)
    return DocumentRequest(
        document_id=body.document_id,
        source_id=body.source_id,
        content=content,
        content_type=content_type,
        title=body.title,
        acl=acl_terms(body.acl),
        valid_from=body.valid_from,
        valid_to=body.valid_to,
        observed_at=body.observed_at,
        metadata=body.metadata or {},
        if_match=if_match,
    )


def _content(body: DocumentBody) -> tuple[bytes, str]:
    """The bytes and their declared type. A JSON string is text already, so its charset is ours."""
    if (body.content is None) == (body.content_base64 is None):
        raise Unprocessable("Exactly one of content and content_base64 is needed.", field="content")
    if body.content is not None:
        bare = body.content_type.split(";", 1)[0]
        return body.content.encode("utf-8"), f"{bare}; charset=utf-8"
    try:
        return base64.b64decode(body.content_base64 or "", validate=True), body.content_type
    except (binascii.Error, ValueError):
        raise Unprocessable("This is not base64.", field="content_base64") from None


def published_reply(published: Published) -> PublishedDocumentReply:
    record = published.record
    return PublishedDocumentReply(
        document_id=record.key.document_id,
        version=record.version,
        state=record.state.value,
        content_sha256=record.content_sha256,
        chunk_count=record.chunk_count,
        chunk_root=record.chunk_root,
        statement_id=record.statement_id,
        keyid=record.envelope.keyid if record.envelope else None,
        inspection=inspection_reply(record.inspection),
        unchanged=published.unchanged,
    )


def inspection_reply(found: Inspection | None) -> InspectionReply | None:
    if found is None:
        return None
    return InspectionReply(
        content_hash=found.content_hash,
        signals=list(found.signals),
        suspicious=found.suspicious,
        active_content_removed=found.active_content_removed,
    )
