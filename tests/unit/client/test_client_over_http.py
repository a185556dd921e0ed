"""The client against a real socket: retries, time-outs, uploads, pages."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from custody_client import Client, CustodyApiError, CustodyUnreachableError
from tests.support.fake_api import FakeApi, Scripted, problem


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as server:
        yield server


@pytest.fixture
def client(api: FakeApi) -> Iterator[Client]:
    with Client(api.url, "t", timeout=5) as opened:
        yield opened


def later(status: int, seconds: str) -> Scripted:
    told = problem(status, "throttled" if status == 429 else "index-unavailable")
    return Scripted(told.status, told.body, {**told.headers, "retry-after": seconds})


def test_a_retry_waits_as_long_as_the_service_says_and_keeps_its_key(
    api: FakeApi, client: Client
) -> None:
    client.put_source("s", trust_domain="d", writers=["user:u"])
    api.scripted.extend([later(429, "1"), later(503, "0")])
    started = time.monotonic()
    stored = client.put_document("a", "s", "hello", "text/plain")
    assert time.monotonic() - started >= 1.0
    assert stored["state"] == "ACTIVE"
    keys = [seen.headers["idempotency-key"] for seen in api.calls("POST", "/v1/documents")]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_retries_end_with_the_service_s_own_error(api: FakeApi) -> None:
    api.scripted.extend([later(503, "0")] * 10)
    with Client(api.url, "t", attempts=3) as client, pytest.raises(CustodyApiError) as raised:
        client.search("anything")
    assert raised.value.code == "index-unavailable"
    assert len(api.seen) == 3


def test_a_wait_of_minutes_is_left_to_the_caller(api: FakeApi, client: Client) -> None:
    api.scripted.append(later(429, "600"))
    with pytest.raises(CustodyApiError) as raised:
        client.search("anything")
    assert raised.value.retry_after == 600
    assert len(api.seen) == 1


@pytest.mark.parametrize("status", [400, 409, 500, 502, 504])
def test_other_failures_are_not_repeated(api: FakeApi, client: Client, status: int) -> None:
    api.scripted.append(problem(status, "no"))
    with pytest.raises(CustodyApiError):
        client.search("anything")
    assert len(api.seen) == 1


def test_a_slow_service_is_a_time_out(api: FakeApi) -> None:
    api.scripted.append(Scripted(200, {}, delay=1.0))
    with (
        Client(api.url, "t", timeout=0.2) as client,
        pytest.raises(CustodyUnreachableError) as raised,
    ):
        client.list_sources()
    assert raised.value.timed_out


def test_nobody_listening_is_unreachable_and_no_time_out() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: nobody else takes the port
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with Client(address, "t") as client, pytest.raises(CustodyUnreachableError) as raised:
            client.list_sources()
    assert not raised.value.timed_out


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Client(api.url, "t") as client:
        assert client.list_sources()["sources"] == []


def test_an_upload_sends_exactly_the_ticket_s_headers_and_never_the_token(
    api: FakeApi, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "big.txt"
    file.write_text("sluice " * 1000)
    client.put_source("s", trust_domain="d", writers=["user:u"])
    client.upload_file(file, "s", name="folder/big.txt")
    (put,) = api.calls("PUT", "/upload/s/folder/big.txt")
    assert "authorization" not in put.headers
    assert put.headers["content-type"] == "text/plain"
    assert put.headers["content-length"] == str(file.stat().st_size)
    assert put.body == file.read_bytes()
    assert client.wait_for_drop("folder/big.txt", "s")["state"] == "ACTIVE"


def test_a_refused_upload_is_an_error(api: FakeApi, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    ticket = {"url": f"{api.origin}/nowhere", "headers": {}}
    api.scripted.extend([Scripted(201, ticket), Scripted(403, b"<Error/>")])
    with pytest.raises(CustodyApiError) as raised:
        client.upload_file(file, "s")
    assert raised.value.code == "upload-refused"


def test_every_page_of_documents_is_read(api: FakeApi, client: Client) -> None:
    client.put_source("s", trust_domain="d", writers=["user:u"])
    for number in range(5):
        client.put_document(f"d{number}", "s", f"text {number}", "text/plain")
    assert [one["document_id"] for one in client.iter_documents()] == [f"d{n}" for n in range(5)]


def test_a_document_s_life_from_source_to_erasure(api: FakeApi, client: Client) -> None:
    client.put_source("s", trust_domain="d", writers=["user:u"])
    client.put_document("a", "s", "the sluice gate", "text/plain", title="Gate")
    assert client.put_document("a", "s", "the sluice gate", "text/plain")["unchanged"]
    (found,) = client.search("sluice")["results"]
    assert found["provenance"]["outcome"] == "VERIFIED"
    assert client.provenance("a")["envelope"]["payloadType"] == "application/vnd.in-toto+json"
    answer = client.answer("sluice")
    assert client.get_answer(answer["answer_id"])["gate"]["verdict"] == "answerable"
    erasure = client.delete_document("a", "asked for")
    assert client.wait_for_erasure(erasure["erasure_id"])["artifacts"][0]["level"] == "deleted"
    with pytest.raises(CustodyApiError) as raised:
        client.get_document("a")
    assert raised.value.status == 404


def test_what_governs_from_a_source_to_a_policy(api: FakeApi, client: Client) -> None:
    client.put_source("s", trust_domain="d", writers=["user:u"])
    assert client.quarantine_source("s", "bad")["state"] == "QUARANTINED"
    assert client.release_source("s")["state"] == "ACTIVE"
    with pytest.raises(CustodyApiError) as raised:
        client.retire_key("key-1", "old")
    assert raised.value.code == "last-active-key"
    assert client.retire_key("key-1", "old", force=True)["state"] == "RETIRED"
    assert client.revoke_key("key-1", "leaked", force=True)["state"] == "REVOKED"
    listed = client.keys()
    assert [key["state"] for key in listed] == ["REVOKED", "ACTIVE"]
    assert client.cut_principal("ann", "left")["subject"] == "ann"
    first, second = (client.sign_policy("gate", {"version": version}) for version in "12")
    for signed in (first, second):
        assert client.activate_policy("gate", signed["digest"])["since"] is not None
    assert client.policy("gate")["digest"] == second["digest"]
    changes = client.policy_history("gate")["changes"]
    assert [change["version"] for change in changes] == ["2", "1", None]
    assert client.roll_back_policy("gate")["digest"] == first["digest"]
