"""Erase a document; read the receipt."""

from __future__ import annotations

from custody import bootstrap
from custody.bootstrap import Service
from custody.domain.model import Scope
from custody.http import Api, Reply, Request
from custody.http.idempotent import GUARDED_HEADERS, if_match, once
from custody.http.schemas.erasures import (
    ErasureAcceptedReply,
    ErasureBody,
    ErasureReply,
    erasure_accepted_reply,
    erasure_reply,
    erasure_request,
)

api = Api[Service]("erase")


@api.endpoint(
    "DELETE",
    "/documents/{id}",
    scopes=(Scope.ERASE,),
    summary="Erase a document: hidden at once, then removed everywhere and verified.",
    request=ErasureBody,
    headers=GUARDED_HEADERS,
    replies={202: ErasureAcceptedReply},
)
def erase(service: Service, request: Request[ErasureBody, None]) -> Reply:
    wanted = erasure_request(request.parameters["id"], request.body, if_match(request))

    def run() -> Reply:
        erasure = service.erasures.request(request.principal, wanted)
        return Reply(erasure_accepted_reply(erasure), 202, counts={"Erasure": 1})

    return once(service, request, run)


@api.endpoint(
    "GET",
    "/erasures/{id}",
    summary="What became of each copy.",
    replies={200: ErasureReply},
)
def show(service: Service, request: Request[None, None]) -> Reply:
    erasure = service.erasures.show(request.principal, request.parameters["id"])
    return Reply(erasure_reply(erasure))


handler = api.handler(bootstrap.service)
