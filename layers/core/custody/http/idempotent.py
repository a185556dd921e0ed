"""The ``Idempotency-Key`` and ``If-Match`` headers of state-changing routes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from pydantic import BaseModel

from custody.application.idempotency import Idempotency, StoredReply, call_of
from custody.domain.intake.validation import ANY_REVISION
from custody.errors import Unprocessable
from custody.http.api import Reply, Request

WRITE_HEADERS = {"Idempotency-Key": False}
GUARDED_HEADERS = {"Idempotency-Key": False, "If-Match": False}

_ETAG = re.compile(r'(?:W/)?(?P<quote>"?)(?P<revision>[0-9]{1,15})(?P=quote)')


def etag(revision: int) -> dict[str, str]:
    return {"etag": f'"{revision}"'}


def if_match(request: Request[Any, Any]) -> int | None:
    """The revision that the caller read; None without the header, ANY_REVISION with ``*``."""
    given = request.header("if-match")
    if given is None:
        return None
    if given.strip() == "*":
        return ANY_REVISION
    match = _ETAG.fullmatch(given.strip())
    if match is None:
        raise Unprocessable("If-Match is an ETag that this service gave.", field="If-Match")
    return int(match["revision"])


class Remembering(Protocol):
    @property
    def idempotency(self) -> Idempotency: ...


def once(
    service: Remembering,
    request: Request[Any, Any],
    action: Callable[[], Reply],
) -> Reply:
    """Without the header the action simply runs. The service's memory is asked for only with it."""
    key = request.header("idempotency-key")
    if key is None:
        return action()
    path = request.path
    for name, value in request.parameters.items():
        path = path.replace(f"{{{name}}}", value)
    given = request.header("if-match") or ""
    call = call_of(
        request.principal, f"{request.method} {path} {given}".rstrip(), key, request.body_sha256
    )
    counts: dict[str, float] = {}

    def run() -> StoredReply:
        reply = action()
        counts.update(reply.counts)
        return {"status": reply.status, "headers": dict(reply.headers), "body": _plain(reply.body)}

    stored = service.idempotency.once(call, run)
    return Reply(
        cast("Mapping[str, object] | None", stored["body"]),
        status=cast("int", stored["status"]),
        headers=cast("Mapping[str, str]", stored["headers"]),
        counts=counts,
    )


def _plain(body: BaseModel | Mapping[str, object] | None) -> object:
    return body.model_dump(mode="json") if isinstance(body, BaseModel) else body
