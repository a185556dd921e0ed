"""What the client sends and what it makes of replies, over an in-memory transport."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import httpx2
import pytest

from custody_client import (
    Client,
    CustodyApiError,
    CustodyClientError,
    CustodyTimeoutError,
    CustodyUnreachableError,
)
from custody_client.transport import backoff, retry_after_seconds
from custody_client.waiting import Waiter

BASE = "https://custody.example/v1"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Recorder:
    """A transport that answers by a function and keeps the requests."""

    def __init__(self, reply: Callable[[httpx2.Request], httpx2.Response]) -> None:
        self.requests: list[httpx2.Request] = []
        self._reply = reply

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        self.requests.append(request)
        return self._reply(request)


def client_for(
    reply: Callable[[httpx2.Request], httpx2.Response] | None = None,
    *,
    token: str | Callable[[], str] | None = "secret-token",
    waiter: Waiter | None = None,
) -> tuple[Client, Recorder]:
    recorder = Recorder(reply or (lambda request: httpx2.Response(200, json={})))
    transport = httpx2.MockTransport(recorder)
    return Client(BASE, token, transport=transport, waiter=waiter, attempts=1), recorder


def body_of(request: httpx2.Request) -> dict[str, object]:
    body: dict[str, object] = json.loads(request.content)
    return body


def test_a_document_is_sent_with_only_the_fields_that_were_given() -> None:
    client, sent = client_for()
    client.put_document("a", "notes", "hello", "text/plain")
    assert body_of(sent.requests[0]) == {
        "document_id": "a",
        "source_id": "notes",
        "content": "hello",
        "content_type": "text/plain",
    }


def test_bytes_travel_in_base64_and_times_in_utc() -> None:
    client, sent = client_for()
    here = timezone(timedelta(hours=2))
    client.put_document(
        "a", "notes", b"\x00\xff", "application/pdf",
        acl=["group:x"], valid_from=datetime(2026, 1, 1, 2, tzinfo=here), metadata={"year": 2026},
    )  # fmt: skip
    body = body_of(sent.requests[0])
    assert body["content_base64"] == "AP8="
    assert "content" not in body
    assert body["valid_from"] == "2026-01-01T00:00:00Z"
    assert body["acl"] == {"allow": ["group:x"]}
    assert body["metadata"] == {"year": 2026}


def test_a_replacement_character_is_sent_escaped_so_that_it_is_taken_as_meant() -> None:
    client, sent = client_for()
    client.search("what is \\\ufffd for é")
    assert "\ufffd".encode() not in sent.requests[0].content
    assert "é".encode() in sent.requests[0].content
    assert body_of(sent.requests[0]) == {"query": "what is \\\ufffd for é"}


def test_a_time_without_a_zone_is_refused_before_anything_is_sent() -> None:
    client, sent = client_for()
    with pytest.raises(ValueError, match="time zone"):
        client.put_document("a", "n", "x", "text/plain", valid_from=datetime(2026, 1, 1))  # noqa: DTZ001
    assert sent.requests == []


def test_an_acl_given_as_one_string_is_refused() -> None:
    client, sent = client_for()
    with pytest.raises(TypeError):
        client.put_document("a", "n", "x", "text/plain", acl="group:x")
    assert sent.requests == []


def test_nan_is_refused_before_anything_is_sent() -> None:
    client, sent = client_for()
    with pytest.raises(ValueError, match="not JSON compliant"):
        client.put_document("a", "n", "x", "text/plain", metadata={"score": float("nan")})
    assert sent.requests == []


@pytest.mark.parametrize(
    ("call", "method", "path"),
    [
        (lambda c: c.put_source("s", trust_domain="d", writers=["user:u"]), "PUT", "/sources/s"),
        (lambda c: c.put_document("a", "s", "x", "text/plain"), "POST", "/documents"),
        (lambda c: c.set_acl("a", ["user:u"]), "PUT", "/documents/a/acl"),
        (lambda c: c.delete_document("a", "why"), "DELETE", "/documents/a"),
        (lambda c: c.create_upload("s", "n.pdf", "application/pdf", 5), "POST", "/uploads"),
        (lambda c: c.rebuild_indexes(), "POST", "/indexes/rebuild"),
        (lambda c: c.drop_index("ib-1"), "DELETE", "/indexes/ib-1"),
        (lambda c: c.quarantine_source("s", "why"), "POST", "/sources/s/quarantine"),
        (lambda c: c.release_source("s"), "DELETE", "/sources/s/quarantine"),
        (lambda c: c.retire_key("k", "why"), "POST", "/keys/k/retire"),
        (lambda c: c.revoke_key("k", "why"), "POST", "/keys/k/revoke"),
        (lambda c: c.cut_principal("ann", "why"), "POST", "/principals/cut"),
        (lambda c: c.sign_policy("gate", {}), "POST", "/policies/gate/versions"),
        (lambda c: c.activate_policy("gate", "d"), "POST", "/policies/gate/activate"),
        (lambda c: c.roll_back_policy("gate"), "POST", "/policies/gate/rollback"),
    ],
)
def test_each_state_changing_call_has_an_idempotency_key_of_its_own(
    call: Callable[[Client], object], method: str, path: str
) -> None:
    client, sent = client_for()
    call(client)
    call(client)
    keys = [request.headers["idempotency-key"] for request in sent.requests]
    assert len(set(keys)) == 2
    assert {(r.method, r.url.path) for r in sent.requests} == {(method, "/v1" + path)}


def test_a_given_idempotency_key_and_if_match_are_sent() -> None:
    client, sent = client_for()
    client.set_acl("a", ["user:u"], idempotency_key="mine", if_match='"7"')
    assert sent.requests[0].headers["idempotency-key"] == "mine"
    assert sent.requests[0].headers["if-match"] == '"7"'


@pytest.mark.parametrize(
    ("call", "body"),
    [
        (lambda c: c.quarantine_source("s", "bad"), {"reason": "bad"}),
        (lambda c: c.retire_key("k", "old"), {"reason": "old", "force": False}),
        (lambda c: c.revoke_key("k", "leaked", force=True), {"reason": "leaked", "force": True}),
        (lambda c: c.cut_principal("ann", "left"), {"subject": "ann", "reason": "left"}),
        (
            lambda c: c.cut_principal("ann", "left", not_before=NOW),
            {"subject": "ann", "reason": "left", "not_before": "2026-03-01T12:00:00Z"},
        ),
        (lambda c: c.sign_policy("gate", {"a": 1}), {"document": {"a": 1}}),
        (lambda c: c.activate_policy("gate", "d"), {"digest": "d"}),
    ],
)
def test_a_governors_call_says_just_what_was_given(
    call: Callable[[Client], object], body: dict[str, object]
) -> None:
    client, sent = client_for()
    call(client)
    assert body_of(sent.requests[0]) == body


@pytest.mark.parametrize(
    "call", [lambda c: c.release_source("s"), lambda c: c.roll_back_policy("gate")]
)
def test_a_call_that_takes_no_body_sends_none(call: Callable[[Client], object]) -> None:
    client, sent = client_for()
    call(client)
    assert sent.requests[0].content == b""
    assert "content-type" not in sent.requests[0].headers


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.quarantine_source("s", "w", idempotency_key="mine", if_match='"7"'),
        lambda c: c.release_source("s", idempotency_key="mine", if_match='"7"'),
    ],
)
def test_a_sources_state_is_guarded_as_its_fields_are(call: Callable[[Client], object]) -> None:
    client, sent = client_for()
    call(client)
    headers = sent.requests[0].headers
    assert (headers["idempotency-key"], headers["if-match"]) == ("mine", '"7"')


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.retire_key("..", "w"),
        lambda c: c.revoke_key("a/b", "w"),
        lambda c: c.quarantine_source("", "w"),
        lambda c: c.policy("../keys"),
        lambda c: c.activate_policy(".", "d"),
    ],
)
def test_no_governors_call_leaves_its_path(call: Callable[[Client], object]) -> None:
    client, sent = client_for()
    with pytest.raises(ValueError, match="identifier"):
        call(client)
    assert sent.requests == []


@pytest.mark.parametrize("call", [lambda c: c.search("q"), lambda c: c.answer("q")])
def test_searches_and_answers_have_no_idempotency_key(call: Callable[[Client], object]) -> None:
    client, sent = client_for()
    call(client)
    assert "idempotency-key" not in sent.requests[0].headers


def test_a_drop_id_keeps_its_colon_and_odd_ids_are_escaped() -> None:
    client, sent = client_for()
    client.get_document("notes:abc234")
    client.get_document("a b?c#d")
    assert sent.requests[0].url.raw_path == b"/v1/documents/notes:abc234"
    assert sent.requests[1].url.raw_path == b"/v1/documents/a%20b%3Fc%23d"


@pytest.mark.parametrize("document_id", ["", "..", ".", "a/b", "../sources"])
def test_an_id_that_would_leave_its_path_is_refused(document_id: str) -> None:
    client, sent = client_for()
    with pytest.raises(ValueError, match="identifier"):
        client.get_document(document_id)
    assert sent.requests == []


def test_a_token_function_is_called_for_each_request() -> None:
    tokens = iter(["one", "two"])
    client, sent = client_for(token=lambda: next(tokens))
    client.list_sources()
    client.list_sources()
    assert [r.headers["authorization"] for r in sent.requests] == ["Bearer one", "Bearer two"]


@pytest.mark.parametrize("token", ["", None, "a b", "a\nx: y", "é"])
def test_a_token_that_is_none_is_refused_before_anything_is_sent(token: str | None) -> None:
    client, sent = client_for(token=token)
    with pytest.raises(CustodyClientError):
        client.list_sources()
    assert sent.requests == []


def test_health_sends_no_token_and_tells_an_unhealthy_service() -> None:
    client, sent = client_for(lambda r: httpx2.Response(503, json={"status": "degraded"}))
    assert client.health()["status"] == "degraded"
    assert "authorization" not in sent.requests[0].headers


def test_a_problem_becomes_a_typed_error() -> None:
    told = {"code": "acl-required", "detail": "Give an ACL.", "field": "acl", "trace_id": "t-9"}
    client, _ = client_for(lambda r: httpx2.Response(422, json=told))
    with pytest.raises(CustodyApiError) as raised:
        client.put_document("a", "n", "x", "text/plain")
    error = raised.value
    assert (error.status, error.code, error.field, error.detail, error.trace_id) == (
        422, "acl-required", "acl", "Give an ACL.", "t-9",
    )  # fmt: skip
    assert "secret-token" not in f"{error!r} {error}"


def test_a_gateway_refusal_has_a_code_of_its_status() -> None:
    client, _ = client_for(lambda r: httpx2.Response(401, json={"message": "Unauthorized"}))
    with pytest.raises(CustodyApiError) as raised:
        client.list_sources()
    assert (raised.value.code, raised.value.detail) == ("http-401", "Unauthorized")


@pytest.mark.parametrize("content", [b"<html>hello</html>", b"[1]", b'"x"'])
def test_a_reply_that_is_not_the_apis_is_no_result(content: bytes) -> None:
    client, _ = client_for(lambda r: httpx2.Response(200, content=content))
    with pytest.raises(CustodyUnreachableError, match="Custody API"):
        client.list_sources()


def test_a_redirect_is_not_followed_with_the_token() -> None:
    client, sent = client_for(
        lambda r: httpx2.Response(302, headers={"location": "https://elsewhere.example/"})
    )
    with pytest.raises(CustodyApiError):
        client.list_sources()
    assert len(sent.requests) == 1


def test_search_and_answer_fields_are_sent_as_named() -> None:
    client, sent = client_for()
    client.search("q", k=3, filter={"year": {"gte": 2020}}, source_ids=["s"], rerank=False)
    client.answer("q", threshold=0.4, gate_override=True)
    assert body_of(sent.requests[0]) == {
        "query": "q", "k": 3, "filter": {"year": {"gte": 2020}}, "source_ids": ["s"],
        "rerank": False,
    }  # fmt: skip
    assert body_of(sent.requests[1]) == {"query": "q", "threshold": 0.4, "gate_override": True}


@pytest.mark.parametrize("base", ["ftp://x/v1", "custody.example", "http://"])
def test_an_address_that_is_none_is_refused(base: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        Client(base, "t")


# --- waiting ------------------------------------------------------------------------------------


class Steps:
    """A clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def waiter(self) -> Waiter:
        return Waiter(sleep=self.sleep, monotonic=lambda: self.now)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def drop(state: str, version: str) -> dict[str, object]:
    return {"source_id": "s", "name": "a.md", "state": state, "object_version": version}


def test_a_drop_is_waited_for_through_not_seen_yet_pending_and_an_earlier_upload() -> None:
    replies = iter(
        [
            httpx2.Response(404, json={"code": "not-found"}),
            httpx2.Response(200, json={"drops": [drop("ACTIVE", "v1")]}),
            httpx2.Response(200, json={"drops": [drop("PENDING", "v2")]}),
            httpx2.Response(200, json={"drops": [drop("ACTIVE", "v2")]}),
        ]
    )
    steps = Steps()
    client, sent = client_for(lambda r: next(replies), waiter=steps.waiter())
    found = client.wait_for_drop("a.md", "s", object_version="v2")
    assert found["object_version"] == "v2"
    assert len(sent.requests) == 4
    assert steps.slept == sorted(steps.slept)


def test_a_drop_of_another_source_is_not_ours() -> None:
    client, _ = client_for(lambda r: httpx2.Response(200, json={"drops": [drop("ACTIVE", "v")]}))
    assert client.find_drop("a.md", "other") is None


def test_waiting_ends_with_the_last_state_that_was_seen() -> None:
    steps = Steps()
    receipt = {"erasure_id": "e", "state": "PARTIAL", "artifacts": []}
    client, _ = client_for(lambda r: httpx2.Response(200, json=receipt), waiter=steps.waiter())
    with pytest.raises(CustodyTimeoutError) as raised:
        client.wait_for_erasure("e", timeout=5)
    assert raised.value.last == receipt
    assert steps.now == pytest.approx(5)


def test_waiting_for_a_document_counts_a_later_version_but_not_an_earlier_one() -> None:
    def reply(versions: list[dict[str, object]]) -> httpx2.Response:
        live = {"document_id": "a", "version": 1, "state": "ACTIVE", "versions": versions}
        return httpx2.Response(200, json=live)

    first = {"version": 1, "state": "ACTIVE"}
    replies = iter(
        [
            reply([{"version": 2, "state": "PENDING"}, first]),
            reply([{"version": 2, "state": "REJECTED"}, first]),
        ]
    )
    client, sent = client_for(lambda r: next(replies), waiter=Steps().waiter())
    client.wait_for_document("a", version=2)
    assert len(sent.requests) == 2


def test_a_refusal_ends_the_waiting() -> None:
    client, sent = client_for(lambda r: httpx2.Response(403, json={"code": "scope-missing"}))
    with pytest.raises(CustodyApiError):
        client.wait_for_drop("a.md", "s")
    assert len(sent.requests) == 1


# --- retries ------------------------------------------------------------------------------------


def refusal(status: int, retry_after: float | None = None) -> CustodyApiError:
    return CustodyApiError(status, "c", None, "d", None, retry_after=retry_after)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (refusal(503), True),
        (refusal(429, 2.0), 2.0),
        (refusal(503, 0.0), 0.0),
        (refusal(503, 3600.0), False),
        (refusal(500), False),
        (refusal(502), False),
        (refusal(409), False),
        (CustodyUnreachableError("gone"), False),
        (KeyError("x"), False),
    ],
)
def test_only_429_and_503_are_tried_again_and_never_after_an_hour(
    error: Exception, expected: float | bool
) -> None:
    assert backoff(error) is expected or backoff(error) == expected
    assert isinstance(backoff(error), bool) == isinstance(expected, bool)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("Sun, 01 Mar 2026 12:00:09 GMT", 9.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("-3", None),
        ("1.5", None),
        ("soon", None),
        ("²", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, expected: float | None) -> None:
    assert retry_after_seconds(value, NOW) == expected


def test_importing_the_client_loads_no_http_library() -> None:
    code = "import sys, custody_client; print({'httpx2', 'stamina'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "set()"
