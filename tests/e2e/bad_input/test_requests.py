"""Every malformed request gets its stable code over HTTP and changes nothing."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.e2e.bad_input.conftest import Canary

pytestmark = pytest.mark.usefixtures("unharmed")

DOCUMENT: dict[str, Any] = {
    "document_id": "intruder",
    "source_id": "wiki",
    "content": "The intruder sings like a canary.",
    "content_type": "text/plain",
}
ZIP = base64.b64encode(b"PK\x03\x04" + b"x" * 100).decode()


def document(**changes: Any) -> bytes:
    body = {k: v for k, v in (DOCUMENT | changes).items() if v is not ...}
    return json.dumps(body).encode()


def search(**fields: Any) -> bytes:
    return json.dumps({"query": "canary"} | fields).encode()


REFUSED: dict[str, tuple[str, str, bytes | None, int, str]] = {
    # --- JSON itself
    "no body": ("POST", "/search", b"", 400, "malformed-json"),
    "half of an object": ("POST", "/search", b'{"query": "canary"', 400, "malformed-json"),
    "no object": ("POST", "/search", b'["canary"]', 400, "malformed-json"),
    "NaN": ("POST", "/answers", b'{"query": "canary", "threshold": NaN}', 400, "malformed-json"),
    "infinite": ("POST", "/answers", b'{"query": "canary", "threshold": 1e999}', 400, "malformed-json"),
    "NaN in metadata": (
        "POST", "/documents",
        document(metadata={"n": 0}).replace(b'"n": 0', b'"n": NaN'), 400, "malformed-json",
    ),
    "a key twice": ("POST", "/search", b'{"query": "a", "query": "b"}', 400, "malformed-json"),
    "33 levels": ("POST", "/search", b'{"query":' + b"[" * 40 + b"]" * 40 + b"}", 400, "malformed-json"),
    "100,000 levels": ("POST", "/search", b"[" * 100_000, 400, "malformed-json"),
    "no UTF-8": ("POST", "/search", b'{"query": "caf\xe9"}', 400, "invalid-utf8"),
    "half a character": ("POST", "/search", b'{"query": "\\ud800"}', 400, "invalid-utf8"),
    "7 MB": ("POST", "/search", search(query="x" * 7_000_000), 413, "body-too-large"),
    # --- types and fields
    "a number for a text": ("POST", "/search", search(query=5), 422, "invalid-field"),
    "null for a text": ("POST", "/search", search(query=None), 422, "invalid-field"),
    "a text for a number": ("POST", "/search", search(k="10"), 422, "invalid-field"),
    "true for a number": ("POST", "/search", search(k=True), 422, "invalid-field"),
    "half a number": ("POST", "/search", search(k=1.5), 422, "invalid-field"),
    "k 0": ("POST", "/search", search(k=0), 422, "invalid-field"),
    "k 101": ("POST", "/search", search(k=101), 422, "invalid-field"),
    "an empty question": ("POST", "/search", search(query=""), 422, "invalid-field"),
    "a blank question": ("POST", "/search", search(query=" \n\t"), 422, "invalid-field"),
    "a long question": ("POST", "/search", search(query="x" * 2_001), 422, "invalid-field"),
    "an unknown field": ("POST", "/search", search(tenant="public"), 422, "unknown-field"),
    "an unknown route": ("POST", "/search", search(route="magic"), 422, "invalid-field"),
    "a route to come": ("POST", "/search", search(route="graph"), 422, "not-available"),
    "time to come": (
        "POST", "/search", search(as_of={"known_at": "2026-01-01T00:00:00Z"}), 422, "not-available",
    ),
    "a filter in a filter": ("POST", "/search", search(filter={"a": {"b": {"gte": 1}}}), 422, "unknown-field"),
    "a filter on a field that nothing has": ("POST", "/search", search(filter={"nowhere": "x"}), 422, "unknown-field"),
    "an answer by a field that nothing has": ("POST", "/answers", search(filter={"nowhere": 1}), 422, "unknown-field"),
    "an empty filter list": ("POST", "/search", search(filter={"a": []}), 422, "invalid-field"),
    "a mixed range": ("POST", "/search", search(filter={"a": {"gte": 1, "lte": "b"}}), 422, "invalid-field"),
    "threshold 2": ("POST", "/answers", search(threshold=2), 422, "invalid-field"),
    "an unknown preset": ("POST", "/answers", search(preset="brave"), 422, "invalid-field"),
    "generation to come": ("POST", "/answers", search(generate=True), 422, "not-available"),
    # --- documents
    "no content": ("POST", "/documents", document(content=...), 422, "invalid-field"),
    "two contents": ("POST", "/documents", document(content_base64="eA=="), 422, "invalid-field"),
    "empty content": ("POST", "/documents", document(content=""), 422, "empty-document"),
    "no base64": ("POST", "/documents", document(content=..., content_base64="%%%"), 422, "invalid-field"),
    "a type that is none": ("POST", "/documents", document(content_type="nonsense"), 422, "invalid-field"),
    "a type not read": ("POST", "/documents", document(content_type="image/png"), 415, "type-not-supported"),
    "a zip that says PDF": (
        "POST", "/documents",
        document(content=..., content_base64=ZIP, content_type="application/pdf"),
        415, "type-mismatch",
    ),
    "an id with a slash": ("POST", "/documents", document(document_id="a/b"), 422, "invalid-field"),
    "an id of dots": ("POST", "/documents", document(document_id=".."), 422, "invalid-field"),
    "an empty id": ("POST", "/documents", document(document_id=""), 422, "invalid-field"),
    "a huge id": ("POST", "/documents", document(document_id="a" * 5_000), 422, "invalid-field"),
    "a drop's id": (
        "POST", "/documents", document(document_id="closed:" + "a" * 26), 422, "reserved-document-id",
    ),
    "an unknown source": ("POST", "/documents", document(source_id="nobody"), 404, "source-not-found"),
    "a control character": ("POST", "/documents", document(title="a\u0007b"), 422, "invalid-field"),
    "a huge title": ("POST", "/documents", document(title="t" * 100_000), 422, "invalid-field"),
    "no zone": ("POST", "/documents", document(valid_from="2026-01-01T00:00:00"), 422, "invalid-field"),
    "no time": ("POST", "/documents", document(valid_from="yesterday"), 422, "invalid-field"),
    "an end before its start": (
        "POST", "/documents",
        document(valid_from="2026-02-01T00:00:00Z", valid_to="2026-01-01T00:00:00Z"),
        422, "invalid-field",
    ),
    "no ACL anywhere": ("POST", "/documents", document(source_id="closed"), 422, "acl-required"),
    "a wide ACL": (
        "POST", "/documents", document(source_id="closed", acl={"allow": ["everyone"]}), 422, "acl-too-wide",
    ),
    "an empty ACL": ("POST", "/documents", document(acl={"allow": []}), 422, "invalid-field"),
    "201 terms": (
        "POST", "/documents",
        document(acl={"allow": [f"group:{n}" for n in range(201)]}), 422, "invalid-field",
    ),
    "another tenant's term": (
        "POST", "/documents", document(acl={"allow": ["tenant:somebody-else"]}), 422, "invalid-field",
    ),
    "17 KB of metadata": ("POST", "/documents", document(metadata={"a": "b" * 17_000}), 422, "invalid-field"),
    "metadata in metadata": ("POST", "/documents", document(metadata={"a": {"b": 1}}), 422, "invalid-field"),
    "metadata that claims trust": ("POST", "/documents", document(trust_domain="official"), 422, "unknown-field"),
    # --- sources, ACLs, erasure, uploads
    "no writers": (
        "PUT", "/sources/new", b'{"trust_domain": "official", "writers": []}', 422, "invalid-field",
    ),
    "isolation to come": (
        "PUT", "/sources/new",
        b'{"trust_domain": "official", "writers": ["group:a"], "isolation": "index"}',
        422, "not-available",
    ),
    "a bad source id": (
        "PUT", "/sources/..%20", b'{"trust_domain": "official", "writers": ["group:a"]}',
        422, "invalid-field",
    ),
    "an ACL of nobody": ("PUT", "/documents/canary/acl", b'{"allow": []}', 422, "invalid-field"),
    "an ACL that is a text": ("PUT", "/documents/canary/acl", b'{"allow": "everyone"}', 422, "invalid-field"),
    "no such document": ("PUT", "/documents/nothing/acl", b'{"allow": ["everyone"]}', 404, "not-found"),
    "no reason": ("DELETE", "/documents/canary", b'{"reason": ""}', 422, "invalid-field"),
    "no reason at all": ("DELETE", "/documents/canary", None, 400, "malformed-json"),
    "a name that climbs": (
        "POST", "/uploads",
        b'{"source_id": "wiki", "name": "../wiki/a.txt", "content_type": "text/plain", "bytes": 1}',
        422, "invalid-path",
    ),
    "51 MB to upload": (
        "POST", "/uploads",
        b'{"source_id": "wiki", "name": "a.txt", "content_type": "text/plain", "bytes": 51000000}',
        413, "object-too-large",
    ),
    "-1 bytes to upload": (
        "POST", "/uploads",
        b'{"source_id": "wiki", "name": "a.txt", "content_type": "text/plain", "bytes": -1}',
        422, "invalid-field",
    ),
    # --- queries
    "an unknown state": ("GET", "/documents?state=LOST", None, 422, "invalid-field"),
    "an unknown parameter": ("GET", "/documents?bogus=1", None, 422, "unknown-field"),
    "a huge cursor": ("GET", "/documents?next=" + "a" * 3_000, None, 422, "invalid-field"),
    "version 0": ("GET", "/documents/canary/provenance?version=0", None, 422, "invalid-field"),
    "a version of text": ("GET", "/documents/canary/provenance?version=one", None, 422, "invalid-field"),
    "no such version": ("GET", "/documents/canary/provenance?version=99", None, 404, "not-found"),
    "no name": ("GET", "/drops", None, 422, "invalid-field"),
    "a body on a GET": ("GET", "/documents", b'{"a": 1}', 400, "unexpected-body"),
    "no such answer": ("GET", "/answers/an-0", None, 404, "not-found"),
    "no such erasure": ("GET", "/erasures/er-0", None, 404, "not-found"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_request_is_refused_with_its_code(canary: Canary, name: str) -> None:
    method, path, body, status, code = REFUSED[name]
    reply = canary.service.send(
        method,
        path,
        person=canary.everyone,
        content=body,
        headers={"content-type": "application/json"} if body is not None else {},
    )
    told = reply.json()
    assert (reply.status_code, told.get("code")) == (status, code), told
    assert reply.headers["content-type"] == "application/problem+json"
    assert told["trace_id"]
    assert "Traceback" not in reply.text


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("idempotency-key", "k" * 256, "invalid-field"),
        ("idempotency-key", "two words", "invalid-field"),
        ("if-match", "whatever", "invalid-field"),
    ],
)
def test_a_bad_header_is_refused(canary: Canary, name: str, value: str, code: str) -> None:
    reply = canary.service.send(
        "POST", "/documents", person=canary.everyone, content=document(), headers={name: value}
    )
    assert (reply.status_code, reply.json()["code"]) == (422, code)


def test_a_key_that_was_used_is_refused_with_another_body(canary: Canary) -> None:
    body = {"document_id": "canary", "source_id": "wiki", "content_type": "text/plain"}
    headers = {"idempotency-key": "canary-key"}
    same = json.dumps(body | {"content": "The canary sings in the north gallery."}).encode()
    other = json.dumps(body | {"content": "The canary is silent."}).encode()

    def post(content: bytes) -> Any:
        return canary.service.send(
            "POST", "/documents", person=canary.everyone, content=content, headers=headers
        )

    assert post(same).json()["unchanged"] is True
    refused = post(other)
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency-key-reused")
    assert post(same).json()["unchanged"] is True


def test_a_search_is_never_answered_from_a_key(canary: Canary) -> None:
    """It would replay what was erased meanwhile: each is asked anew and traced on its own."""
    headers = {"idempotency-key": "search-key"}
    traces = {
        canary.service.send(
            "POST", "/search", person=canary.everyone, content=search(), headers=headers
        ).json()["trace_id"]
        for _ in range(2)
    }
    assert len(traces) == 2


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/nothing"), ("PATCH", "/documents/canary"), ("GET", "/search")]
)
def test_a_route_that_is_not_there_does_nothing(canary: Canary, method: str, path: str) -> None:
    reply = canary.service.send(method, path, person=canary.everyone)
    assert reply.status_code in {403, 404}
