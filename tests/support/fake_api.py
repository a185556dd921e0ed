"""A small HTTP server on a free port that speaks the HTTP contract's shapes.

It keeps documents in memory and finds them by shared words. It proves nothing about the service;
it lets the client and the command be tested over a real socket. ``scripted`` replies are served
first, in order, and ``seen`` records every request.

It also takes what boto3 sends to put an object (``PUT /<bucket>/incoming/…``), as an S3 drop.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

BUCKET = "fake-evidence"
WORDS = re.compile(r"\w{3,}")


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Scripted:
    status: int
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


def problem(status: int, code: str, detail: str = "no", field_: str | None = None) -> Scripted:
    body = {
        "type": f"urn:custody:problem:{code}",
        "title": code,
        "status": status,
        "detail": detail,
        "code": code,
        "field": field_,
        "trace_id": "trace-1",
    }
    return Scripted(status, body, {"content-type": "application/problem+json"})


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class FakeApi:
    """``with FakeApi() as api: Client(api.url, "token")``."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.scripted: deque[Scripted] = deque()
        self.documents: dict[str, dict[str, Any]] = {}
        self.sources: dict[str, dict[str, Any]] = {}
        self.keys: dict[str, dict[str, Any]] = {
            keyid: {
                "keyid": keyid,
                "purpose": purpose,
                "state": "ACTIVE",
                "not_before": "2026-01-01T00:00:00Z",
                "not_after": None,
                "public_key_pem": "-----BEGIN PUBLIC KEY-----",
            }
            for keyid, purpose in (("key-1", "ingestion"), ("key-2", "policy"))
        }
        self.signed: dict[str, dict[str, Any]] = {}  # by digest
        self.in_force: list[str] = []  # digests, of one kind of policy
        self.drops: dict[tuple[str, str, str], dict[str, Any]] = {}  # tenant, source, name
        self.rejected_names: dict[str, list[str]] = {}
        self.index_looks, self.built_as = 0, "SERVED"
        self.never_published: set[str] = set()
        self.never_erased = False
        self.given_up_for = "given-up"
        self.verdict = "answerable"
        self.answers: dict[str, dict[str, Any]] = {}
        self.stored_attempts: list[dict[str, Any]] = [
            {"added_terms": [], "score": 0.71, "gain": None, "stop_reason": "passed"}
        ]
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.origin}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def calls(self, method: str, path: str) -> list[Seen]:
        return [seen for seen in self.seen if (seen.method, seen.path) == (method, path)]

    # --- the contract -------------------------------------------------------------------------

    def answer(self, seen: Seen) -> Scripted:
        with self._lock:
            self.seen.append(seen)
            if self.scripted:
                return self.scripted.popleft()
            if seen.path.startswith(f"/{BUCKET}/incoming/") and seen.method == "PUT":
                return self._put_object(seen)
            if seen.path.startswith("/upload/") and seen.method == "PUT":
                source_id, name = seen.path.removeprefix("/upload/").split("/", 1)
                self._store_drop("", source_id, name, seen.body)
                return Scripted(200)
            if not seen.path.startswith("/v1/"):
                return Scripted(403, {"message": "Missing Authentication Token"})
            path = seen.path.removeprefix("/v1")
            if path == "/health":
                return Scripted(200, {"status": "ok", "dependencies": {"ledger": "ok"}})
            if not seen.headers.get("authorization", "").startswith("Bearer "):
                return Scripted(401, {"message": "Unauthorized"})
            for method, pattern, route in _ROUTES:
                matched = re.fullmatch(pattern, path)
                if seen.method == method and matched:
                    return route(self, seen, *(unquote(part) for part in matched.groups()))
            return problem(404, "not-found", "There is no such endpoint.")

    def _put_source(self, seen: Seen, source_id: str) -> Scripted:
        self.sources[source_id] = {"source_id": source_id, "state": "ACTIVE", **seen.json}
        return Scripted(200, self.sources[source_id])

    def _list_sources(self, seen: Seen) -> Scripted:
        return Scripted(200, {"sources": list(self.sources.values()), "next": None})

    def _quarantine(self, seen: Seen, source_id: str) -> Scripted:
        return self._set_source_state(source_id, "QUARANTINED")

    def _release(self, seen: Seen, source_id: str) -> Scripted:
        return self._set_source_state(source_id, "ACTIVE")

    def _set_source_state(self, source_id: str, state: str) -> Scripted:
        if source_id not in self.sources:
            return problem(404, "source-not-found", "There is no such source.")
        self.sources[source_id]["state"] = state
        return Scripted(200, self.sources[source_id])

    def _list_keys(self, seen: Seen) -> Scripted:
        return Scripted(200, {"keys": list(self.keys.values())})

    def _retire(self, seen: Seen, keyid: str) -> Scripted:
        return self._set_key_state(seen, keyid, "RETIRED")

    def _revoke(self, seen: Seen, keyid: str) -> Scripted:
        return self._set_key_state(seen, keyid, "REVOKED")

    def _set_key_state(self, seen: Seen, keyid: str, state: str) -> Scripted:
        if keyid not in self.keys:
            return problem(404, "key-not-found", "There is no such key.")
        if not seen.json["force"]:  # each key here is the only one of its purpose
            return problem(409, "last-active-key", "It is the last active key of its purpose.")
        self.keys[keyid]["state"] = state
        return Scripted(200, self.keys[keyid])

    def _cut(self, seen: Seen) -> Scripted:
        not_before = seen.json.get("not_before", "2026-03-01T12:00:00Z")
        return Scripted(200, {"subject": seen.json["subject"], "not_before": not_before})

    def _sign_policy(self, seen: Seen, name: str) -> Scripted:
        document = seen.json["document"]
        digest = _digest(json.dumps(document))
        self.signed[digest] = {
            "name": name,
            "version": document["version"],
            "digest": digest,
            "scope": "tenant",
            "keyid": "key-2",
            "since": None,
            "document": document,
            "envelope": {"payloadType": "application/vnd.custody.policy+json"},
        }
        return Scripted(201, self.signed[digest])

    def _activate(self, seen: Seen, name: str) -> Scripted:
        if seen.json["digest"] not in self.signed:
            return problem(404, "policy-not-found", "There is no such policy.")
        self.in_force.append(seen.json["digest"])
        return self._policy(seen, name)

    def _roll_back(self, seen: Seen, name: str) -> Scripted:
        if len(self.in_force) < 2:
            return problem(409, "no-earlier-policy", "There is no earlier policy to go back to.")
        self.in_force.pop()
        return self._policy(seen, name)

    def _policy(self, seen: Seen, name: str) -> Scripted:
        if not self.in_force:
            return problem(404, "policy-not-found", "There is no such policy.")
        since = {"since": "2026-03-01T12:00:00Z"}
        return Scripted(200, self.signed[self.in_force[-1]] | since)

    def _policy_history(self, seen: Seen, name: str) -> Scripted:
        changes = [
            {"action": "activated", "at": "2026-03-01T12:00:00Z", "by": "ann"}
            | {field: self.signed[digest][field] for field in ("version", "digest")}
            for digest in reversed(self.in_force)
        ]
        first = {
            "action": "rolled-back",
            "version": None,
            "digest": None,
            "at": "2026-02-01T12:00:00Z",
            "by": None,
        }
        return Scripted(200, {"name": name, "changes": [*changes, first]})

    def _post_document(self, seen: Seen) -> Scripted:
        body = seen.json
        content = body.get("content")
        raw = content.encode() if content is not None else base64.b64decode(body["content_base64"])
        known = self.documents.get(body["document_id"])
        digest = hashlib.sha256(raw).hexdigest()
        if known and known["content_sha256"] == digest:
            return Scripted(200, _published(known) | {"unchanged": True})
        if body["source_id"] not in self.sources:
            return problem(404, "source-not-found", "There is no such source.", "source_id")
        document = self._store(
            body["document_id"], body["source_id"], body["document_id"], raw, body.get("title")
        )
        if body["document_id"] in self.never_published:
            document["state"] = document["versions"][0]["state"] = "PENDING"
            return Scripted(202, _published(document))
        return Scripted(201, _published(document))

    def _store(
        self, document_id: str, source_id: str, name: str, raw: bytes, title: str | None
    ) -> dict[str, Any]:
        former = self.documents.get(document_id)
        version = former["version"] + 1 if former else 1
        text = raw.decode("utf-8", "replace")
        self.documents[document_id] = {
            "document_id": document_id,
            "source_id": source_id,
            "name": name,
            "version": version,
            "state": "ACTIVE",
            "title": title,
            "text": text,
            "acl": {"allow": ["tenant:acme"]},
            "content_sha256": hashlib.sha256(raw).hexdigest(),
            "chunk_count": 1,
            "statement_id": f"st-{version}",
            "versions": [{"version": version, "state": "ACTIVE", "reasons": []}],
        }
        return self.documents[document_id]

    def _get_document(self, seen: Seen, document_id: str) -> Scripted:
        document = self.documents.get(document_id)
        if document is None:
            return problem(404, "not-found", "There is no such document.")
        return Scripted(200, {k: v for k, v in document.items() if k != "text"})

    def _list_documents(self, seen: Seen) -> Scripted:
        ids = sorted(self.documents)
        start = int(seen.query.get("next", ["0"])[0])
        page = [
            {k: v for k, v in self.documents[i].items() if k != "text"} for i in ids[start:][:2]
        ]
        after = str(start + 2) if start + 2 < len(ids) else None
        return Scripted(200, {"documents": page, "next": after})

    def _provenance(self, seen: Seen, document_id: str) -> Scripted:
        document = self.documents.get(document_id)
        if document is None:
            return problem(404, "not-found", "There is no such document.")
        statement = {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": document_id, "digest": {"sha256": document["content_sha256"]}}],
            "predicate": {"source": document["source_id"]},
        }
        payload = base64.b64encode(json.dumps(statement).encode()).decode()
        envelope = {
            "payloadType": "application/vnd.in-toto+json",
            "payload": payload,
            "signatures": [{"keyid": "key-1", "sig": "c2ln"}],
        }
        return Scripted(
            200,
            {"document_id": document_id, "version": document["version"], "envelope": envelope},
        )

    def _index(self, build_id: str, state: str) -> dict[str, Any]:
        return dict.fromkeys(
            (
                "index", "model", "former_revision", "mapping_version", "analysis_version", "read",
                "reason", "snapshot", "envelope", "updated_at", "served_at", "retire_at",
            )
        ) | {
            "build_id": build_id,
            "space": "live",
            "state": state,
            "step": "copy" if state == "BUILDING" else None,
            "model_revision": "minilm-1",
            "versions": 3,
            "chunks": 7,
            "written": 7,
            "passes": 2,
            "statement_id": "s" * 64 if state == "SERVED" else None,
            "requested_by": "gov",
            "requested_at": "2026-03-01T12:00:00Z",
        }  # fmt: skip

    def _indexes(self, seen: Seen) -> Scripted:
        """Each look finds one more of the builds done."""
        self.index_looks += 1
        states = [self.built_as if n < self.index_looks else "BUILDING" for n in (1, 2)]
        builds = [self._index(f"ib-{n}", state) for n, state in enumerate(states, 1)]
        for build in builds:
            build["reason"] = self.given_up_for if build["state"] == "ABANDONED" else None
        return Scripted(200, {"indices": [self._index("ib-0", "RETIRING"), *builds]})

    def _rebuild_indexes(self, seen: Seen) -> Scripted:
        return Scripted(202, {"indices": [self._index(f"ib-{n}", "BUILDING") for n in (1, 2)]})

    def _drop_index(self, seen: Seen, build_id: str) -> Scripted:
        if build_id != "ib-1":
            return problem(404, "index-not-found", "There is no such index.")
        return Scripted(202, self._index(build_id, "ABANDONED"))

    def _access(self, seen: Seen, document_id: str) -> Scripted:
        document = self.documents.get(document_id)
        if document is None:
            return problem(404, "not-found", "There is no such document.")
        return Scripted(
            200,
            {
                "document_id": document_id,
                "at": seen.query.get("at", ["2026-03-01T12:00:00Z"])[0],
                "version": 1,
                "acl": {"allow": ["tenant:acme"]},
                "narrowed_to": {"allow": []},
                "acl_revision": 0,
                "statement_id": "st-1",
                "changed_by": "ann",
                "since": "2026-03-01T11:00:00Z",
                "until": None,
                "source": {
                    "source_id": document["source_id"],
                    "state": "QUARANTINED",
                    "trust_domain": "official",
                    "max_acl": None,
                    "since": "2026-03-01T10:00:00Z",
                },
            },
        )

    def _set_acl(self, seen: Seen, document_id: str) -> Scripted:
        if document_id not in self.documents:
            return problem(404, "not-found", "There is no such document.")
        self.documents[document_id]["acl"] = seen.json
        return Scripted(200, {"document_id": document_id, "version": 1, "acl": seen.json})

    def _delete_document(self, seen: Seen, document_id: str) -> Scripted:
        if self.documents.pop(document_id, None) is None:
            return problem(404, "not-found", "There is no such document.")
        return Scripted(202, {"erasure_id": "er-1"})

    def _erasure(self, seen: Seen, erasure_id: str) -> Scripted:
        asked = len(self.calls("GET", seen.path))
        done = asked > 1 and not self.never_erased
        artifact = {
            "location": "index",
            "level": "deleted" if done else "pending",
            "verified_at": "2026-01-01T00:00:00Z" if done else None,
            "detail": None,
        }
        state = "PARTIAL" if self.never_erased else "COMPLETE" if done else "PENDING"
        return Scripted(200, {"erasure_id": erasure_id, "state": state, "artifacts": [artifact]})

    def _create_upload(self, seen: Seen) -> Scripted:
        body = seen.json
        if body["source_id"] not in self.sources:
            return problem(404, "source-not-found", "There is no such source.", "source_id")
        url = f"{self.origin}/upload/{body['source_id']}/{body['name']}"
        headers = {"content-type": body["content_type"], "x-amz-meta-size": str(body["bytes"])}
        return Scripted(201, {"url": url, "headers": headers, "expires_at": "2030-01-01T00:00:00Z"})

    def _put_object(self, seen: Seen) -> Scripted:
        tenant, source_id, name = seen.path.removeprefix(f"/{BUCKET}/incoming/").split("/", 2)
        version = self._store_drop(tenant, source_id, name, seen.body)
        return Scripted(200, None, {"x-amz-version-id": version, "etag": '"0"'})

    def _store_drop(self, tenant: str, source_id: str, name: str, raw: bytes) -> str:
        version = f"v{len(self.seen)}"
        if name.endswith(".metadata.json"):
            return version
        document_id = f"{source_id}:{_digest(name)[:26]}"
        reasons = self.rejected_names.get(name, [])
        state = "REJECTED" if reasons else "ACTIVE"
        if name in self.never_published:
            state = "PENDING"
        elif not reasons:
            self._store(document_id, source_id, name, raw, None)
        self.drops[tenant, source_id, name] = {
            "source_id": source_id,
            "name": name,
            "document_id": document_id,
            "state": state,
            "version": self.documents.get(document_id, {}).get("version", 0),
            "reasons": reasons,
            "object_version": version,
        }
        return version

    def _drops(self, seen: Seen) -> Scripted:
        name = seen.query["name"][0]
        token = seen.headers["authorization"]  # the fakes' tokens spell their tenant
        found = [
            drop for (tenant, _, own), drop in self.drops.items() if own == name and tenant in token
        ]
        if not found:
            return problem(404, "not-found", "There is no such drop.")
        return Scripted(200, {"drops": found})

    def _evidence(self, query: str, k: int) -> list[dict[str, Any]]:
        wanted = set(WORDS.findall(query.lower()))
        found = []
        for document in self.documents.values():
            shared = wanted & set(WORDS.findall(document["text"].lower()))
            if shared and document["state"] == "ACTIVE":
                found.append((len(shared), document))
        found.sort(key=lambda pair: (-pair[0], pair[1]["document_id"]))
        return [
            {
                "rank": rank,
                "chunk_id": _digest(document["document_id"])[:26],
                "document_id": document["document_id"],
                "version": document["version"],
                "name": document["name"],
                "uri": None,
                "title": document["title"],
                "heading": None,
                "page": None,
                "text": document["text"],
                "source_id": document["source_id"],
                "trust_domain": "internal",
                "score": score / len(wanted),
                "scores": {
                    "semantic": {"rank": rank},
                    "lexical": None,
                    "rrf": 1 / (60 + rank),
                    "normalized": 1.0,
                    "reputation": 0.8,
                    "rerank": None,
                    "final": score / len(wanted),
                },
                "provenance": {
                    "outcome": "VERIFIED",
                    "statement_id": document["statement_id"],
                    "keyid": "key-1",
                    "sha256": _digest(document["text"]),
                    "log_index": None,
                },
                "signals": [],
                "cluster": None,
                "observed_at": None,
                "valid_from": None,
                "valid_to": None,
            }
            for rank, (score, document) in enumerate(found[:k], start=1)
        ]

    def _search(self, seen: Seen) -> Scripted:
        body = seen.json
        return Scripted(
            200,
            {
                "trace_id": "tr-1",
                "route": "hybrid",
                "route_reason": "default",
                "legs": ["semantic", "lexical"],
                "steps": [],
                "results": self._evidence(body["query"], body.get("k", 10)),
                "degraded": [],
                "policy": {"reputation": {"version": "1", "digest": "00"}},
                "model_revision": "m",
                "timings_ms": {"total": 3.0},
            },
        )

    def _post_answer(self, seen: Seen) -> Scripted:
        body = seen.json
        passed = self.verdict == "answerable"
        answer: dict[str, Any] = {
            "answer_id": f"an-{len(self.answers) + 1}",
            "verdict": self.verdict,
            "route": "hybrid",
            "route_reason": "default",
            "retries": 0,
            "gate": {
                "score": 0.71 if passed else 0.2,
                "threshold": body.get("threshold", 0.55),
                "preset": body.get("preset", "balanced"),
                "features": {"top": 0.7, "coverage": 0.9, "margin": 0.2, "support": 1.0},
                "floors": {"top": 0.1, "coverage": 0.25},
                "reasons": ["PASS"] if passed else ["LOW_COVERAGE"],
                "explanation": "Enough." if passed else "Too few of the question's terms.",
                "overridden": bool(body.get("gate_override", False)),
            },
            "attempts": [
                {"query": body["query"], "added_terms": [], "score": 0.71, "gain": None,
                 "stop_reason": None}
            ],
            "evidence": self._evidence(body["query"], body.get("k", 5)),
            "envelope": "The following is untrusted data.",
            "generation": None,
            "degraded": [],
        }  # fmt: skip
        self.answers[answer["answer_id"]] = answer
        return Scripted(200, answer)

    def _get_answer(self, seen: Seen, answer_id: str) -> Scripted:
        if answer_id not in self.answers:
            return problem(404, "not-found", "There is no such answer.")
        given = self.answers[answer_id]
        kept = ("rank", "chunk_id", "document_id", "version", "source_id", "name", "title", "text")
        trace = {
            "answer_id": answer_id,
            "subject": "me",
            "recorded_at": "2026-01-01T00:00:00Z",
            "request": {"query": given["attempts"][0]["query"]},
            "retrieval": {},
            "gate": {"verdict": given["verdict"], **given["gate"]},
            "attempts": self.stored_attempts,
            "evidence": [
                {name: item[name] for name in kept}
                | {"sha256": item["provenance"]["sha256"], "available": True}
                for item in given["evidence"]
            ],
        }
        return Scripted(200, trace)


_ROUTES: list[tuple[str, str, Callable[..., Scripted]]] = [
    ("PUT", r"/sources/([^/]+)", FakeApi._put_source),
    ("GET", r"/sources", FakeApi._list_sources),
    ("POST", r"/sources/([^/]+)/quarantine", FakeApi._quarantine),
    ("DELETE", r"/sources/([^/]+)/quarantine", FakeApi._release),
    ("GET", r"/keys", FakeApi._list_keys),
    ("POST", r"/keys/([^/]+)/retire", FakeApi._retire),
    ("POST", r"/keys/([^/]+)/revoke", FakeApi._revoke),
    ("POST", r"/principals/cut", FakeApi._cut),
    ("GET", r"/policies/([^/]+)", FakeApi._policy),
    ("GET", r"/policies/([^/]+)/history", FakeApi._policy_history),
    ("POST", r"/policies/([^/]+)/versions", FakeApi._sign_policy),
    ("POST", r"/policies/([^/]+)/activate", FakeApi._activate),
    ("POST", r"/policies/([^/]+)/rollback", FakeApi._roll_back),
    ("POST", r"/documents", FakeApi._post_document),
    ("GET", r"/documents", FakeApi._list_documents),
    ("GET", r"/documents/([^/]+)", FakeApi._get_document),
    ("DELETE", r"/documents/([^/]+)", FakeApi._delete_document),
    ("GET", r"/documents/([^/]+)/provenance", FakeApi._provenance),
    ("GET", r"/documents/([^/]+)/access", FakeApi._access),
    ("GET", r"/indexes", FakeApi._indexes),
    ("POST", r"/indexes/rebuild", FakeApi._rebuild_indexes),
    ("DELETE", r"/indexes/([^/]+)", FakeApi._drop_index),
    ("PUT", r"/documents/([^/]+)/acl", FakeApi._set_acl),
    ("GET", r"/erasures/([^/]+)", FakeApi._erasure),
    ("POST", r"/uploads", FakeApi._create_upload),
    ("GET", r"/drops", FakeApi._drops),
    ("POST", r"/search", FakeApi._search),
    ("POST", r"/answers", FakeApi._post_answer),
    ("GET", r"/answers/([^/]+)", FakeApi._get_answer),
]


def _published(document: Mapping[str, Any]) -> dict[str, Any]:
    names = (
        "document_id", "version", "state", "content_sha256", "chunk_count", "statement_id",
    )  # fmt: skip
    return {name: document[name] for name in names} | {"unchanged": False}


def _handler(api: FakeApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.headers.get("content-encoding") == "aws-chunked":
                body = _unchunked(body)
            seen = Seen(
                self.command,
                parts.path if parts.path.startswith("/v1/") else unquote(parts.path),
                parse_qs(parts.query),
                {name.lower(): value for name, value in self.headers.items()},
                body,
            )
            reply = api.answer(seen)
            if reply.delay:
                time.sleep(reply.delay)
            payload = b"" if reply.body is None else _encoded(reply.body)
            try:
                self.send_response(reply.status)
                headers = {"content-type": "application/json", **reply.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)
            except BrokenPipeError:
                self.close_connection = True  # the caller stopped waiting, as time-out tests do

        do_GET = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - the base class's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet."""

    return Handler


def _encoded(body: object) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def _unchunked(body: bytes) -> bytes:
    """The payload of AWS's own chunked signing format (size;… CRLF data CRLF … 0)."""
    found = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if length == 0:
            return found
        found, body = found + body[:length], body[length + 2 :]
    return found
