"""Invariant 2: authorization comes twice, inside both legs and again as evidence is assembled.

Each half must hold when the other one fails, so each is broken in turn. What was withheld and the
legs' own scores are told to auditors only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from custody.application.reading.answer import AnswerRequest
from custody.application.reading.search import SearchRequest
from custody.domain.index.candidates import Hit, LegHits
from custody.domain.model import Acl, Chunk, Head, Leg, Outcome, Principal, SourceState
from tests.support.functions import event, load
from tests.support.search_world import ViewedLedger, World, reader

QUESTION = "How many weeks of parental leave do employees get?"
LEAVE = "Employees get sixteen weeks of parental leave."
OPEN = "A note on parental leave for employees."
ADMINS = Acl.of("group:admins")


@pytest.fixture
def world() -> World:
    made = World()
    made.publish("open", OPEN)
    made.publish("closed", LEAVE, acl=ADMINS)
    return made


def found(world: World, who: Principal | None = None, **changes: Any) -> list[str]:
    result = world.search(who or reader(), SearchRequest(QUESTION, **changes))
    return [item.key.document_id for item in result.results]


def unfiltered(world: World) -> None:
    """The index forgets its filter: everything that it holds is proposed, the best first."""

    def propose(hits: LegHits) -> LegHits:
        entries = sorted(world.index.entries.values(), key=lambda e: e.key.document_id)
        leg = tuple(
            Hit(replace(entry, vector=None), 0.9 - at / 100) for at, entry in enumerate(entries)
        )
        return LegHits(dict.fromkeys(Leg, leg))

    world.index.change = propose


# inside both legs


@pytest.mark.parametrize("route", ["sparse", "dense", "hybrid"])
def test_what_is_restricted_is_no_candidate_and_not_counted(world: World, route: str) -> None:
    result = world.search(reader(), SearchRequest(QUESTION, route=route))
    assert [item.key.document_id for item in result.results] == ["open"]
    assert result.outcomes == {Outcome.VERIFIED: 1}
    assert result.withheld == {}


def test_every_attempt_of_an_answer_asks_with_the_callers_rights(world: World) -> None:
    answer = world.answers(reader(), AnswerRequest(SearchRequest(QUESTION), threshold=1.0))
    assert answer.retries >= 1
    assert len(world.index.queries) == answer.retries + 1
    for query in world.index.queries:
        assert query.filter.acl_terms == reader().terms
        assert {space.tenant for space in query.spaces} == {"acme", "public"}


def test_a_sparse_acl_finds_the_one_document_in_a_thousand() -> None:
    world = World()
    for n in range(999):
        world.publish(f"other{n}", f"{LEAVE} Part {n}.", acl=ADMINS)
    world.publish("mine", "Parental leave.", acl=Acl.of("user:ann"))
    result = world.search(reader(), SearchRequest(QUESTION, k=1))
    assert [item.key.document_id for item in result.results] == ["mine"]
    first = result.results[0].scores
    assert {leg: place.rank for leg, place in first.legs.items()} == dict.fromkeys(Leg, 1)
    assert result.withheld == {}


def test_a_group_change_counts_with_the_next_token(world: World) -> None:
    joined = reader(groups=frozenset({"staff", "admins"}))
    assert found(world) == ["open"]
    assert set(found(world, joined)) == {"open", "closed"}
    assert found(world, reader(groups=frozenset({"staff"}))) == ["open"]
    assert found(world, reader(groups=frozenset())) == []


# as the evidence is assembled, whatever the index let through


def test_an_index_without_a_filter_changes_nothing_of_what_is_served(world: World) -> None:
    unfiltered(world)
    result = world.search(reader(), SearchRequest(QUESTION))
    assert [item.key.document_id for item in result.results] == ["open"]
    first = result.results[0].scores
    assert first.legs[Leg.SEMANTIC].rank == 1
    assert result.withheld == {"acl-denied": 1}
    answer = world.answers(reader(), AnswerRequest(SearchRequest(QUESTION), threshold=1.0))
    assert {item.key.document_id for item in answer.evidence} == {"open"}


def _narrow(world: World, head: Head) -> None:
    world.change_head(head, narrowed_to=ADMINS)


def _quarantine(world: World, head: Head) -> None:
    world.source(state=SourceState.QUARANTINED)


@pytest.mark.parametrize("revoke", [_narrow, _quarantine])
def test_a_revocation_while_the_query_runs_is_seen(world: World, revoke: Any) -> None:
    head = next(h for h in world.ledger.heads.values() if h.name == "open.md")
    world.index.after = lambda: revoke(world, head)
    assert found(world) == []


class Revoking:
    """A reranker during whose work a document is closed: it comes after the check."""

    name = "revoking"
    ledger: ViewedLedger

    def __init__(self) -> None:
        self.closed: list[Head] = []

    def rerank(self, question: str, items: Sequence[Chunk]) -> Sequence[float]:
        for key, head in self.ledger.latest.items():
            if head.name == "closed.md":
                self.closed.append(head)
                self.ledger.latest[key] = replace(head, narrowed_to=ADMINS)
        return [1.0 for _ in items]


def test_rights_that_end_after_the_check_still_count() -> None:
    """The last ranker hands on something that the reader may not see: assembly takes it out."""
    reranker = Revoking()
    world = World(reranker=reranker)
    reranker.ledger = world.ledger
    world.publish("open", OPEN)
    world.publish("closed", LEAVE)
    assert set(found(world)) == {"open", "closed"}
    assert found(world, rerank=True) == ["open"]
    request = AnswerRequest(SearchRequest(QUESTION, rerank=True), threshold=1.0)
    answer = world.answers(reader(), request)
    assert {item.key.document_id for item in answer.evidence} == {"open"}
    assert len(reranker.closed) == 2 + answer.retries


def test_a_cross_tenant_similarity_attack_finds_nothing_of_the_other_tenant() -> None:
    """The attacker asks with the very text that the other tenant holds, in an index that forgot its
    filter and with groups of the same names."""
    world = World()
    world.publish("secret", LEAVE, tenant="globex", acl=Acl.of("group:staff", "everyone"))
    world.publish("own", "Lunch is served at noon.")
    expected = world.search(reader(), SearchRequest(LEAVE))
    assert [item.key.document_id for item in expected.results] == ["own"]
    unfiltered(world)
    result = world.search(reader(), SearchRequest(LEAVE))
    assert [item.key.document_id for item in result.results] == ["own"]
    own = result.results[0].scores
    assert own.legs[Leg.SEMANTIC].rank == 1
    assert result.withheld == {"tenant-mismatch": 1}
    answer = world.answers(reader(), AnswerRequest(SearchRequest(LEAVE), preset="lenient"))
    assert {item.key.document_id for item in answer.evidence} == {"own"}
    assert answer.envelope is None


@pytest.mark.parametrize("route", ["sparse", "dense", "hybrid"])
def test_a_shared_cache_serves_nobody_what_another_was_served(world: World, route: str) -> None:
    """One warm container: the same question by one who may, one who may not, and another tenant."""
    joined = reader(groups=frozenset({"staff", "admins"}))
    stranger = reader(tenant="globex", groups=frozenset({"staff", "admins"}))
    for _ in range(2):
        assert set(found(world, joined, route=route)) == {"open", "closed"}
        assert found(world, route=route) == ["open"]
        assert found(world, stranger, route=route) == []
        asked = [(who, AnswerRequest(SearchRequest(QUESTION))) for who in (joined, reader())]
        told = [{i.key.document_id for i in world.answers(*each).evidence} for each in asked]
        assert told == [{"open", "closed"}, {"open"}]


# who is told


@pytest.mark.parametrize(
    ("function", "given", "results"),
    [("query", "query/search", "results"), ("gate", "gate/answer", "evidence")],
)
@pytest.mark.parametrize("auditor", [False, True])
def test_what_was_withheld_and_raw_scores_are_told_to_auditors_only(
    world: World,
    function: str,
    given: str,
    results: str,
    auditor: bool,
) -> None:
    unfiltered(world)
    handler = load(function).api.handler(lambda: world.service)
    asked = event(given)
    scopes = "custody/read custody/audit" if auditor else "custody/read"
    asked["requestContext"]["authorizer"]["scope"] = scopes
    body = json.loads(handler(asked, None)["body"])
    assert body[results]
    assert ("withheld" in body) is auditor
    for item in body[results]:
        assert item["document_id"] == "open"
        assert ("score" in item["scores"]["semantic"]) is auditor
    assert ("acl-denied" in json.dumps(body)) is auditor
