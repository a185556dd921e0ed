"""What the schemas of several topics share."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
)

from custody.domain.model import Acl
from custody.domain.timestamps import format_rfc3339, parse_rfc3339

STRICT = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Schema(BaseModel):
    """Base of every request and reply. What is not set in a reply is not told."""

    model_config = STRICT


def _timestamp(value: object) -> object:
    return parse_rfc3339(value) if isinstance(value, str) else value


type Timestamp = Annotated[
    datetime,
    BeforeValidator(_timestamp),
    PlainSerializer(format_rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
# Without `type`, so that the document shows the limits where they hold and not under another name.
Id = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Path = Annotated[str, StringConstraints(min_length=1, max_length=1024)]
MediaType = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Cursor = Annotated[str, Field(max_length=2048)]


class AclBody(Schema):
    allow: list[str]


def acl_body(acl: Acl | None) -> AclBody | None:
    return None if acl is None else AclBody(allow=list(acl.allow))


def acl_terms(body: AclBody | None) -> tuple[str, ...] | None:
    return None if body is None else tuple(body.allow)
