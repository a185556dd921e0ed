"""Documents, uploads and drops over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from custody import bootstrap
from custody.application.ingestion.post_document import Published
from custody.bootstrap import Service
from custody.domain.model import Scope, VersionState
from custody.http import Api, Reply, Request
from custody.http.idempotent import GUARDED_HEADERS, etag, if_match, once
from custody.http.schemas.common import AclBody
from custody.http.schemas.document_acl import DocumentAclReply, acl_reply, acl_request
from custody.http.schemas.documents import (
    DocumentsQuery,
    DocumentsReply,
    DocumentWithVersionsReply,
    document_reply,
    documents_reply,
)
from custody.http.schemas.drops import DropsQuery, DropsReply, drops_reply
from custody.http.schemas.past_access import AccessQuery, PastAccessReply, past_access_reply
from custody.http.schemas.provenance import (
    DocumentProvenanceReply,
    ProvenanceQuery,
    provenance_reply,
)
from custody.http.schemas.publishing import (
    DocumentBody,
    PublishedDocumentReply,
    document_request,
    published_reply,
)
from custody.http.schemas.uploads import UploadBody, UploadReply, upload_reply, upload_request

_PAGE = 50

api = Api[Service]("documents")


@api.endpoint(
    "POST",
    "/documents",
    scopes=(Scope.WRITE,),
    summary="Publish a document; 202 when it is not published within the waiting time.",
    request=DocumentBody,
    headers=GUARDED_HEADERS,
    replies={
        200: PublishedDocumentReply,
        201: PublishedDocumentReply,
        202: PublishedDocumentReply,
    },
)
def put_document(service: Service, request: Request[DocumentBody, None]) -> Reply:
    wanted = document_request(request.body, if_match(request))

    def run() -> Reply:
        published = service.post_document(request.principal, wanted)
        return Reply(
            published_reply(published),
            _status(published),
            counts={"DocumentUnchanged" if published.unchanged else "DocumentAccepted": 1},
        )

    return once(service, request, run, still=_not_erased(service, request))


def _not_erased(
    service: Service, request: Request[Any, None]
) -> Callable[[Mapping[str, Any]], None]:
    return lambda told: service.repeats.check(
        request.principal, told["document_id"], told["version"]
    )


def _status(published: Published) -> int:
    if published.unchanged:
        return 200
    return 202 if published.record.state is VersionState.PENDING else 201


@api.endpoint(
    "GET",
    "/documents",
    scopes=(Scope.READ,),
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
    return Reply(documents_reply(page))


@api.endpoint(
    "GET",
    "/documents/{id}",
    scopes=(Scope.READ,),
    summary="One document: what is live, and its versions.",
    replies={200: DocumentWithVersionsReply},
)
def show_document(service: Service, request: Request[None, None]) -> Reply:
    shown = service.documents.show(request.principal, request.parameters["id"])
    return Reply(document_reply(shown), headers=etag(shown.head.revision))


@api.endpoint(
    "GET",
    "/documents/{id}/provenance",
    scopes=(Scope.READ,),
    summary="The signed statement of a version.",
    query=ProvenanceQuery,
    replies={200: DocumentProvenanceReply},
)
def show_provenance(service: Service, request: Request[None, ProvenanceQuery]) -> Reply:
    found = service.documents.provenance(
        request.principal, request.parameters["id"], request.query.version
    )
    return Reply(provenance_reply(found))


@api.endpoint(
    "GET",
    "/documents/{id}/access",
    scopes=(Scope.AUDIT,),
    summary="Who could have been shown a document at a time.",
    query=AccessQuery,
    replies={200: PastAccessReply},
)
def show_access(service: Service, request: Request[None, AccessQuery]) -> Reply:
    found = service.access_history(request.principal, request.parameters["id"], request.query.at)
    return Reply(past_access_reply(found))


@api.endpoint(
    "PUT",
    "/documents/{id}/acl",
    scopes=(Scope.WRITE, Scope.GOVERN),
    summary="Change who may read a document; 202 while what it adds is not in force yet.",
    request=AclBody,
    headers=GUARDED_HEADERS,
    replies={200: DocumentAclReply, 202: DocumentAclReply},
)
def put_acl(service: Service, request: Request[AclBody, None]) -> Reply:
    wanted = acl_request(request.parameters["id"], request.body, if_match(request))

    def run() -> Reply:
        change = service.change_acl(request.principal, wanted)
        return Reply(acl_reply(change), 200 if change.in_force else 202, counts={"AclChanged": 1})

    return once(service, request, run, still=_not_erased(service, request))


@api.endpoint(
    "POST",
    "/uploads",
    scopes=(Scope.WRITE,),
    summary="A presigned PUT for what is too large for a body.",
    request=UploadBody,
    replies={201: UploadReply},
)
def create_upload(service: Service, request: Request[UploadBody, None]) -> Reply:
    ticket = service.uploads.create(request.principal, upload_request(request.body))
    return Reply(upload_reply(ticket), 201)


@api.endpoint(
    "GET",
    "/drops",
    summary="What became of a dropped file, for those who write or oversee its source.",
    query=DropsQuery,
    replies={200: DropsReply},
)
def list_drops(service: Service, request: Request[None, DropsQuery]) -> Reply:
    return Reply(drops_reply(service.uploads.drops(request.principal, request.query.name)))


handler = api.handler(bootstrap.service)
