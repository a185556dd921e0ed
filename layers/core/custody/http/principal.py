"""The caller, from what the authorizer put into the request context.

API Gateway hands every context value over as a string. The authorizer's answer is cached for a
while, so expiry and age are checked again here, with the handler's own clock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from custody.domain.model import Principal
from custody.errors import Unauthenticated

LEEWAY = timedelta(seconds=30)


def principal_to_context(principal: Principal) -> dict[str, str]:
    """What the authorizer returns as context: strings only. The inverse of the reader below."""
    assert principal.issued_at is not None
    assert principal.expires_at is not None
    return {
        "subject": principal.subject,
        "tenant": principal.tenant,
        "groups": json.dumps(sorted(principal.groups)),
        "scope": " ".join(sorted(principal.scopes)),
        "issued_at": str(int(principal.issued_at.timestamp())),
        "expires_at": str(int(principal.expires_at.timestamp())),
    }


def _moment(context: Mapping[str, object], name: str) -> datetime:
    return datetime.fromtimestamp(int(str(context[name])), UTC)


def principal_from_context(context: Mapping[str, object]) -> Principal:
    """Raises Unauthenticated(token-invalid) when the context is not the authorizer's."""
    try:
        groups = json.loads(str(context["groups"]))
        if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
            raise ValueError("groups")
        principal = Principal(
            subject=str(context["subject"]),
            tenant=str(context["tenant"]),
            groups=frozenset(groups),
            scopes=frozenset(str(context["scope"]).split()),
            issued_at=_moment(context, "issued_at"),
            expires_at=_moment(context, "expires_at"),
        )
    except (KeyError, ValueError, OverflowError, OSError):
        raise Unauthenticated(
            "The request carries no verified caller.", code="token-invalid"
        ) from None
    if not principal.subject or not principal.tenant:
        raise Unauthenticated("The request carries no verified caller.", code="token-invalid")
    return principal


def principal_from_event(
    event: Mapping[str, object], *, now: datetime, max_age: timedelta
) -> Principal:
    """The verified caller of one request.

    Raises Unauthenticated(token-missing | token-invalid | token-expired).
    """
    request_context = event.get("requestContext")
    context = request_context.get("authorizer") if isinstance(request_context, Mapping) else None
    if not isinstance(context, Mapping) or not context:
        raise Unauthenticated("A bearer token is needed.", code="token-missing")
    principal = principal_from_context(context)
    assert principal.issued_at is not None
    assert principal.expires_at is not None
    if principal.expires_at <= now:
        raise Unauthenticated("The token has expired.", code="token-expired")
    if principal.issued_at < now - max_age:
        raise Unauthenticated("The token is older than this service accepts.", code="token-expired")
    if principal.issued_at > now + LEEWAY:
        raise Unauthenticated("The token was issued in the future.", code="token-invalid")
    return principal
