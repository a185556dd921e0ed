"""Documents, uploads and drops over HTTP."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from custody import bootstrap
from custody.application.ingestion.accept_document import DocumentRequest
from custody.application.ingestion.change_acl import AclRequest
from custody.application.ingestion.post_document import Published
from custody.application.ingestion.uploads import UploadRequest
from custody.bootstrap import Service
from custody.domain.ledger.drops import Drop
from custody.domain.model import Acl, Head, Inspection, Scope, VersionRecord, VersionState
from custody.domain.provenance import dsse
from custody.errors import Unprocessable
from custody.http import Api, Body, Metadata, Reply, Request, Timestamp
from custody.http.idempotent import GUARDED_HEADERS, etag, if_match, once

type Id = Annotated[str, StringConstraints(min_length=1, max_length=128)]
_PAGE = 50


class AclBody(Body):
    allow: list[str]


class DocumentBody(Body):
    document_id: Id
    source_id: Id
    content: str | None = None
    content_base64: str | None = None
    content_type: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    title: str | None = None
    acl: AclBody | None = None
    valid_from: Timestamp | None = None
    valid_to: Timestamp | None = None
    observed_at: Timestamp | None = None
    metadata: Metadata | None = None


class InspectionReply(Body):
    content_hash: str
    signals: list[str]
    suspicious: bool
    active_content_removed: bool


class PublishedReply(Body):
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


class DocumentReply(Body):
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


class VersionReply(Body):
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


class DocumentWithVersionsReply(DocumentReply):
    versions: list[VersionReply]
    more_versions: bool


class DocumentsReply(Body):
    documents: list[DocumentReply]
    next: str | None


class DocumentsQuery(Body):
    source_id: Id | None = None
    state: Literal["PENDING", "ACTIVE", "ERASED", "REJECTED", "QUARANTINED"] | None = None
    name: Annotated[str, StringConstraints(min_length=1, max_length=1024)] | None = None
    next: Annotated[str, Field(max_length=2048)] | None = None


class SignatureReply(Body):
    keyid: str
    sig: str


class EnvelopeReply(Body):
    payloadType: str  # noqa: N815  # the names of DSSE
    payload: str
    signatures: list[SignatureReply]


class ProvenanceReply(Body):
    """``log``: the inclusion proof in the transparency log; null until there is one."""

    document_id: str
    version: int
    state: str
    envelope: EnvelopeReply
    log: None


class ProvenanceQuery(Body):
    version: Annotated[int, Field(ge=1)] | None = None


class AclReply(Body):
    document_id: str
    version: int
    acl: AclBody
    acl_revision: int
    state: Literal["ACTIVE", "PENDING"]


class UploadBody(Body):
    source_id: Id
    name: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    content_type: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    bytes: Annotated[int, Field(ge=0)]


class UploadReply(Body):
    url: str
    method: Literal["PUT"]
    headers: dict[str, str]
    expires_at: Timestamp
    name: str
    document_id: str


class DropReply(Body):
    source_id: str
    name: str
    document_id: str
    state: str
    version: int
    reasons: list[str]
    object_version: str | None
    updated_at: Timestamp | None


class DropsReply(Body):
    drops: list[DropReply]


class DropsQuery(Body):
    name: Annotated[str, StringConstraints(min_length=1, max_length=1024)]


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


def _inspection(found: Inspection | None) -> InspectionReply | None:
    if found is None:
        return None
    return InspectionReply(
        content_hash=found.content_hash,
        signals=list(found.signals),
        suspicious=found.suspicious,
        active_content_removed=found.active_content_removed,
    )


def _acl(acl: Acl) -> AclBody:
    return AclBody(allow=list(acl.allow))


def _published(published: Published) -> Reply:
    record = published.record
    status = 202 if record.state is VersionState.PENDING else 201
    return Reply(
        PublishedReply(
            document_id=record.key.document_id,
            version=record.version,
            state=record.state.value,
            content_sha256=record.content_sha256,
            chunk_count=record.chunk_count,
            chunk_root=record.chunk_root,
            statement_id=record.statement_id,
            keyid=record.envelope.keyid if record.envelope else None,
            inspection=_inspection(record.inspection),
            unchanged=published.unchanged,
        ),
        200 if published.unchanged else status,
        counts={"DocumentUnchanged" if published.unchanged else "DocumentAccepted": 1},
    )


def _head(head: Head) -> dict[str, Any]:
    return {
        "document_id": head.key.document_id,
        "source_id": head.source_id,
        "name": head.name,
        "version": head.version,
        "accepted_version": head.accepted_version,
        "state": head.state.value,
        "revision": head.revision,
        "title": head.title,
        "uri": head.uri,
        "acl": _acl(head.acl),
        "pending_acl": None if head.narrowed_to is None else _acl(head.narrowed_to),
        "acl_revision": head.acl_revision,
        "content_sha256": head.content_sha256,
        "chunk_root": head.chunk_root,
        "chunk_count": head.chunk_count,
        "statement_id": head.statement_id,
        "keyid": head.envelope.keyid if head.envelope else None,
        "observed_at": head.observed_at,
        "valid_from": head.valid_from,
        "valid_to": head.valid_to,
        "recorded_at": head.recorded_at,
        "erasure_id": head.erasure_id,
    }


def _version(record: VersionRecord) -> VersionReply:
    return VersionReply(
        version=record.version,
        state=record.state.value,
        content_type=record.content_type,
        content_sha256=record.content_sha256,
        chunk_count=record.chunk_count,
        statement_id=record.statement_id,
        connector=record.connector,
        inspection=_inspection(record.inspection),
        reasons=list(record.reasons),
        accepted_at=record.accepted_at,
        published_at=record.published_at,
    )


def _drop(drop: Drop) -> DropReply:
    return DropReply(
        source_id=drop.source.source_id,
        name=drop.name,
        document_id=drop.document.document_id,
        state=drop.state.value,
        version=drop.version,
        reasons=list(drop.reasons),
        object_version=drop.object.version_id if drop.object else None,
        updated_at=drop.updated_at,
    )


api = Api[Service]("documents")


@api.route(
    "POST",
    "/documents",
    scope=Scope.WRITE,
    summary="Publish a document; 202 when it is not published within the waiting time.",
    request=DocumentBody,
    headers=GUARDED_HEADERS,
    replies={200: PublishedReply, 201: PublishedReply, 202: PublishedReply},
)
def put_document(service: Service, request: Request[DocumentBody, None]) -> Reply:
    body = request.body
    content, content_type = _content(body)

    def run() -> Reply:
        published = service.post_document(
            request.principal,
            DocumentRequest(
                document_id=body.document_id,
                source_id=body.source_id,
                content=content,
                content_type=content_type,
                title=body.title,
                acl=None if body.acl is None else tuple(body.acl.allow),
                valid_from=body.valid_from,
                valid_to=body.valid_to,
                observed_at=body.observed_at,
                metadata=body.metadata or {},
                if_match=if_match(request),
            ),
        )
        return _published(published)

    return once(service, request, run)


@api.route(
    "GET",
    "/documents",
    scope=Scope.READ,
    summary="The tenant's documents that the caller may see, page by page.",
    query=DocumentsQuery,
    replies={200: DocumentsReply},
)
def list_documents(service: Service, request: Request[None, DocumentsQuery]) -> Reply:
    query = request.query
    page = service.documents.list_documents(
        request.principal,
        source_id=query.source_id,
        state=None if query.state is None else VersionState(query.state),
        name=query.name,
        limit=_PAGE,
        cursor=query.next,
    )
    return Reply(
        DocumentsReply(
            documents=[DocumentReply(**_head(head)) for head in page.items], next=page.next
        )
    )


@api.route(
    "GET",
    "/documents/{id}",
    scope=Scope.READ,
    summary="One document: what is live, and its versions.",
    replies={200: DocumentWithVersionsReply},
)
def show_document(service: Service, request: Request[None, None]) -> Reply:
    shown = service.documents.show(request.principal, request.parameters["id"])
    return Reply(
        DocumentWithVersionsReply(
            **_head(shown.head),
            versions=[_version(record) for record in shown.versions],
            more_versions=shown.more_versions,
        ),
        headers=etag(shown.head.revision),
    )


@api.route(
    "GET",
    "/documents/{id}/provenance",
    scope=Scope.READ,
    summary="The signed statement of a version.",
    query=ProvenanceQuery,
    replies={200: ProvenanceReply},
)
def show_provenance(service: Service, request: Request[None, ProvenanceQuery]) -> Reply:
    found = service.documents.provenance(
        request.principal, request.parameters["id"], request.query.version
    )
    return Reply(
        ProvenanceReply(
            document_id=found.document_id,
            version=found.version,
            state=found.state.value,
            envelope=EnvelopeReply.model_validate(json.loads(dsse.encode(found.envelope))),
            log=None,
        )
    )


@api.route(
    "PUT",
    "/documents/{id}/acl",
    scope=None,
    summary="Change who may read a document; 202 while what it adds is not in force yet.",
    request=AclBody,
    headers=GUARDED_HEADERS,
    replies={200: AclReply, 202: AclReply},
)
def put_acl(service: Service, request: Request[AclBody, None]) -> Reply:
    def run() -> Reply:
        change = service.change_acl(
            request.principal,
            AclRequest(request.parameters["id"], tuple(request.body.allow), if_match(request)),
        )
        return Reply(
            AclReply(
                document_id=change.head.key.document_id,
                version=change.head.version,
                acl=_acl(change.acl),
                acl_revision=change.head.acl_revision,
                state="ACTIVE" if change.in_force else "PENDING",
            ),
            200 if change.in_force else 202,
            counts={"AclChanged": 1},
        )

    return once(service, request, run)


@api.route(
    "POST",
    "/uploads",
    scope=Scope.WRITE,
    summary="A presigned PUT for what is too large for a body.",
    request=UploadBody,
    replies={201: UploadReply},
)
def create_upload(service: Service, request: Request[UploadBody, None]) -> Reply:
    body = request.body
    ticket = service.uploads.create(
        request.principal,
        UploadRequest(body.source_id, body.name, body.content_type, body.bytes),
    )
    return Reply(
        UploadReply(
            url=ticket.upload.url,
            method="PUT",
            headers=dict(ticket.upload.headers),
            expires_at=ticket.upload.expires_at,
            name=ticket.name,
            document_id=ticket.document_id,
        ),
        201,
    )


@api.route(
    "GET",
    "/drops",
    scope=None,
    summary="What became of a dropped file, for those who write or oversee its source.",
    query=DropsQuery,
    replies={200: DropsReply},
)
def list_drops(service: Service, request: Request[None, DropsQuery]) -> Reply:
    drops = service.uploads.drops(request.principal, request.query.name)
    return Reply(DropsReply(drops=[_drop(drop) for drop in drops]))


handler = api.handler(bootstrap.service)
