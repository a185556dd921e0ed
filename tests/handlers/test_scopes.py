"""What an endpoint declares is what its use case asks for, before anything is read or written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.application.idempotency import Call, Idempotency, StoredReply
from custody.bootstrap import Service
from custody.domain.model import DocumentKey, Scope
from custody.http import Endpoint
from custody_memory.builds import MemoryBuilds
from custody_memory.jobs import MemoryJobs
from custody_memory.ledger import MemoryLedger
from custody_memory.objects import MemoryObjects
from custody_memory.policies import MemoryPolicies
from custody_memory.ports import FixedLimits, MemoryPorts
from custody_memory.signer import LocalSigner
from custody_memory.traces import MemoryTraces
from tests.support import records
from tests.support.functions import ROOT, event, load
from tests.support.governed import named
from tests.support.ingest_world import (
    START,
    TENANT,
    BlockChunker,
    CountingIdentifiers,
    FakeClock,
    LineParser,
    WordEmbedder,
)
from tests.support.interposed import interposed
from tests.support.memory_index import MemoryIndex

# One event of each endpoint that is refused for nothing but its scopes.
EVENTS = {
    "POST /documents": "documents/put",
    "GET /documents": "documents/list",
    "GET /documents/{id}": "documents/show",
    "GET /documents/{id}/provenance": "documents/provenance",
    "GET /documents/{id}/access": "documents/access",
    "PUT /documents/{id}/acl": "documents/put-acl",
    "DELETE /documents/{id}": "erase/erase",
    "POST /uploads": "documents/upload",
    "GET /drops": "documents/drops",
    "GET /erasures/{id}": "erase/erasure",
    "PUT /sources/{id}": "govern/put-source",
    "GET /sources": "govern/list-sources",
    "POST /sources/{id}/quarantine": "govern/quarantine",
    "DELETE /sources/{id}/quarantine": "govern/release",
    "GET /keys": "govern/list-keys",
    "POST /keys/{id}/retire": "govern/retire-key",
    "POST /keys/{id}/revoke": "govern/revoke-key",
    "POST /principals/cut": "govern/cut",
    "GET /policies/{name}": "govern/show-policy",
    "GET /policies/{name}/history": "govern/policy-history",
    "POST /policies/{name}/versions": "govern/sign-policy",
    "POST /policies/{name}/activate": "govern/activate-policy",
    "POST /policies/{name}/rollback": "govern/roll-back-policy",
    "GET /indexes": "govern/list-indices",
    "POST /indexes/rebuild": "govern/rebuild-indices",
    "DELETE /indexes/{id}": "govern/drop-index",
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
    """``ports``: each call of one fails, and is told in ``calls``. ``idempotency`` and the ledger
    do what they do, where a test gives one."""

    def __init__(self, idempotency: Idempotency | None = None) -> None:
        self.calls: list[str] = []
        clock = FakeClock()
        self.ports = MemoryPorts(
            clock=clock,
            identifiers=self._guard(CountingIdentifiers()),
            index=self._guard(MemoryIndex()),
            ledger=self._guard(MemoryLedger()) if idempotency is None else governed_ledger(),
            builds=self._guard(MemoryBuilds()),
            queue=self._guard(MemoryJobs()),
            policies=self._guard(MemoryPolicies()),
            verifier=self._guard(EcdsaVerifier()),
            embedder=self._guard(WordEmbedder()),
            parser=self._guard(LineParser()),
            chunker=self._guard(BlockChunker()),
            signers={"policy": self._guard(LocalSigner.generate("policy", not_before=START))},
            given_objects=self._guard(MemoryObjects(clock)),
            given_traces=self._guard(MemoryTraces(clock)),
            given_idempotency=idempotency or self._guard(Remembered()),
        )

    def _guard[P](self, port: P) -> P:
        return interposed(port, self._touch)

    def _touch(self, name: str, call: Callable[[], object]) -> object:
        self.calls.append(name)
        raise Touched(name)


def governed_ledger() -> MemoryLedger:
    """What a repeat asks it: whether the caller's access was cut, and its document erased."""
    ledger = MemoryLedger()
    ledger.accept(records.draft(DocumentKey(TENANT, "guide")), expected_revision=0)
    ledger.put_key(LocalSigner.generate("ingestion", not_before=START).verification_key())
    return ledger


FIRST = {"secret": "the first answer", "document_id": "guide", "version": 1}


class Remembered:
    """Every call was answered before."""

    def once(self, call: Call, action: Callable[[], StoredReply]) -> StoredReply:
        return {
            "status": 201,
            "headers": {},
            "body": FIRST,
            "scopes": [],
        }


def ask(
    name: str, ports: MemoryPorts, scopes: frozenset[Scope], headers: dict[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    function, _ = EVENTS[name].split("/")
    given = named(event(EVENTS[name]), keyid="0" * 64, digest="0" * 64)
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
    untouchable = Untouchable()
    status, body = ask(name, untouchable.ports, ALL - set(ENDPOINTS[name].scopes))
    assert (status, body["code"]) == (403, "scope-missing")
    assert untouchable.calls == []


@pytest.mark.parametrize(("name", "scope"), CHOICES)
def test_each_declared_scope_suffices(name: str, scope: Scope) -> None:
    untouchable = Untouchable()
    ask(name, untouchable.ports, frozenset({scope}))
    assert untouchable.calls


@pytest.mark.parametrize("name", sorted(ANYONE))
def test_any_verified_caller_may_ask_where_no_scope_is_declared(name: str) -> None:
    untouchable = Untouchable()
    ask(name, untouchable.ports, frozenset())
    assert untouchable.calls


@pytest.mark.parametrize("name", REPEATABLE)
def test_a_first_answer_is_not_told_again_without_a_declared_scope(name: str) -> None:
    ports = Untouchable(Remembered()).ports
    scopes = frozenset(ENDPOINTS[name].scopes)
    key = {"Idempotency-Key": "k"}
    assert ask(name, ports, scopes, key) == (201, FIRST)
    status, body = ask(name, ports, ALL - scopes, key)
    assert (status, body["code"]) == (403, "scope-missing")
    assert "secret" not in body


def test_what_repeats_is_what_changes_something() -> None:
    assert {name.split()[0] for name in REPEATABLE} == {"POST", "PUT", "DELETE"}
