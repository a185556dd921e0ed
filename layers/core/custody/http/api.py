"""One function's routes, and the handler that serves them.

The same table is what the OpenAPI document is generated from, so a route can't be served without
being described.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol
from urllib.parse import unquote

from aws_lambda_powertools import Logger
from pydantic import BaseModel, ValidationError

from custody import counts
from custody.application.ports import Clock
from custody.domain.model import Principal, Scope
from custody.errors import BadRequest, CustodyError, NotFound, Unauthenticated, Unprocessable
from custody.http.body import MAX_BODY_BYTES, body_bytes, invalid, parse_body
from custody.http.principal import principal_from_event, require
from custody.http.problem import PROBLEM_TYPE, problem

type Event = Mapping[str, Any]
type Response = dict[str, object]

_RETRY_AFTER = {503: "5"}
MAX_REPLY_BYTES = 6 * 1024 * 1024


class Edge(Protocol):
    """What every handler needs of the service: the time, and how old a token may be."""

    @property
    def clock(self) -> Clock: ...
    @property
    def max_token_age(self) -> timedelta: ...


@dataclass(frozen=True, slots=True)
class Request[B, Q]:
    """One parsed request. ``body`` and ``query`` are the route's models (None without one).

    ``body_sha256``: of the body's exact bytes, for idempotency.
    """

    method: str
    path: str
    parameters: Mapping[str, str]
    headers: Mapping[str, str]
    body: B
    query: Q
    body_sha256: str
    trace_id: str
    now: datetime
    caller: Principal | None

    @property
    def principal(self) -> Principal:
        if self.caller is None:
            raise Unauthenticated("A bearer token is needed.", code="token-missing")
        return self.caller

    def header(self, name: str) -> str | None:
        """Case-insensitive: API Gateway keeps the client's spelling, others lower it."""
        return self.headers.get(name.lower())


@dataclass(frozen=True, slots=True)
class Reply:
    """``body``: a model, or a JSON-compatible mapping. ``counts``: metrics, name to count."""

    body: BaseModel | Mapping[str, object] | None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)


type Call[S] = Callable[[S, Request[Any, Any]], Reply]


@dataclass(frozen=True, slots=True)
class Route[S: Edge]:
    """``scope`` None with ``anonymous`` False: any verified caller. ``replies``: status to model.

    ``headers``: request headers that the route reads, name to whether it is required.
    """

    method: str
    path: str
    scope: Scope | None
    summary: str
    request: type[BaseModel] | None
    query: type[BaseModel] | None
    replies: Mapping[int, type[BaseModel]]
    headers: Mapping[str, bool]
    anonymous: bool
    call: Call[S]

    def match(self, path: str) -> dict[str, str] | None:
        """Path parameters, or None where ``path`` is another route's."""
        wanted, given = self.path.split("/"), path.split("/")
        if len(wanted) != len(given):
            return None
        found: dict[str, str] = {}
        for want, have in zip(wanted, given, strict=True):
            if want.startswith("{"):
                found[want[1:-1]] = have
            elif want != have:
                return None
        return found


class Api[S: Edge]:
    """The route table of one function. A route is called with the service ``S`` and the request."""

    def __init__(self, function: str) -> None:
        self.function = function
        self.routes: list[Route[S]] = []

    def route(
        self,
        method: str,
        path: str,
        *,
        scope: Scope | None,
        summary: str,
        replies: Mapping[int, type[BaseModel]],
        request: type[BaseModel] | None = None,
        query: type[BaseModel] | None = None,
        headers: Mapping[str, bool] | None = None,
        anonymous: bool = False,
    ) -> Callable[[Call[S]], Call[S]]:
        def register(call: Call[S]) -> Call[S]:
            self.routes.append(
                Route(
                    method, path, scope, summary, request, query, dict(replies),
                    dict(headers or {}), anonymous, call,
                )
            )  # fmt: skip
            return call

        return register

    def handler(self, service: Callable[[], S]) -> Handler[S]:
        """``service`` is called with the first request, not before."""
        return Handler(self, service)


class Handler[S: Edge]:
    """The Lambda handler of one function: always a well-formed proxy reply, never an exception."""

    def __init__(self, api: Api[S], service: Callable[[], S]) -> None:
        self._api = api
        self._service = service
        self._logger = Logger(service=api.function, level="INFO")

    def __call__(self, event: Event, context: object) -> Response:
        trace_id = _trace_id(event, context)
        label = f"{event.get('httpMethod', '?')} {event.get('resource', '?')}"
        try:
            reply = self._answer(event, trace_id)
            response = _proxy(reply, trace_id)
        except CustodyError as error:
            log = self._logger.exception if error.status >= 500 else self._logger.info
            log("refused", extra={"trace_id": trace_id, "route": label, "code": error.code})
            return _problem(error, trace_id)
        except Exception:
            self._logger.exception("failed", extra={"trace_id": trace_id, "route": label})
            return _problem(None, trace_id)
        self._logger.info(
            "served", extra={"trace_id": trace_id, "route": label, "status": reply.status}
        )
        counts.emit(self._api.function, reply.counts)
        return response

    def _find(self, event: Event) -> tuple[Route[S], dict[str, str]]:
        method = event.get("httpMethod")
        resource, path = str(event.get("resource", "")), str(event.get("path", ""))
        given = event.get("pathParameters") or {}
        for route in self._api.routes:
            if route.method != method:
                continue
            if route.path == resource:
                # A caller's client may escape a colon; an id never holds a percent sign.
                return route, {name: unquote(str(value)) for name, value in given.items()}
            matched = route.match(path)
            if matched is not None:
                return route, {name: unquote(value) for name, value in matched.items()}
        raise NotFound("There is no such route.", code="not-found")

    def _answer(self, event: Event, trace_id: str) -> Reply:
        route, parameters = self._find(event)
        service = self._service()
        now = service.clock.now()
        caller = None
        if not route.anonymous:
            caller = principal_from_event(event, now=now, max_age=service.max_token_age)
            if route.scope is not None:
                require(caller, route.scope)
        raw = body_bytes(
            event.get("body"), is_base64=bool(event.get("isBase64Encoded")), limit=MAX_BODY_BYTES
        )
        if route.request is None and raw.strip():
            raise BadRequest("This route takes no body.", code="unexpected-body")
        return route.call(
            service,
            Request(
                method=route.method,
                path=route.path,
                parameters=parameters,
                headers=_headers(event),
                body=parse_body(route.request, raw) if route.request else None,
                query=_query(route.query, event),
                body_sha256=hashlib.sha256(raw).hexdigest(),
                trace_id=trace_id,
                now=now,
                caller=caller,
            ),
        )


def _trace_id(event: Event, context: object) -> str:
    request_context = event.get("requestContext")
    given = request_context.get("requestId") if isinstance(request_context, Mapping) else None
    return str(given or getattr(context, "aws_request_id", None) or "unknown")[:128]


def _headers(event: Event) -> dict[str, str]:
    found = {str(k).lower(): str(v) for k, v in (event.get("headers") or {}).items()}
    for name, values in (event.get("multiValueHeaders") or {}).items():
        if values:
            found.setdefault(str(name).lower(), str(values[-1]))
    return found


def _query(model: type[BaseModel] | None, event: Event) -> BaseModel | None:
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


def _json(body: BaseModel | Mapping[str, object] | None) -> str:
    if body is None:
        return ""
    if isinstance(body, BaseModel):
        return body.model_dump_json()
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _proxy(reply: Reply, trace_id: str) -> Response:
    body = _json(reply.body)
    if len(body.encode("utf-8")) > MAX_REPLY_BYTES:
        raise Unprocessable(
            "The reply would be larger than the service may send; ask for fewer results.",
            code="reply-too-large",
        )
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    headers |= {"x-trace-id": trace_id} | dict(reply.headers)
    return {
        "statusCode": reply.status,
        "headers": headers,
        "body": body,
        "isBase64Encoded": False,
    }


def _problem(error: CustodyError | None, trace_id: str) -> Response:
    told = problem(error, trace_id)
    status = told["status"]
    assert isinstance(status, int)
    headers = {
        "content-type": PROBLEM_TYPE,
        "cache-control": "no-store",
        "x-trace-id": trace_id,
    }
    if status in _RETRY_AFTER:
        headers["retry-after"] = _RETRY_AFTER[status]
    return {
        "statusCode": status,
        "headers": headers,
        "body": json.dumps(told, separators=(",", ":")),
        "isBase64Encoded": False,
    }
