"""The ``Idempotency-Key`` and ``If-Match`` headers of state-changing endpoints."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from custody.application import callers
from custody.application.idempotency import Idempotency, StoredReply, call_of
from custody.domain.intake.validation import ANY_REVISION
from custody.domain.model import Principal
from custody.errors import Forbidden, Unprocessable
from custody.http.api import Request
from custody.http.reply import Replayed, Reply, as_declared

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
    def check_token(self, principal: Principal) -> None:
        """Raises Unauthenticated(token-revoked)."""
        ...


def once(
    service: Remembering,
    request: Request[Any, Any],
    action: Callable[[], Reply],
    *,
    still: Callable[[Mapping[str, Any]], None] | None = None,
) -> Reply:
    """Without the header the action simply runs. The service's memory is asked for only with it.

    A repeat never reaches the use case, which is what checks the caller's scopes and whether its
    access was cut, so both are checked here before anything is told: it needs every scope that the
    first call had. ``still`` raises where the first answer's body, which it is given, may no longer be
    told. Raises Forbidden(scope-missing), Unauthenticated(token-revoked).
    """
    key = request.header("idempotency-key")
    if key is None:
        return action()
    callers.require(request.principal, *request.scopes)
    path = request.path
    for name, value in request.parameters.items():
        path = path.replace(f"{{{name}}}", value)
    given = request.header("if-match") or ""
    call = call_of(
        request.principal, f"{request.method} {path} {given}".rstrip(), key, request.body_sha256
    )
    first: list[Reply] = []

    def run() -> StoredReply:
        reply = as_declared(action(), request.replies)  # what is not told is not kept either
        first.append(reply)
        return _stored(reply, request.principal)

    stored = service.idempotency.once(call, run)
    if first:
        return first[0]
    service.check_token(request.principal)
    if not request.principal.scopes.issuperset(cast("list[str]", stored["scopes"])):
        raise Forbidden("The first call had scopes that this one lacks.", code="scope-missing")
    if still is not None:
        still(cast("Mapping[str, Any]", stored["body"]))
    return _replayed(stored)


def _stored(reply: Reply, principal: Principal) -> StoredReply:
    body = reply.body.model_dump(mode="json", exclude_unset=True)
    return {
        "status": reply.status,
        "headers": dict(reply.headers),
        "body": body,
        "scopes": sorted(principal.scopes),
    }


def _replayed(stored: StoredReply) -> Reply:
    return Reply(
        Replayed.model_validate(stored["body"]),
        status=cast("int", stored["status"]),
        headers=cast("Mapping[str, str]", stored["headers"]),
    )
