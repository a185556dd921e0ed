"""API Gateway's proxy event, and the reply that it expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from custody.errors import CustodyError, Unprocessable
from custody.http.body import invalid
from custody.http.problem import PROBLEM_TYPE, problem

type Event = Mapping[str, Any]
type Response = dict[str, object]

MAX_REPLY_BYTES = 6 * 1024 * 1024
_RETRY_AFTER = {503: "5"}


def trace_id_of(event: Event, context: object) -> str:
    request_context = event.get("requestContext")
    given = request_context.get("requestId") if isinstance(request_context, Mapping) else None
    return str(given or getattr(context, "aws_request_id", None) or "unknown")[:128]


def headers_of(event: Event) -> dict[str, str]:
    """By lower-case name; the last of several values."""
    found = {str(k).lower(): str(v) for k, v in (event.get("headers") or {}).items()}
    for name, values in (event.get("multiValueHeaders") or {}).items():
        if values:
            found.setdefault(str(name).lower(), str(values[-1]))
    return found


def query_of(event: Event, model: type[BaseModel] | None) -> BaseModel | None:
    """Raises Unprocessable(invalid-field | unknown-field)."""
    many = event.get("multiValueQueryStringParameters") or {}
    values: dict[str, object] = dict(event.get("queryStringParameters") or {})
    for name, given in many.items():
        if len(given) > 1:
            raise Unprocessable(
                "This parameter stands more than once.", code="invalid-field", field=str(name)
            )
        values.setdefault(name, given[0])
    if model is None:
        if values:
            raise Unprocessable(
                "This parameter is not known.", code="unknown-field", field=min(values)
            )
        return None
    try:
        # Query parameters are text, so "10" may be a number here and nowhere else.
        return model.model_validate_strings(values, strict=False)
    except ValidationError as error:
        raise invalid(error, values) from None


def reply_response(
    body: BaseModel, status: int, headers: Mapping[str, str], trace_id: str
) -> Response:
    """Raises Unprocessable(reply-too-large)."""
    text = body.model_dump_json(exclude_unset=True)
    if len(text.encode("utf-8")) > MAX_REPLY_BYTES:
        raise Unprocessable(
            "The reply would be larger than the service may send; ask for fewer results.",
            code="reply-too-large",
        )
    return _response(text, status, {"content-type": "application/json"}, headers, trace_id)


def problem_response(error: CustodyError | None, trace_id: str) -> Response:
    told = problem(error, trace_id)
    after = _RETRY_AFTER.get(told.status)
    return _response(
        told.model_dump_json(),
        told.status,
        {"content-type": PROBLEM_TYPE},
        {} if after is None else {"retry-after": after},
        trace_id,
    )


def _response(
    text: str, status: int, kind: Mapping[str, str], more: Mapping[str, str], trace_id: str
) -> Response:
    return {
        "statusCode": status,
        "headers": {**kind, "cache-control": "no-store", "x-trace-id": trace_id, **more},
        "body": text,
        "isBase64Encoded": False,
    }
