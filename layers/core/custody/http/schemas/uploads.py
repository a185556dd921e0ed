"""Presigned uploads."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from custody.application.ingestion.uploads import UploadRequest, UploadTicket
from custody.http.schemas.common import Id, MediaType, Path, Schema, Timestamp


class UploadBody(Schema):
    source_id: Id
    name: Path
    content_type: MediaType
    bytes: Annotated[int, Field(ge=0)]


class UploadReply(Schema):
    url: str
    method: Literal["PUT"]
    headers: dict[str, str]
    expires_at: Timestamp
    name: str
    document_id: str


def upload_request(body: UploadBody) -> UploadRequest:
    return UploadRequest(body.source_id, body.name, body.content_type, body.bytes)


def upload_reply(ticket: UploadTicket) -> UploadReply:
    return UploadReply(
        url=ticket.upload.url,
        method="PUT",
        headers=dict(ticket.upload.headers),
        expires_at=ticket.upload.expires_at,
        name=ticket.name,
        document_id=ticket.document_id,
    )
