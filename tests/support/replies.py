"""Replies as they go over the wire, kept in ``tests/samples`` to compare with.

A change of the API's JSON is made here on purpose, with ``python -m tests.support.replies``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from custody.bootstrap import Service
from custody_memory.signer import LocalSigner
from tests.support.functions import event, load
from tests.support.governed import govern, named
from tests.support.ingest_world import WRITER, FakeClock
from tests.support.ingest_world import World as Ingestion
from tests.support.ingest_world import request as document
from tests.support.search_world import World
from tests.support.stored_answer import Stored

SAMPLES = Path(__file__).parents[1] / "samples"
AUDITOR = "custody/read custody/audit"
OVERRIDER = "custody/read custody/override"
type Reply = dict[str, Any]


def told(service: Service, function: str, given: Mapping[str, Any]) -> tuple[int, str]:
    """Status and the text of the body."""
    response = load(function).api.handler(lambda: service)(given, None)
    return response["statusCode"], response["body"]


def asked(name: str, scope: str | None, fields: Mapping[str, object]) -> dict[str, Any]:
    """``events/<name>.json`` with other fields in its body and another scope."""
    given = event(name)
    if fields:
        given["body"] = json.dumps(json.loads(given["body"]) | fields)
    if scope is not None:
        given["requestContext"]["authorizer"]["scope"] = scope
    return given


def replies() -> Iterator[tuple[str, Reply]]:
    """Each kind of reply by name, as ``{"endpoint", "status", "body"}``, without what differs each
    time."""
    yield from _searches()
    yield from _answers()
    yield from _stored_answers()
    yield from _ingestion()


def _reply(
    service: Service, function: str, given: Mapping[str, Any], mask: Callable[[str], str]
) -> Reply:
    status, body = told(service, function, given)
    endpoint = f"{given['httpMethod']} {given['resource']}"
    return {"endpoint": endpoint, "status": status, "body": json.loads(mask(body))}


def searched() -> World:
    """Two twins of different sources, and an item that is withheld."""
    world = World(scores={"acme/wiki": 0.9, "acme/blog": 0.3})
    text = (
        "Employees get sixteen weeks of parental leave, and ask for it at the 窓口 of their team "
        "at least three months before the first day that they want to stay at home."
    )
    world.publish("leave", text, "A second part about notice periods.", metadata={"year": 2026})
    twin = world.publish("leave-copy", text, source_id="blog")
    world.change_head(twin, uri="https://blog.example/leave")
    world.publish("lunch", "Lunch is served at noon, when employees leave their desks.")
    world.change_head(world.publish("old", "Parental leave was twelve weeks."), envelope=None)
    return world


# Of each question: the scopes of who asks, and the fields of the body beside the event's own.
type Asked = dict[str, tuple[str | None, dict[str, object]]]
SEARCHES: Asked = {
    "search": (None, {}),
    "search-as-auditor": (AUDITOR, {}),
    "search-linear": (None, {"fusion": "linear", "rerank": True}),
    "search-sparse-as-auditor": (AUDITOR, {"route": "sparse", "k": 2}),
    "search-nothing": (None, {"query": "zebra", "route": "sparse"}),
}
ANSWERS: Asked = {
    "answer": (None, {}),
    "answer-as-auditor": (AUDITOR, {}),
    "answer-insufficient": (None, {"query": "Which glacier feeds the river Rhone?"}),
    "answer-overridden": (OVERRIDER, {"gate_override": True, "threshold": 1.0}),
}
STORED_ANSWERS: Asked = {
    "stored-answer": (None, {"k": 3}),
    "stored-answer-as-auditor": (AUDITOR, {"k": 3}),
    "stored-answer-insufficient": (None, {"query": "Which glacier feeds the river Rhone?"}),
    "stored-answer-filtered": (
        None,
        {"filter": {"year": {"gte": 2020}, "team": ["a", "b"]}, "rerank": True},
    ),
}


def _searches() -> Iterator[tuple[str, Reply]]:
    for name, (scope, fields) in SEARCHES.items():
        world = searched()
        given = asked("query/search", scope, fields)
        yield name, _reply(world.service, "query", given, _keys(world.signer))


def _answers() -> Iterator[tuple[str, Reply]]:
    for name, (scope, fields) in ANSWERS.items():
        stored = Stored()
        stored.world.change_head(stored.publish("old", "Old parental leave."), envelope=None)
        given = asked("gate/answer", scope, fields)
        yield name, _reply(stored.world.service, "gate", given, _keys(stored.world.signer))


def _stored_answers() -> Iterator[tuple[str, Reply]]:
    for name, (scope, fields) in STORED_ANSWERS.items():
        stored = Stored(("leave", "Employees get sixteen weeks.", "On notice periods."),
                        ("guide", "A guide for those who leave."))  # fmt: skip
        service = stored.world.service
        stored.world.publish("handbook", "Parental leave.", metadata={"year": 2026, "team": "a"})
        _, body = told(service, "gate", asked("gate/answer", None, fields))
        stored.world.change_head(stored.heads["leave"], version=0)
        given = asked("gate/unknown-answer", scope, {})
        given["pathParameters"] = {"id": json.loads(body)["answer_id"]}
        yield name, _reply(service, "gate", given, _keys(stored.world.signer))


def ingested() -> Ingestion:
    """Its clock stands still, so that no look more or less at it changes a reply."""
    world = Ingestion(clock=FakeClock(timedelta(0)))
    world.source(max_acl=("group:staff", "user:bob"))
    world.post_document(WRITER, document("guide", "The guide."))
    world.deliver(world.drop("notes.txt", b"Some notes."))
    return world


def _ingestion() -> Iterator[tuple[str, Reply]]:
    for function, names in {
        "documents": ("put", "put-full", "list", "show", "show-as-reader", "provenance", "access",
                      "access-before", "put-acl",
                      "put-acl-narrower", "upload", "drops", "put-two-contents"),
        "govern": ("put-source", "put-source-full", "replace-source", "list-sources", "quarantine",
                   "release", "list-keys", "retire-key", "revoke-key", "cut", "sign-policy",
                   "activate-policy", "show-policy", "policy-history"),
        "erase": ("erase",),
        "health": ("health",),
    }.items():  # fmt: skip
        for name in names:
            world = ingested()
            digest = govern(world) if function == "govern" else ""
            keyid = world.policy_signer.verification_key().keyid
            given = named(event(f"{function}/{name}"), keyid=keyid, digest=digest)
            members = ("sig", "digest", "public_key_pem") if function == "govern" else ("sig",)
            hide = _keys(world.signer, world.policy_signer, members=members)
            yield f"{function}-{name}", _reply(world.service, function, given, hide)
    world = ingested()
    world.while_waiting = lambda: None
    given = event("documents/put")
    yield "documents-put-slow", _reply(world.service, "documents", given, _keys(world.signer))
    world = ingested()
    erasure = json.loads(told(world.service, "erase", event("erase/erase"))[1])["erasure_id"]
    given = event("erase/erasure")
    given["pathParameters"]["id"] = erasure
    yield "erasure-pending", _reply(world.service, "erase", given, _keys(world.signer))
    world.work()
    yield "erasure", _reply(world.service, "erase", given, _keys(world.signer))


def _keys(*signers: LocalSigner, members: tuple[str, ...] = ("sig",)) -> Callable[[str], str]:
    """A key is made anew each time, and with it every signature and what is named by one."""

    def hide(text: str) -> str:
        for signer in signers:
            text = text.replace(signer.verification_key().keyid, "<keyid>")
        for member in members:
            text = re.sub(rf'"{member}":"[^"]+"', f'"{member}":"<{member}>"', text)
        return text

    return hide


def sample(name: str) -> Reply:
    loaded: Reply = json.loads((SAMPLES / f"{name}.json").read_text("utf-8"))
    return loaded


def main() -> None:
    SAMPLES.mkdir(exist_ok=True)
    for name, reply in replies():
        text = json.dumps(reply, indent=2, ensure_ascii=False) + "\n"
        (SAMPLES / f"{name}.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
