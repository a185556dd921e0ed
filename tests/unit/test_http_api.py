from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from custody.application.idempotency import Call, Idempotency, StoredReply
from custody.domain.intake.validation import ANY_REVISION
from custody.domain.model import Principal, Scope
from custody.errors import ConfigurationError, Unavailable
from custody.http import Api, Handler, Reply, Request
from custody.http.idempotent import if_match, once
from custody.http.principal import principal_from_context, principal_to_context
from custody.http.schemas.common import Schema

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


class FixedClock:
    def now(self) -> datetime:
        return NOW


class Thing(Schema):
    name: str


class Paging(Schema):
    limit: int = 10


class Told(Schema):
    """Only what is set is told."""

    id: str = ""
    key: str | None = None
    limit: int = 0
    subject: str = ""
    score: float = 0.0
    revision: int | None = None


@dataclass(frozen=True)
class Service:
    clock: FixedClock = field(default_factory=FixedClock)
    max_token_age: timedelta = timedelta(hours=1)


@dataclass(frozen=True)
class Remembering:
    idempotency: Idempotency

    def check_token(self, principal: Principal) -> None:
        """Nobody's access was cut."""


def build(
    call: Any = None, service: Callable[[], Service] | None = None, **options: Any
) -> Handler[Service]:
    api = Api[Service]("example")
    api.endpoint(
        "POST", "/things/{id}", scopes=(Scope.WRITE,), summary="Make", request=Thing,
        query=Paging, replies={200: Told, 201: Told}, **options,
    )(call or (lambda _, request: Reply(Told(id=request.parameters["id"]), status=201)))  # fmt: skip
    api.endpoint("GET", "/things", summary="List", replies={200: Told})(
        lambda _, request: Reply(Told(subject=request.principal.subject))
    )
    return api.handler(service or Service)


def principal(**changes: Any) -> Principal:
    values: dict[str, Any] = {
        "subject": "ann",
        "tenant": "acme",
        "groups": frozenset({"staff", 'a "quoted", group'}),
        "scopes": frozenset({"custody/write"}),
        "issued_at": NOW - timedelta(minutes=1),
        "expires_at": NOW + timedelta(minutes=5),
    }
    return Principal(**(values | changes))


def event(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "httpMethod": "POST",
        "resource": "/things/{id}",
        "path": "/things/a",
        "pathParameters": {"id": "a"},
        "headers": {"Content-Type": "application/json", "IDEMPOTENCY-key": "k"},
        "queryStringParameters": None,
        "body": '{"name": "x"}',
        "isBase64Encoded": False,
        "requestContext": {
            "requestId": "req-1",
            "authorizer": {"principalId": "ann", **principal_to_context(principal())},
        },
    }
    return base | changes


def call(handler: Handler[Service], given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    response = handler(given, None)
    json.dumps(response)
    assert set(response) == {"statusCode", "headers", "body", "isBase64Encoded"}
    assert isinstance(response["body"], str)
    status = response["statusCode"]
    assert isinstance(status, int)
    body = json.loads(response["body"])
    headers = response["headers"]
    assert isinstance(headers, dict)
    assert headers.get("cache-control") == "no-store"
    if status >= 400:
        assert headers["content-type"] == "application/problem+json"
        assert set(body) == {"type", "title", "status", "detail", "code", "field", "trace_id"}
        assert body["trace_id"] == "req-1"
        assert body["status"] == status
    return status, body


def test_a_context_of_strings_gives_back_the_principal() -> None:
    context = principal_to_context(principal())
    assert all(isinstance(value, str) for value in context.values())
    assert principal_from_context(context) == principal()


def test_an_endpoint_is_served_with_its_parameters_unescaped() -> None:
    given = event(pathParameters={"id": "a%3Ab"}, path="/things/a%3Ab")
    assert call(build(), given) == (201, {"id": "a:b"})


def test_an_endpoint_is_found_by_path_where_the_resource_is_not_told() -> None:
    assert call(build(), event(resource="/{proxy+}", path="/things/z"))[1] == {"id": "z"}


def test_headers_are_looked_up_without_case() -> None:
    def reply(_: Service, request: Request[Thing, Paging]) -> Reply:
        return Reply(Told(key=request.header("Idempotency-Key")))

    assert call(build(reply), event())[1] == {"key": "k"}


def test_no_caller_is_401() -> None:
    contexts: tuple[dict[str, object], ...] = ({}, {"authorizer": None}, {"authorizer": {}})
    for context in contexts:
        status, body = call(build(), event(requestContext={"requestId": "req-1"} | context))
        assert (status, body.get("code")) == (401, "token-missing")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"expires_at": NOW}, "token-expired"),
        ({"issued_at": NOW - timedelta(hours=1, seconds=1)}, "token-expired"),
        ({"issued_at": NOW + timedelta(minutes=2)}, "token-invalid"),
        ({"tenant": ""}, "token-invalid"),
        ({"subject": ""}, "token-invalid"),
    ],
)
def test_what_the_cached_authorizer_let_through_is_checked_again(
    changes: dict[str, Any], code: str
) -> None:
    context = principal_to_context(principal(**changes))
    given = event(requestContext={"requestId": "req-1", "authorizer": context})
    status, body = call(build(), given)
    assert (status, body.get("code")) == (401, code)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, None) for name in principal_to_context(principal())]
    + [
        (name, bad) for name in ("groups", "issued_at", "expires_at") for bad in ("{", '"x"', "[1]")
    ],
)
def test_a_broken_context_is_401(name: str, value: str | None) -> None:
    context: dict[str, object] = dict(principal_to_context(principal()))
    if value is None:
        del context[name]
    else:
        context[name] = value
    given = event(requestContext={"requestId": "req-1", "authorizer": context})
    assert call(build(), given)[0] == 401


def test_what_no_utf_8_can_hold_is_a_problem_like_any_other() -> None:
    status, body = call(build(), event(body='{"\\ud800": 1, "\\ud800": 2}'))
    assert (status, body.get("code"), body["field"]) == (400, "malformed-json", "\\ud800")


def test_an_unknown_endpoint_or_method_is_404() -> None:
    for changes in ({"resource": "/x", "path": "/x"}, {"httpMethod": "PATCH"}):
        assert call(build(), event(**changes))[0] == 404


@pytest.mark.parametrize(
    ("changes", "status", "code", "field"),
    [
        ({"body": "{"}, 400, "malformed-json", None),
        ({"body": None}, 400, "malformed-json", None),
        ({"body": '{"name": "x", "y": 1}'}, 422, "unknown-field", "y"),
        ({"body": '{"name": 1}'}, 422, "invalid-field", "name"),
        ({"body": "x" * (6 * 1024 * 1024 + 1)}, 413, "body-too-large", None),
        ({"queryStringParameters": {"limit": "many"}}, 422, "invalid-field", "limit"),
        ({"queryStringParameters": {"more": "1"}}, 422, "unknown-field", "more"),
        (
            {
                "queryStringParameters": {"limit": "2"},
                "multiValueQueryStringParameters": {"limit": ["1", "2"]},
            },
            422, "invalid-field", "limit",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_a_problem_with_the_field(
    changes: dict[str, Any], status: int, code: str, field: str | None
) -> None:
    got, body = call(build(), event(**changes))
    assert (got, body["code"], body["field"]) == (status, code, field)


def test_a_query_parameter_is_text_that_may_be_a_number() -> None:
    api = build(lambda _, request: Reply(Told(limit=request.query.limit)))
    assert call(api, event(queryStringParameters={"limit": "3"}))[1] == {"limit": 3}


def test_a_base64_body_is_decoded() -> None:
    given = event(body="eyJuYW1lIjogIngifQ==", isBase64Encoded=True)
    assert call(build(), given)[0] == 201


def test_a_body_where_none_is_taken_is_refused() -> None:
    status, body = call(build(), event(httpMethod="GET", resource="/things", path="/things"))
    assert (status, body.get("code")) == (400, "unexpected-body")


def test_a_failure_shows_nothing_of_itself() -> None:
    def fail(_: Service, request: Request[Thing, Paging]) -> Reply:
        raise RuntimeError("secret-password in the message")

    status, body = call(build(fail), event())
    assert (status, body.get("code")) == (500, "internal")
    assert "secret" not in json.dumps(body)


def test_an_outage_is_503_with_its_code_and_when_to_come_back() -> None:
    def fail(_: Service, request: Request[Thing, Paging]) -> Reply:
        raise Unavailable("The index did not answer.", code="index-unavailable")

    response = build(fail)(event(), None)
    assert response["statusCode"] == 503
    headers = response["headers"]
    assert isinstance(headers, dict)
    assert headers["retry-after"] == "5"


def test_a_broken_deployment_is_an_internal_problem() -> None:
    def broken() -> Service:
        raise ConfigurationError("CUSTODY_MAX_TOKEN_AGE_SECONDS: not a number")

    status, body = call(build(service=broken), event())
    assert (status, body.get("code")) == (500, "internal")
    assert "CUSTODY" not in json.dumps(body)


def test_a_reply_that_is_not_json_is_an_internal_problem() -> None:
    assert call(build(lambda _, request: Reply(Told(score=float("nan")))), event())[0] == 500


class More(Schema):
    id: str = ""


@pytest.mark.parametrize(
    "reply",
    [Reply(Told(), status=202), Reply(More(id="a-secret"), status=201)],
    ids=["status", "model"],
)
def test_a_reply_that_was_not_declared_is_an_internal_problem(
    reply: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    status, body = call(build(lambda _, request: reply), event())
    assert (status, body.get("code")) == (500, "internal")
    assert "undeclared-reply" in caplog.text
    assert "a-secret" not in json.dumps(body) + caplog.text


class Memory:
    """Keeps first answers, as an ``Idempotency`` does."""

    def __init__(self) -> None:
        self.kept: dict[str, StoredReply] = {}

    def once(self, call: Call, action: Callable[[], StoredReply]) -> StoredReply:
        if call.key not in self.kept:
            self.kept[call.key] = action()
        return self.kept[call.key]


def test_an_undeclared_reply_is_not_kept_and_what_was_kept_is_told_again_as_it_was() -> None:
    memory = Memory()
    replies = [Reply(Told(id="first"), status=202), Reply(Told(id="second"), status=201)]

    def answer(_: Service, request: Request[Thing, Paging]) -> Reply:
        return once(Remembering(memory), request, lambda: replies.pop(0))

    handler = build(answer)
    assert call(handler, event())[0] == 500
    assert call(handler, event()) == (201, {"id": "second"})
    assert call(handler, event()) == (201, {"id": "second"})
    (key,) = memory.kept
    memory.kept[key] = {
        "status": 203,
        "headers": {},
        "body": {"earlier": True},
        "scopes": [],
    }
    assert call(handler, event()) == (203, {"earlier": True})


def test_counts_are_written_as_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    api = build(lambda _, request: Reply(Told(), counts={"Served": 2, "Search_ms": 1.5}))
    assert call(api, event())[0] == 200
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    metric = next(line for line in lines if "_aws" in line)
    assert metric["Served"] == [2.0]
    assert metric["function"] == "example"


@pytest.mark.parametrize(
    ("header", "revision"),
    [(None, None), ('"7"', 7), ("7", 7), ('W/"7"', 7), (' "7" ', 7), ("*", ANY_REVISION)],
)
def test_if_match_is_read(header: str | None, revision: int | None) -> None:
    seen: list[int | None] = []

    def call(_: Service, request: Request[Any, Any]) -> Reply:
        seen.append(if_match(request))
        return Reply(Told(), status=201)

    headers = {} if header is None else {"If-Match": header}
    assert build(call)(event(headers=headers), None)["statusCode"] == 201
    assert seen == [revision]


@pytest.mark.parametrize("header", ["", "latest", '"1", "2"', "-1", '"1'])
def test_an_if_match_that_is_no_revision_of_ours_is_refused(header: str) -> None:
    api = build(lambda _, request: Reply(Told(revision=if_match(request)), status=201))
    response = api(event(headers={"If-Match": header}), None)
    assert response["statusCode"] == 422
    assert json.loads(str(response["body"]))["field"] == "If-Match"
