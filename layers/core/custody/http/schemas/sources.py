"""Sources as they are registered and listed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from custody.application.governance.source_registry import SourceRequest
from custody.application.ports import Page
from custody.domain.model import SidecarMode, Source
from custody.http.schemas.common import (
    AclBody,
    Cursor,
    Id,
    Schema,
    Timestamp,
    acl_body,
    acl_terms,
)

Label = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class SourceBody(Schema):
    trust_domain: Id
    writers: list[str]
    default_acl: AclBody | None = None
    max_acl: AclBody | None = None
    sidecar: Literal["required", "optional", "forbidden"] = "optional"
    isolation: Label = "shared"
    mirror_deletes: bool = False
    classification: Label | None = None
    licence: Label | None = None
    legal_basis: Label | None = None
    retention_class: Label | None = None


class QuarantineBody(Schema):
    reason: Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class SourceReply(Schema):
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


class SourcesQuery(Schema):
    next: Cursor | None = None


class SourcesReply(Schema):
    sources: list[SourceReply]
    next: str | None


def source_request(source_id: str, body: SourceBody, if_match: int | None) -> SourceRequest:
    return SourceRequest(
        source_id=source_id,
        trust_domain=body.trust_domain,
        writers=tuple(body.writers),
        default_acl=acl_terms(body.default_acl),
        max_acl=acl_terms(body.max_acl),
        sidecar=SidecarMode(body.sidecar),
        isolation=body.isolation,
        mirror_deletes=body.mirror_deletes,
        classification=body.classification,
        licence=body.licence,
        legal_basis=body.legal_basis,
        retention_class=body.retention_class,
        if_match=if_match,
    )


def source_reply(source: Source) -> SourceReply:
    return SourceReply(
        source_id=source.key.source_id,
        trust_domain=source.trust_domain,
        writers=list(source.writers),
        default_acl=acl_body(source.default_acl),
        max_acl=acl_body(source.max_acl),
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


def sources_reply(page: Page[Source]) -> SourcesReply:
    return SourcesReply(sources=[source_reply(source) for source in page.items], next=page.next)
