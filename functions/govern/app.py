"""Register sources and list them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from custody import bootstrap
from custody.application.governance.source_registry import SourceRequest
from custody.bootstrap import Service
from custody.domain.model import Acl, Scope, SidecarMode, Source
from custody.http import Api, Body, Reply, Request, Timestamp
from custody.http.idempotent import GUARDED_HEADERS, etag, if_match, once

type Text = Annotated[str, StringConstraints(min_length=1, max_length=256)]
_PAGE = 50


class AclBody(Body):
    allow: list[str]


class SourceBody(Body):
    trust_domain: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    writers: list[str]
    default_acl: AclBody | None = None
    max_acl: AclBody | None = None
    sidecar: Literal["required", "optional", "forbidden"] = "optional"
    isolation: Text = "shared"
    mirror_deletes: bool = False
    classification: Text | None = None
    licence: Text | None = None
    legal_basis: Text | None = None
    retention_class: Text | None = None


class SourceReply(Body):
    source_id: str
    trust_domain: str
    writers: list[str]
    default_acl: AclBody | None
    max_acl: AclBody | None
    sidecar: str
    isolation: str
    mirror_deletes: bool
    classification: str | None
    licence: str | None
    legal_basis: str | None
    retention_class: str | None
    state: str
    revision: int
    prefix: str
    created_at: Timestamp | None
    updated_at: Timestamp | None


class SourcesReply(Body):
    sources: list[SourceReply]
    next: str | None


class PageQuery(Body):
    next: Annotated[str, Field(max_length=2048)] | None = None


def _acl(acl: Acl | None) -> AclBody | None:
    return None if acl is None else AclBody(allow=list(acl.allow))


def _terms(acl: AclBody | None) -> tuple[str, ...] | None:
    return None if acl is None else tuple(acl.allow)


def _reply(source: Source) -> SourceReply:
    return SourceReply(
        source_id=source.key.source_id,
        trust_domain=source.trust_domain,
        writers=list(source.writers),
        default_acl=_acl(source.default_acl),
        max_acl=_acl(source.max_acl),
        sidecar=source.sidecar.value,
        isolation=source.isolation,
        mirror_deletes=source.mirror_deletes,
        classification=source.classification,
        licence=source.licence,
        legal_basis=source.legal_basis,
        retention_class=source.retention_class,
        state=source.state.value,
        revision=source.revision,
        prefix=f"incoming/{source.key.tenant}/{source.key.source_id}/",
        created_at=source.created_at,
        updated_at=source.updated_at,
    )


api = Api[Service]("govern")


@api.route(
    "PUT",
    "/sources/{id}",
    scope=Scope.GOVERN,
    summary="Register a source or change it.",
    request=SourceBody,
    headers=GUARDED_HEADERS,
    replies={200: SourceReply, 201: SourceReply},
)
def put_source(service: Service, request: Request[SourceBody, None]) -> Reply:
    body = request.body

    def run() -> Reply:
        put = service.govern.put(
            request.principal,
            SourceRequest(
                source_id=request.parameters["id"],
                trust_domain=body.trust_domain,
                writers=tuple(body.writers),
                default_acl=_terms(body.default_acl),
                max_acl=_terms(body.max_acl),
                sidecar=SidecarMode(body.sidecar),
                isolation=body.isolation,
                mirror_deletes=body.mirror_deletes,
                classification=body.classification,
                licence=body.licence,
                legal_basis=body.legal_basis,
                retention_class=body.retention_class,
                if_match=if_match(request),
            ),
        )
        return Reply(
            _reply(put.source), 201 if put.created else 200, headers=etag(put.source.revision)
        )

    return once(service, request, run)


@api.route(
    "GET",
    "/sources",
    scope=None,
    summary="The tenant's sources, for governors and auditors.",
    query=PageQuery,
    replies={200: SourcesReply},
)
def list_sources(service: Service, request: Request[None, PageQuery]) -> Reply:
    page = service.govern.list_sources(request.principal, limit=_PAGE, cursor=request.query.next)
    return Reply(SourcesReply(sources=[_reply(source) for source in page.items], next=page.next))


handler = api.handler(bootstrap.service)
