"""Who may read a document."""

from __future__ import annotations

from typing import Literal

from custody.application.ingestion.change_acl import AclChange, AclRequest
from custody.http.schemas.common import AclBody, Schema


class DocumentAclReply(Schema):
    document_id: str
    version: int
    acl: AclBody
    acl_revision: int
    state: Literal["ACTIVE", "PENDING"]


def acl_request(document_id: str, body: AclBody, if_match: int | None) -> AclRequest:
    return AclRequest(document_id, tuple(body.allow), if_match)


def acl_reply(change: AclChange) -> DocumentAclReply:
    return DocumentAclReply(
        document_id=change.head.key.document_id,
        version=change.head.version,
        acl=AclBody(allow=list(change.acl.allow)),
        acl_revision=change.head.acl_revision,
        state="ACTIVE" if change.in_force else "PENDING",
    )
