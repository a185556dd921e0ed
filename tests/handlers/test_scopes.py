"""What an endpoint declares is what its use case asks for, before anything is read or written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from custody.bootstrap import Service
from custody.domain.model import Scope
from custody.http import Endpoint
from custody_memory.ports import FixedLimits
from tests.support.functions import ROOT, event, load
from tests.support.ingest_world import FakeClock

# One event of each endpoint that is refused for nothing but its scopes.
EVENTS = {
    "POST /documents": "documents/put",
    "GET /documents": "documents/list",
    "GET /documents/{id}": "documents/show",
    "GET /documents/{id}/provenance": "documents/provenance",
    "PUT /documents/{id}/acl": "documents/put-acl",
    "DELETE /documents/{id}": "erase/erase",
    "POST /uploads": "documents/upload",
    "GET /drops": "documents/drops",
    "GET /erasures/{id}": "erase/erasure",
    "PUT /sources/{id}": "govern/put-source",
    "GET /sources": "govern/list-sources",
    "POST /search": "query/search",
    "POST /answers": "gate/answer",
    "GET /answers/{id}": "gate/unknown-answer",
}
ANYONE = {"GET /drops", "GET /erasures/{id}"}
ALL = frozenset(Scope)


def endpoints() -> dict[str, Endpoint[Service]]:
    found = {}
    for path in sorted((ROOT / "functions").glob("*/app.py")):
        api = getattr(load(path.parent.name), "api", None)
        for endpoint in api.endpoints if api is not None else ():
            if not endpoint.anonymous:
                found[f"{endpoint.method} {endpoint.path}"] = endpoint
    return found


ENDPOINTS = endpoints()
GUARDED = [name for name, endpoint in ENDPOINTS.items() if endpoint.scopes]
REPEATABLE = [name for name in GUARDED if "Idempotency-Key" in ENDPOINTS[name].headers]
CHOICES = [(name, scope) for name in GUARDED for scope in ENDPOINTS[name].scopes]


class Touched(Exception):
    """A port was called."""


class Untouchable:
    """Any port. ``calls`` names what was asked of it."""

    def __init__(self, calls: list[str]) -> None:
        self._calls = calls

    def __getattr__(self, name: str) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            self._calls.append(name)
            raise Touched(name)

        return call


class UntouchablePorts:
    """``idempotency`` alone does what it does, where a test gives one."""

    def __init__(self, idempotency: Remembered | None = None) -> None:
        self.calls: list[str] = []
        self.clock = FakeClock()
        self.idempotency = idempotency or Untouchable(self.calls)

    def __getattr__(self, name: str) -> Any:
        return Untouchable(self.calls)

    def jobs(self, *kinds: str) -> Any:
        return Untouchable(self.calls)


class Remembered:
    """Every call was answered before."""

    def once(self, attempt: object, action: object) -> dict[str, object]:
        return {"status": 201, "headers": {}, "body": {"secret": "the first answer"}}


def ask(
    name: str, ports: Any, scopes: frozenset[Scope], headers: dict[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    function, _ = EVENTS[name].split("/")
    given = event(EVENTS[name])
    assert f"{given['httpMethod']} {given['resource']}" == name
    given["requestContext"]["authorizer"]["scope"] = " ".join(sorted(scopes))
    given["headers"] |= headers or {}
    service = Service(ports, FixedLimits())
    response = load(function).api.handler(lambda: service)(given, None)
    return response["statusCode"], json.loads(response["body"])


def test_each_endpoint_has_its_event() -> None:
    assert set(EVENTS) == set(ENDPOINTS)
    assert {name for name in ENDPOINTS if name not in GUARDED} == ANYONE


@pytest.mark.parametrize("name", GUARDED)
def test_without_a_declared_scope_the_use_case_refuses_and_nothing_is_touched(name: str) -> None:
    ports = UntouchablePorts()
    status, body = ask(name, ports, ALL - set(ENDPOINTS[name].scopes))
    assert (status, body["code"]) == (403, "scope-missing")
    assert ports.calls == []


@pytest.mark.parametrize(("name", "scope"), CHOICES)
def test_each_declared_scope_suffices(name: str, scope: Scope) -> None:
    ports = UntouchablePorts()
    ask(name, ports, frozenset({scope}))
    assert ports.calls


@pytest.mark.parametrize("name", sorted(ANYONE))
def test_any_verified_caller_may_ask_where_no_scope_is_declared(name: str) -> None:
    ports = UntouchablePorts()
    ask(name, ports, frozenset())
    assert ports.calls


@pytest.mark.parametrize("name", REPEATABLE)
def test_a_first_answer_is_not_told_again_without_a_declared_scope(name: str) -> None:
    ports = UntouchablePorts(Remembered())
    scopes = frozenset(ENDPOINTS[name].scopes)
    key = {"Idempotency-Key": "k"}
    assert ask(name, ports, scopes, key) == (201, {"secret": "the first answer"})
    status, body = ask(name, ports, ALL - scopes, key)
    assert (status, body["code"]) == (403, "scope-missing")
    assert "secret" not in body


def test_what_repeats_is_what_changes_something() -> None:
    assert {name.split()[0] for name in REPEATABLE} == {"POST", "PUT", "DELETE"}
