"""Register sources and list them."""

from __future__ import annotations

from custody import bootstrap
from custody.bootstrap import Service
from custody.domain.model import Scope
from custody.http import Api, Reply, Request
from custody.http.idempotent import GUARDED_HEADERS, etag, if_match, once
from custody.http.schemas.sources import (
    SourceBody,
    SourceReply,
    SourcesQuery,
    SourcesReply,
    source_reply,
    source_request,
    sources_reply,
)

_PAGE = 50

api = Api[Service]("govern")


@api.endpoint(
    "PUT",
    "/sources/{id}",
    scopes=(Scope.GOVERN,),
    summary="Register a source or change it.",
    request=SourceBody,
    headers=GUARDED_HEADERS,
    replies={200: SourceReply, 201: SourceReply},
)
def put_source(service: Service, request: Request[SourceBody, None]) -> Reply:
    wanted = source_request(request.parameters["id"], request.body, if_match(request))

    def run() -> Reply:
        put = service.sources.put(request.principal, wanted)
        return Reply(
            source_reply(put.source),
            201 if put.created else 200,
            headers=etag(put.source.revision),
        )

    return once(service, request, run)


@api.endpoint(
    "GET",
    "/sources",
    scopes=(Scope.GOVERN, Scope.AUDIT),
    summary="The tenant's sources, for governors and auditors.",
    query=SourcesQuery,
    replies={200: SourcesReply},
)
def list_sources(service: Service, request: Request[None, SourcesQuery]) -> Reply:
    page = service.sources.list_sources(request.principal, limit=_PAGE, cursor=request.query.next)
    return Reply(sources_reply(page))


handler = api.handler(bootstrap.service)
