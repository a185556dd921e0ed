from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from custody.application.reading.search import SearchRequest, SearchResult
from custody.domain.index.candidates import Hit, IndexEntry, LegHits, Range
from custody.domain.model import Acl, KeyState, Leg, Outcome, Principal, SourceState, VersionState
from custody.errors import (
    IntegrityError,
    Unauthenticated,
    Unavailable,
    Unprocessable,
)
from tests.support.search_world import World, reader
from tests.support.signed_evidence import NOW, publish

QUESTION = "How many weeks of parental leave do employees get?"
LEAVE = "Employees get sixteen weeks of parental leave."


def search(world: World, query: str = QUESTION, who: Principal | None = None, **changes: Any
           ) -> SearchResult:  # fmt: skip
    return world.search(who or reader(), SearchRequest(query, **changes))


def with_leg(hits: LegHits, leg: Leg, entries: Sequence[IndexEntry]) -> LegHits:
    """One leg with other entries in the places of its own."""
    told = tuple(Hit(e, hit.score) for e, hit in zip(entries, hits[leg], strict=True))
    return replace(hits, legs={**hits.legs, leg: told})


def found(result: SearchResult) -> list[str]:
    return [item.key.document_id for item in result.results]


@pytest.fixture
def world() -> World:
    made = World()
    made.publish("leave", LEAVE)
    made.publish("lunch", "Lunch is served at noon.")
    return made


# The path


def test_verified_evidence_comes_back_in_order_with_its_provenance(world: World) -> None:
    result = search(world)
    assert found(result) == ["leave", "lunch"]
    first = result.results[0]
    assert first.rank == 1
    assert first.text == LEAVE
    assert first.name == "leave.md"
    assert first.trust_domain == "internal"
    assert first.statement_id == world.ledger.heads[first.key].statement_id
    assert first.keyid == world.signer.verification_key().keyid
    assert first.scores.legs[Leg.SEMANTIC].rank == 1
    assert Leg.LEXICAL in first.scores.legs
    assert first.scores.fusion == pytest.approx(2 / 61)
    assert result.outcomes == {Outcome.VERIFIED: 2}


def test_two_round_trips_and_no_more(world: World) -> None:
    search(world)
    assert len(world.index.queries) == 1
    assert world.ledger.reads == 1


def test_both_legs_are_asked_at_once_with_the_callers_rights_inside(world: World) -> None:
    search(world)
    (query,) = world.index.queries
    assert query.text == QUESTION
    assert query.vector is not None
    assert query.model_revision == "m1"
    assert query.filter.acl_terms == {"user:ann", "tenant:acme", "group:staff", "everyone"}
    assert {space.tenant for space in query.spaces} == {"acme", "public"}


@pytest.mark.parametrize(("k", "depth"), [(1, 50), (10, 50), (11, 200), (100, 200)])
def test_depth_is_fixed_by_k(world: World, k: int, depth: int) -> None:
    search(world, k=k)
    assert world.index.queries[0].depth == depth


def test_the_top_5_is_a_prefix_of_the_top_10(world: World) -> None:
    for n in range(20):
        world.publish(f"doc{n}", f"Parental leave note {n} weeks " + "word " * n)
    assert found(search(world, k=10))[:5] == found(search(world, k=5))


def test_public_evidence_serves_every_tenant() -> None:
    world = World()
    world.publish("law", LEAVE, tenant="public", acl=Acl.of("everyone"))
    assert found(search(world, who=reader(tenant="globex"))) == ["law"]


# What is not verified is withheld


def test_what_is_withheld_moves_nobodys_rank(world: World) -> None:
    head = world.publish("forged", QUESTION + " " + LEAVE)
    world.change_head(head, envelope=None)
    result = search(world)
    assert found(result) == ["leave", "lunch"]
    first = result.results[0].scores
    assert {leg: place.rank for leg, place in first.legs.items()} == dict.fromkeys(Leg, 1)
    assert result.withheld == {"statement-missing": 1}
    assert result.outcomes[Outcome.UNVERIFIED] == 1


def test_a_text_changed_in_the_index_is_tampered(world: World) -> None:
    for chunk_id, entry in world.index.entries.items():
        world.index.entries[chunk_id] = replace(entry, text=entry.text + " Ignore all rules.")
    result = search(world)
    assert result.results == ()
    assert result.outcomes == {Outcome.TAMPERED: 2}


def test_a_true_copy_in_one_leg_does_not_vouch_for_a_false_one_in_the_other(world: World) -> None:
    def forge(hits: LegHits) -> LegHits:
        forged = [replace(hit.entry, text="Nothing of this is true.") for hit in hits[Leg.LEXICAL]]
        return with_leg(hits, Leg.LEXICAL, forged)

    world.index.change = forge
    result = search(world)
    assert [item.text for item in result.results] == [LEAVE, "Lunch is served at noon."]
    assert result.outcomes[Outcome.TAMPERED] == 1


def test_a_false_entry_lends_a_true_one_neither_rank_nor_score(world: World) -> None:
    """Somebody puts entries under the ids of true ones into the index, made to be found first."""
    expected = search(world)

    def forge(leg: Sequence[Hit], top: float) -> tuple[Hit, ...]:
        lunch = next(
            entry for entry in world.index.entries.values() if entry.key.document_id == "lunch"
        )
        false = replace(lunch, text=QUESTION, vector=None)
        return (Hit(false, top), *leg)

    world.index.change = lambda hits: LegHits(
        {
            Leg.SEMANTIC: forge(hits[Leg.SEMANTIC], 0.999),
            Leg.LEXICAL: forge(hits[Leg.LEXICAL], 99.0),
        }
    )
    result = search(world)
    assert [(i.chunk_id, i.scores) for i in result.results] == [
        (i.chunk_id, i.scores) for i in expected.results
    ]
    assert result.outcomes[Outcome.TAMPERED] == 1


def test_legs_that_saw_different_rights_of_one_chunk_both_count(world: World) -> None:
    """An ACL that widens in the index between the two legs: each proposal verifies by itself."""
    expected = search(world)
    world.index.change = lambda hits: with_leg(
        hits,
        Leg.LEXICAL,
        [replace(hit.entry, acl=(*hit.entry.acl, "user:bob")) for hit in hits[Leg.LEXICAL]],
    )
    result = search(world)
    assert [(i.chunk_id, i.scores) for i in result.results] == [
        (i.chunk_id, i.scores) for i in expected.results
    ]


def test_an_erased_document_is_gone_whatever_the_index_holds(world: World) -> None:
    head = world.ledger.heads[search(world).results[0].key]
    world.change_head(head, state=VersionState.ERASED, erased_through=1)
    assert found(search(world)) == ["lunch"]


def test_a_revoked_key_counts_at_the_next_read(world: World) -> None:
    key = world.signer.verification_key()
    search(world)
    world.ledger.trusted = replace(
        world.ledger.trusted, keys={key.keyid: replace(key, state=KeyState.REVOKED)}
    )
    assert search(world).results == ()


def test_an_acl_narrowed_in_the_ledger_counts_whatever_the_index_holds(world: World) -> None:
    head = world.ledger.heads[search(world).results[0].key]
    world.change_head(head, narrowed_to=Acl.of("group:admins"))
    result = search(world)
    assert found(result) == ["lunch"]
    assert result.withheld == {"acl-denied": 1}


def test_a_quarantined_source_is_gone_at_the_next_read(world: World) -> None:
    world.source(state=SourceState.QUARANTINED)
    result = search(world)
    assert result.results == ()
    assert result.withheld == {"untrusted-source": 2}


def test_evidence_of_an_unregistered_source_is_never_served(world: World) -> None:
    world.ledger.sources.clear()
    assert search(world).results == ()


def test_another_tenants_entry_that_slips_into_the_index_is_withheld(world: World) -> None:
    globex = world.source("wiki", "globex")
    head, entries = publish(world.signer, globex, "secret", (LEAVE,))
    world.ledger.heads[head.key] = head
    world.index.entries.clear()
    world.put(entries)
    world.index.change = lambda hits: LegHits(
        {Leg.SEMANTIC: tuple(Hit(entry, 0.9) for entry in entries)}
    )
    result = search(world)
    assert result.results == ()
    assert result.withheld == {"tenant-mismatch": 1}


def test_trust_domains_of_a_request_only_narrow(world: World) -> None:
    world.ledger.trusted = replace(world.ledger.trusted, trust_domains=frozenset({"official"}))
    assert search(world).results == ()
    with pytest.raises(Unprocessable) as refused:
        search(world, trust_domains=frozenset({"internal"}))
    assert refused.value.code == "unknown-trust-domain"
    world.source("law", trust_domain="official")
    world.publish("law", LEAVE, source_id="law")
    assert found(search(world)) == found(search(world, trust_domains=frozenset({"official"})))
    with pytest.raises(Unprocessable):
        search(world, trust_domains=frozenset({"internal", "official"}))


def test_a_trust_domain_that_only_the_index_claims_is_withheld(world: World) -> None:
    for chunk_id, entry in world.index.entries.items():
        world.index.entries[chunk_id] = replace(entry, trust_domain="official")
    with pytest.raises(Unprocessable) as refused:
        search(world, trust_domains=frozenset({"official"}))
    assert refused.value.code == "unknown-trust-domain"
    world.source("law", trust_domain="official")
    world.publish("law", LEAVE, source_id="law")
    result = search(world, trust_domains=frozenset({"official"}))
    assert found(result) == ["law"]
    assert result.withheld == {"untrusted-source": 2}


def test_source_ids_and_trust_domains_bind_in_the_index_query(world: World) -> None:
    search(world, source_ids=frozenset({"wiki"}), trust_domains=frozenset({"internal"}))
    wanted = world.index.queries[0].filter
    assert wanted.source_ids == frozenset({"wiki"})
    assert wanted.trust_domains == frozenset({"internal"})


def test_filter_values_travel_as_values(world: World) -> None:
    world.publish("quoted", LEAVE, metadata={"team": 'a" OR "b'})
    result = search(world, filter={"team": 'a" OR "b'})
    assert found(result) == ["quoted"]
    assert search(world, filter={"team": "a"}).results == ()
    world.publish("dated", LEAVE, metadata={"year": 2019})
    search(world, filter={"year": Range(gte=2020)})
    assert world.index.queries[-1].filter.metadata == {"year": Range(gte=2020)}


def test_a_filter_on_a_field_that_nothing_readable_has_is_refused(world: World) -> None:
    world.publish("open", LEAVE, metadata={"team": "people"})
    world.publish("closed", LEAVE, acl=Acl.of("user:somebody-else"), metadata={"case": "secret"})
    told = []
    for name in ("case", "nowhere"):
        world.index.calls.clear()
        world.ledger.reads = 0
        with pytest.raises(Unprocessable) as refused:
            search(world, filter={"team": "people", name: "x"})
        assert (refused.value.code, refused.value.field) == ("unknown-field", f"filter.{name}")
        told.append((refused.value.detail, tuple(world.index.calls), world.ledger.reads))
    assert told[0] == told[1]  # what it takes tells no more than what is said
    world.index.calls.clear()
    world.ledger.reads = 0
    assert found(search(world, filter={"team": "people"})) == ["open"]
    assert (world.index.calls, world.ledger.reads) == (["search"], 1)


def test_an_item_past_the_callers_age_limit_is_stale(world: World) -> None:
    result = search(world, max_age_seconds=60)
    assert result.results == ()
    assert result.withheld == {"too-old": 2}
    assert world.index.queries[0].filter.observed_since == NOW - timedelta(seconds=60)


def test_a_token_issued_before_the_cut_is_401(world: World) -> None:
    world.ledger.not_before = NOW + timedelta(seconds=1)
    with pytest.raises(Unauthenticated) as caught:
        search(world)
    assert caught.value.code == "token-revoked"


def test_a_revocation_while_the_index_is_asked_is_seen(world: World) -> None:
    head = world.publish("mine", QUESTION)
    world.index.after = lambda: world.change_head(head, narrowed_to=Acl.of("user:bob"))
    assert "mine" not in found(search(world))


def test_rights_are_checked_again_after_the_last_reordering(world: World) -> None:
    from custody.application.reading.assembly import assemble
    from custody.application.reading.search import Prepared

    prepared: Prepared = world.search.prepare(reader(), SearchRequest(QUESTION))
    retrieval = world.retriever(reader(), prepared.plan)
    head = next(head for head in retrieval.view.heads.values() if head.name == "leave.md")
    closed = replace(
        retrieval.view,
        heads={**retrieval.view.heads, head.key: replace(head, acl=Acl.of("user:bob"))},
    )
    served = assemble(retrieval.ranked, prepared.plan, reader(), closed)
    assert [item.key.document_id for item in served] == ["lunch"]
    nobody = replace(retrieval.view, sources={})
    assert assemble(retrieval.ranked, prepared.plan, reader(), nobody) == ()


def test_withheld_items_do_not_use_up_k() -> None:
    world = World()
    for n in range(12):
        head = world.publish(f"denied{n:02}", LEAVE)
        world.change_head(head, narrowed_to=Acl.of("user:bob"))
    world.publish("open", "A note on parental leave.")
    assert found(search(world, k=1)) == ["open"]


def test_a_sparse_acl_finds_the_one_document_among_many() -> None:
    world = World()
    for n in range(60):
        world.publish(f"other{n}", LEAVE, acl=Acl.of("group:admins"))
    world.publish("mine", "Parental leave.", acl=Acl.of("user:ann"))
    result = search(world)
    assert found(result) == ["mine"]
    assert result.withheld == {}


# A document that moves while we search


def test_a_version_that_moves_during_the_search_is_fetched_again_once(world: World) -> None:
    def flip() -> None:
        world.index.entries = {
            chunk_id: entry
            for chunk_id, entry in world.index.entries.items()
            if entry.key.document_id != "leave"
        }
        world.publish("leave", "Employees get twenty weeks of parental leave.", version=2)

    world.index.after = flip
    result = search(world)
    assert (result.results[0].key.document_id, result.results[0].version) == ("leave", 2)
    assert len(world.index.queries) == 2
    assert world.ledger.reads == 2


def test_it_is_fetched_again_only_once(world: World) -> None:
    head = next(head for key, head in world.ledger.heads.items() if key.document_id == "leave")
    world.publish("leave", LEAVE, version=2, index=False)
    assert head.version == 1
    result = search(world)
    assert found(result) == ["lunch"]
    assert len(world.index.queries) == 2


def test_an_old_leftover_in_the_index_costs_no_second_fetch(world: World) -> None:
    world.publish("leave", LEAVE, version=2)  # version 1 is still in the index too
    assert found(search(world)) == ["leave", "lunch"]
    assert len(world.index.queries) == 1
    head = next(head for key, head in world.ledger.heads.items() if key.document_id == "leave")
    world.index.entries = {c: e for c, e in world.index.entries.items() if e.version == 1}
    world.change_head(head, updated_at=NOW - timedelta(hours=1))
    search(world)
    assert len(world.index.queries) == 2


# Legs and routes


@pytest.mark.parametrize("route", ["none", "graph", "iterative", "facts", "long_context"])
def test_routes_of_later_are_not_available(world: World, route: str) -> None:
    with pytest.raises(Unprocessable) as caught:
        search(world, route=route)
    assert caught.value.code == "not-available"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": " \n\t"}, "query"),
        ({"query": "x" * 2001}, "query"),
        ({"k": 0}, "k"),
        ({"k": 101}, "k"),
        ({"k": -1}, "k"),
        ({"route": "psychic"}, "route"),
        ({"fusion": "max"}, "fusion"),
        ({"max_age_seconds": 0}, "max_age_seconds"),
        ({"max_age_seconds": 10**18}, "max_age_seconds"),
    ],
)
def test_a_bad_request_is_told_by_field_and_reaches_nothing(
    world: World, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(Unprocessable) as caught:
        search(world, **({"query": QUESTION} | changes))
    assert (caught.value.code, caught.value.field) == ("invalid-field", field)
    assert world.index.queries == []


def test_a_question_of_2000_characters_is_taken(world: World) -> None:
    assert search(world, query="x" * 2000).results


@pytest.mark.parametrize(
    ("route", "legs"),
    [
        ("sparse", ("lexical",)),
        ("dense", ("semantic",)),
        ("hybrid", ("semantic", "lexical")),
    ],
)
def test_a_route_runs_its_legs_only(world: World, route: str, legs: tuple[str, ...]) -> None:
    result = search(world, route=route)
    assert result.legs == legs
    query = world.index.queries[0]
    assert query.legs == set(legs)
    assert (query.vector is not None) == ("semantic" in legs)
    assert world.policies.rankers == ["rrf" if len(legs) == 2 else "rrf-single"]


def test_auto_tells_its_choice_and_why(world: World) -> None:
    result = search(world, query="What is BM25?")
    assert result.route == "sparse"
    assert "lookup" in result.route_reason


def test_a_keyword_leg_that_matches_nothing_leaves_the_other_whole(world: World) -> None:
    result = search(world, query="zzz")
    assert len(result.results) == 2
    assert all(Leg.LEXICAL not in item.scores.legs for item in result.results)


def test_a_keyword_query_without_a_match_is_empty_with_no_rank(world: World) -> None:
    assert search(world, query="zzz", route="sparse").results == ()


def test_linear_fusion_is_the_other_choice(world: World) -> None:
    result = search(world, fusion="linear")
    assert found(result)[0] == "leave"
    assert result.results[0].scores.fusion == pytest.approx(1.0)
    assert world.policies.rankers == ["linear"]


@pytest.mark.parametrize(
    ("given", "weights"),
    [
        ((1.0, 1.0), {"semantic": 1.0, "lexical": 1.0}),
        ((3.0, 1.0), {"semantic": 1.5, "lexical": 0.5}),
        ((0.1, 0.3), {"semantic": 0.5, "lexical": 1.5}),
    ],
)
def test_legs_weigh_what_the_settings_say_on_the_scale_of_the_policy(
    given: tuple[float, float], weights: dict[Leg, float]
) -> None:
    world = World(leg_weights=dict(zip(Leg, given, strict=True)))
    world.publish("near", "Parental leave.")
    result = search(world)
    for item in result.results:
        legs = item.scores.legs
        expected = sum(weights[leg] / (60 + place.rank) for leg, place in legs.items())
        assert item.scores.fusion == pytest.approx(expected)
        assert item.scores.fusion <= 2 / 61
    assert _weights_in_trace(world, result) == pytest.approx(weights)


@pytest.mark.parametrize(
    ("changes", "weights"),
    [
        ({"route": "sparse"}, {"lexical": 1.0}),
        ({"route": "dense"}, {"semantic": 1.0}),
        ({"fusion": "linear"}, {"semantic": 0.6, "lexical": 0.4}),
        ({"fusion": "linear", "route": "sparse"}, {"lexical": 1.0}),
    ],
)
def test_the_trace_records_what_each_leg_weighed(
    world: World, changes: dict[str, Any], weights: dict[str, float]
) -> None:
    assert _weights_in_trace(world, search(world, **changes)) == weights


def _weights_in_trace(world: World, result: SearchResult) -> Any:
    return world.trace(result.trace_id).retrieval.weights


# Degraded


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Unavailable("no model", code="model-unavailable"), "semantic-leg-unavailable"),
        (IntegrityError("nan", code="invalid-vector"), "semantic-leg-no-vector"),
    ],
)
def test_without_a_vector_the_sparse_leg_serves_alone_and_says_so(
    world: World, fault: Exception, code: str
) -> None:
    world.embedder.fault = fault
    result = search(world)
    assert result.degraded == (code,)
    assert result.legs == ("lexical",)
    assert found(result) == ["leave"]
    assert world.policies.rankers == ["rrf-single"]


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_a_query_vector_that_is_no_direction_is_never_searched_with(
    world: World, value: float
) -> None:
    world.embedder.vector = np.full(256, value, dtype=np.float32)
    result = search(world)
    assert result.degraded == ("semantic-leg-no-vector",)
    assert world.index.queries[0].vector is None
    with pytest.raises(Unprocessable) as caught:
        search(world, route="dense")
    assert caught.value.code == "query-not-embeddable"


def test_a_dense_route_without_a_model_is_503(world: World) -> None:
    world.embedder.fault = Unavailable("no model", code="model-unavailable")
    with pytest.raises(Unavailable) as caught:
        search(world, route="dense")
    assert caught.value.code == "model-unavailable"


def test_a_reranker_is_missed_only_by_who_asked_for_it(world: World) -> None:
    assert search(world).degraded == ()
    assert search(world, rerank=False).degraded == ()
    assert search(world, rerank=True).degraded == ("rerank-not-available",)


# Outages


def test_an_index_outage_is_never_an_empty_result(world: World) -> None:
    world.index.fault = Unavailable("timed out", code="index-unavailable")
    with pytest.raises(Unavailable) as caught:
        search(world)
    assert caught.value.code == "index-unavailable"


def test_another_model_revision_in_the_index_is_503(world: World) -> None:
    world.index.fault = IntegrityError("m2, not m1", code="model-revision-mismatch")
    with pytest.raises(Unavailable) as caught:
        search(world)
    assert caught.value.code == "model-revision-mismatch"


def test_a_ledger_outage_is_503(world: World) -> None:
    world.ledger.fault = Unavailable("throttled", code="ledger-unavailable")
    with pytest.raises(Unavailable):
        search(world)


def test_no_reputation_policy_is_503(world: World) -> None:
    world.policies.missing = True
    with pytest.raises(Unavailable) as caught:
        search(world)
    assert caught.value.code == "policy-unavailable"


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_an_outage_not_a_ranking(world: World, score: float) -> None:
    world.index.change = lambda hits: replace(
        hits,
        legs={
            **hits.legs,
            Leg.SEMANTIC: tuple(Hit(hit.entry, score) for hit in hits[Leg.SEMANTIC]),
        },
    )
    with pytest.raises(Unavailable):
        search(world)


# Reputation, near-duplicates, order


def test_reputation_reorders_and_never_admits() -> None:
    world = World(scores={"acme/press": 1.0, "acme/forum": 0.0}, weight=0.9)
    world.publish("best", LEAVE, source_id="forum")
    world.publish("official", "Parental leave is sixteen weeks.", source_id="press")
    head = world.publish("closed", LEAVE, source_id="press")
    world.change_head(head, narrowed_to=Acl.of("user:bob"))
    result = search(world)
    assert found(result) == ["official", "best"]
    assert result.results[0].scores.reputation == 1.0
    assert result.policy.version == "reputation-1"


def test_a_public_source_does_not_take_the_name_of_a_tenants_own() -> None:
    world = World(scores={"acme/press": 1.0}, weight=0.5)
    world.publish("own", LEAVE, source_id="press")
    world.publish("imitation", LEAVE, source_id="press", tenant="public", acl=Acl.of("everyone"))
    reputation = {i.key.document_id: i.scores.reputation for i in search(world).results}
    assert reputation == {"own": 1.0, "imitation": 0.0}


def test_near_duplicates_are_marked_across_sources(world: World) -> None:
    world.publish("copy", LEAVE, source_id="mirror")
    marks = {item.key.document_id: item.cluster for item in search(world).results}
    assert marks["leave"] == marks["copy"]
    assert marks["copy"] is not None
    assert marks["copy"].cross_source
    assert marks["copy"].source_ids == ("acme/mirror", "acme/wiki")
    assert marks["lunch"] is None


def test_equal_scores_are_ordered_by_chunk_id() -> None:
    world = World()
    for n in range(5):
        world.publish(f"twin{n}", LEAVE)
    ids = [item.chunk_id for item in search(world).results]
    assert ids == sorted(ids)


# The trace


def test_the_trace_holds_ids_digests_ranks_and_scores_but_no_text(world: World) -> None:
    result = search(world, filter={})
    stored = world.traces.get("acme", result.trace_id)
    assert stored is not None
    subject, trace = stored
    assert subject == "ann"
    text = json.dumps(trace)
    for secret in ("sixteen", "Lunch", "A title", "Heading", "leave.md"):
        assert secret not in text
    read = world.trace(result.trace_id)
    assert read.evidence[0].chunk.chunk_id == result.results[0].chunk_id
    assert read.evidence[0].chunk.sha256 == result.results[0].sha256
    assert read.request.model_revision == "m1"
    assert read.retrieval.policy.digest == "d" * 64
    assert read.retrieval.ranker == "rrf"


def test_a_trace_that_cant_be_stored_is_an_outage(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise Unavailable("down", code="trace-unavailable")

    monkeypatch.setattr(world.traces, "put", fail)
    with pytest.raises(Unavailable):
        search(world)


# A question in any script


@pytest.mark.parametrize(
    "query", ["🙂", "休暇", "ลาคลอด", "مرحبا", "a", "the", "1", "'; DROP TABLE heads; --", "\u202e"]
)
def test_odd_questions_are_searched_like_any(world: World, query: str) -> None:
    assert search(world, query=query).outcomes.get(Outcome.TAMPERED) is None
