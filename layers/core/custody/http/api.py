"""One function's endpoints, and the handler that serves them.

The same table is what the OpenAPI document is generated from, so an endpoint can't be served
without being described.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol
from urllib.parse import unquote

from aws_lambda_powertools import Logger
from pydantic import BaseModel

from custody import counts
from custody.application.ports import Clock
from custody.domain.model import Principal, Scope
from custody.errors import BadRequest, CustodyError, NotFound, Unauthenticated
from custody.http.body import MAX_BODY_BYTES, body_bytes, parse_body
from custody.http.principal import principal_from_event
from custody.http.proxy import (
    Event,
    Response,
    headers_of,
    problem_response,
    query_of,
    reply_response,
    trace_id_of,
)
from custody.http.reply import Declared, Reply, as_declared


class Edge(Protocol):
    """What every handler needs of the service: the time, and how old a token may be."""

    @property
    def clock(self) -> Clock: ...
    @property
    def max_token_age(self) -> timedelta: ...


@dataclass(frozen=True, slots=True)
class Request[B, Q]:
    """One parsed request. ``body`` and ``query`` are the endpoint's models (None without one).

    ``path``, ``scopes`` and ``replies``: the endpoint's. ``body_sha256``: of the body's exact bytes, for
    idempotency.
    """

    method: str
    path: str
    scopes: tuple[Scope, ...]
    replies: Declared
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


type Serve[S] = Callable[[S, Request[Any, Any]], Reply]


@dataclass(frozen=True, slots=True)
class Endpoint[S: Edge]:
    """``scopes``: one of them suffices; none with ``anonymous`` False: any verified caller. They
    are told here, and checked by the use case. ``replies``: status to model. ``headers``: those
    that the endpoint reads, name to whether it is required.
    """

    method: str
    path: str
    scopes: tuple[Scope, ...]
    summary: str
    request: type[BaseModel] | None
    query: type[BaseModel] | None
    replies: Declared
    headers: Mapping[str, bool]
    anonymous: bool
    call: Serve[S]

    def match(self, path: str) -> dict[str, str] | None:
        """Path parameters, or None where ``path`` is another endpoint's."""
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
    """The endpoints of one function. Each is called with the service ``S`` and the request."""

    def __init__(self, function: str) -> None:
        self.function = function
        self.endpoints: list[Endpoint[S]] = []

    def endpoint(
        self,
        method: str,
        path: str,
        *,
        summary: str,
        replies: Declared,
        scopes: tuple[Scope, ...] = (),
        request: type[BaseModel] | None = None,
        query: type[BaseModel] | None = None,
        headers: Mapping[str, bool] | None = None,
        anonymous: bool = False,
    ) -> Callable[[Serve[S]], Serve[S]]:
        def register(call: Serve[S]) -> Serve[S]:
            self.endpoints.append(
                Endpoint(
                    method, path, scopes, summary, request, query, dict(replies),
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
        trace_id = trace_id_of(event, context)
        label = f"{event.get('httpMethod', '?')} {event.get('resource', '?')}"
        try:
            reply = self._answer(event, trace_id)
            response = reply_response(reply.body, reply.status, reply.headers, trace_id)
        except CustodyError as error:
            log = self._logger.exception if error.status >= 500 else self._logger.info
            log("refused", extra={"trace_id": trace_id, "endpoint": label, "code": error.code})
            return problem_response(error, trace_id)
        except Exception:
            self._logger.exception("failed", extra={"trace_id": trace_id, "endpoint": label})
            return problem_response(None, trace_id)
        self._logger.info(
            "served", extra={"trace_id": trace_id, "endpoint": label, "status": reply.status}
        )
        counts.emit(self._api.function, reply.counts)
        return response

    def _find(self, event: Event) -> tuple[Endpoint[S], dict[str, str]]:
        method = event.get("httpMethod")
        resource, path = str(event.get("resource", "")), str(event.get("path", ""))
        given = event.get("pathParameters") or {}
        for endpoint in self._api.endpoints:
            if endpoint.method != method:
                continue
            if endpoint.path == resource:
                # A caller's client may escape a colon; an id never holds a percent sign.
                return endpoint, {name: unquote(str(value)) for name, value in given.items()}
            matched = endpoint.match(path)
            if matched is not None:
                return endpoint, {name: unquote(value) for name, value in matched.items()}
        raise NotFound("There is no such endpoint.", code="not-found")

    def _answer(self, event: Event, trace_id: str) -> Reply:
        endpoint, parameters = self._find(event)
        service = self._service()
        now = service.clock.now()
        caller = None
        if not endpoint.anonymous:
            caller = principal_from_event(event, now=now, max_age=service.max_token_age)
        raw = body_bytes(
            event.get("body"), is_base64=bool(event.get("isBase64Encoded")), limit=MAX_BODY_BYTES
        )
        if endpoint.request is None and raw.strip():
            raise BadRequest("This endpoint takes no body.", code="unexpected-body")
        reply = endpoint.call(
            service,
            Request(
                method=endpoint.method,
                path=endpoint.path,
                scopes=endpoint.scopes,
                replies=endpoint.replies,
                parameters=parameters,
                headers=headers_of(event),
                body=parse_body(endpoint.request, raw) if endpoint.request else None,
                query=query_of(event, endpoint.query),
                body_sha256=hashlib.sha256(raw).hexdigest(),
                trace_id=trace_id,
                now=now,
                caller=caller,
            ),
        )
        return as_declared(reply, endpoint.replies)
