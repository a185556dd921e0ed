"""Erase a document; read the receipt."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from custody import bootstrap
from custody.application.erasure.request import MAX_REASON_CHARACTERS, ErasureRequest
from custody.bootstrap import Service
from custody.domain.model import Scope
from custody.http import Api, Body, Reply, Request, Timestamp
from custody.http.idempotent import GUARDED_HEADERS, if_match, once


class EraseBody(Body):
    reason: Annotated[str, StringConstraints(min_length=1, max_length=MAX_REASON_CHARACTERS)]


class EraseReply(Body):
    erasure_id: str


class ArtifactReply(Body):
    location: str
    level: str
    verified_at: Timestamp | None
    detail: str | None


class ErasureReply(Body):
    erasure_id: str
    state: str
    document_id: str
    through_version: int
    reason: str
    requested_by: str
    requested_at: Timestamp
    completed_at: Timestamp | None
    artifacts: list[ArtifactReply]


api = Api[Service]("erase")


@api.route(
    "DELETE",
    "/documents/{id}",
    scope=Scope.ERASE,
    summary="Erase a document: hidden at once, then removed everywhere and verified.",
    request=EraseBody,
    headers=GUARDED_HEADERS,
    replies={202: EraseReply},
)
def erase(service: Service, request: Request[EraseBody, None]) -> Reply:
    def run() -> Reply:
        erasure = service.erasures.request(
            request.principal,
            ErasureRequest(request.parameters["id"], request.body.reason, if_match(request)),
        )
        return Reply(EraseReply(erasure_id=erasure.erasure_id), 202, counts={"Erasure": 1})

    return once(service, request, run)


@api.route(
    "GET",
    "/erasures/{id}",
    scope=None,
    summary="What became of each copy.",
    replies={200: ErasureReply},
)
def show(service: Service, request: Request[None, None]) -> Reply:
    erasure = service.erasures.show(request.principal, request.parameters["id"])
    return Reply(
        ErasureReply(
            erasure_id=erasure.erasure_id,
            state=erasure.state.value,
            document_id=erasure.key.document_id,
            through_version=erasure.through_version,
            reason=erasure.reason,
            requested_by=erasure.requested_by,
            requested_at=erasure.requested_at,
            completed_at=erasure.completed_at,
            artifacts=[
                ArtifactReply(
                    location=artifact.location,
                    level=artifact.level.value,
                    verified_at=artifact.verified_at,
                    detail=artifact.detail,
                )
                for artifact in erasure.artifacts
            ],
        )
    )


handler = api.handler(bootstrap.service)
