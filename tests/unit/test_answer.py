from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from custody.application.reading.answer import Answer, AnswerRequest
from custody.application.reading.attempts import Stop
from custody.application.reading.search import SearchRequest
from custody.domain.index.candidates import Hit, LegHits
from custody.domain.model import Acl, KeyState, Leg, Principal, VersionState
from custody.domain.ranking.sufficiency import Reason, Verdict, judge
from custody.errors import Forbidden, Unauthenticated, Unavailable, Unprocessable
from tests.support.search_world import World, reader
from tests.support.signed_evidence import NOW

QUESTION = "How many weeks of parental leave do employees get?"
LEAVE = "Employees get sixteen weeks of parental leave."
OFF_CORPUS = "Which team won the football world cup in 1998?"
OVERRIDER = reader(scopes=frozenset({"custody/read", "custody/override"}))


def ask(
    world: World, query: str = QUESTION, who: Principal | None = None, **changes: Any
) -> Answer:
    gate = {
        name: changes.pop(name)
        for name in ("preset", "threshold", "gate_override", "generate")
        if name in changes
    }
    return world.answers(who or reader(), AnswerRequest(SearchRequest(query, **changes), **gate))


def filled(world: World) -> World:
    world.publish("leave", LEAVE)
    world.publish("lunch", "Lunch is served at noon in the canteen.")
    world.publish("parking", "Parking permits are renewed each January.")
    return world


@pytest.fixture
def world() -> World:
    return filled(World())


def test_an_answerable_question_passes_with_its_evidence_in_an_envelope(world: World) -> None:
    answer = ask(world)
    assert answer.verdict is Verdict.ANSWERABLE
    assert answer.judgement.reasons == (Reason.PASS,)
    assert answer.retries == 0
    assert answer.attempts[0].stop_reason is Stop.PASSED
    assert answer.evidence[0].text == LEAVE
    assert answer.envelope is not None
    assert "UNTRUSTED" in answer.envelope
    assert LEAVE in answer.envelope


def test_an_off_corpus_question_abstains_with_reasons_and_best_evidence(world: World) -> None:
    answer = ask(world, OFF_CORPUS)
    assert answer.verdict is Verdict.INSUFFICIENT
    assert Reason.LOW_COVERAGE in answer.judgement.reasons
    assert answer.evidence
    assert answer.envelope is None


@pytest.mark.parametrize("preset", ["strict", "balanced", "lenient"])
def test_off_corpus_abstains_at_every_preset(world: World, preset: str) -> None:
    assert ask(world, OFF_CORPUS, preset=preset).verdict is Verdict.INSUFFICIENT


def test_nothing_found_is_no_evidence() -> None:
    answer = ask(World())
    assert answer.judgement.reasons == (Reason.NO_EVIDENCE,)
    assert answer.attempts[0].stop_reason is Stop.NO_EVIDENCE
    assert answer.retries == 0


def test_evidence_that_the_ledger_withholds_counts_for_nothing(world: World) -> None:
    for head in list(world.ledger.heads.values()):
        world.change_head(head, narrowed_to=Acl.of("user:bob"))
    assert ask(world).judgement.reasons == (Reason.NO_EVIDENCE,)


def test_crafted_texts_of_an_unregistered_source_never_reach_the_gate() -> None:
    world = World()
    for n in range(5):
        world.publish(f"crafted{n}", f"{QUESTION} Employees get {n} weeks.", source_id="intruder")
    world.ledger.sources.clear()
    answer = ask(world)
    assert answer.verdict is Verdict.INSUFFICIENT
    assert answer.judgement.reasons == (Reason.NO_EVIDENCE,)


# Rewrites


def bridged() -> World:
    """The question shares words with a first text only; that one leads to a second."""
    world = World()
    world.publish("glossary", "Parental leave: see maternity entitlement rules.")
    world.publish("rules", "Maternity entitlement rules grant sixteen paid weeks.")
    return world


def test_a_rewrite_keeps_the_question_and_adds_words_of_verified_evidence() -> None:
    world = bridged()
    answer = ask(world, threshold=1.0)
    assert answer.retries >= 1
    second = answer.attempts[1]
    assert second.query.startswith(QUESTION)
    assert "maternity" in second.added_terms
    assert second.gain == pytest.approx(second.score - answer.attempts[0].score)


def test_a_rewrite_changes_only_the_lexical_leg_and_nothing_is_embedded_again() -> None:
    world = bridged()
    ask(world, threshold=1.0)
    first, second, *_ = world.index.queries
    assert second.text != first.text
    assert second.vector is first.vector
    assert world.embedder.asked == [QUESTION]


def test_evidence_of_all_attempts_is_kept() -> None:
    world = bridged()
    world.embedder.fault = Unavailable("no model", code="model-unavailable")
    answer = ask(world, "parental leave", threshold=1.0)
    assert {item.key.document_id for item in answer.evidence} == {"glossary", "rules"}
    assert [item.rank for item in answer.evidence] == [1, 2]


def test_what_an_earlier_attempt_found_stays_when_the_rewrite_does_not_find_it(
    world: World,
) -> None:
    def forget() -> None:
        world.index.entries = {
            chunk_id: entry
            for chunk_id, entry in world.index.entries.items()
            if entry.key.document_id != "leave"
        }

    world.index.after = forget
    answer = ask(world, threshold=1.0)
    assert answer.retries >= 1
    assert answer.evidence[0].key.document_id == "leave"
    assert answer.judgement.features.coverage == 1.0


def test_there_are_at_most_two_rewrites_and_a_small_gain_stops_early(world: World) -> None:
    answer = ask(world, OFF_CORPUS)
    assert answer.retries <= 2
    assert answer.attempts[-1].stop_reason in {
        Stop.NO_GAIN, Stop.NO_NEW_TERMS, Stop.RETRIES_EXHAUSTED,
    }  # fmt: skip
    assert all(attempt.stop_reason is None for attempt in answer.attempts[:-1])
    early = ask(world, threshold=1.0)
    assert early.retries == 1
    assert early.attempts[-1].gain is not None
    assert early.attempts[-1].gain < 0.01
    assert early.attempts[-1].stop_reason is Stop.NO_GAIN


def test_rewrites_stop_after_two_while_they_still_gain() -> None:
    calls = 0

    def improving(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        return replace(judge(*args, **kwargs), score=0.1 * calls, passed=False)

    answer = ask(filled(World(judge=improving)), OFF_CORPUS)
    assert answer.retries == 2
    assert answer.attempts[-1].stop_reason is Stop.RETRIES_EXHAUSTED


def test_a_rewrite_can_not_certify_itself(world: World) -> None:
    """The words that a rewrite adds are in the evidence by construction: were they judged, the
    coverage would rise."""
    answer = ask(world, OFF_CORPUS, preset="lenient")
    assert answer.retries >= 1
    assert answer.judgement.features.coverage == 0.0
    assert answer.verdict is Verdict.INSUFFICIENT


@pytest.mark.parametrize("question", ["who are they?", "🙂🙂", "the of and", "what is it about?"])
@pytest.mark.parametrize("preset", ["strict", "balanced", "lenient"])
def test_a_question_without_content_never_passes_even_after_rewrites(
    world: World, question: str, preset: str
) -> None:
    world.publish("they", "Who are they? They are what it is about 🙂🙂.")
    assert ask(world, question, preset=preset).verdict is Verdict.INSUFFICIENT


def test_false_pass_does_not_grow_with_retries() -> None:
    world = World()
    for n in range(12):
        world.publish(f"d{n}", f"The device number {n} has a battery, a screen and a button.")
    questions = [
        "What is music?", "Which button opens the embassy?", "How tall is mount Everest?",
        "Why is the sky blue?", "What did the minister say about the battery strike?",
    ]  # fmt: skip
    for question in questions:
        assert ask(world, question, preset="lenient").verdict is Verdict.INSUFFICIENT, question


def test_a_dense_route_has_no_words_to_rewrite(world: World) -> None:
    answer = ask(world, OFF_CORPUS, route="dense")
    assert world.index.queries[0].legs == {Leg.SEMANTIC}
    assert answer.retries == 0
    assert answer.attempts[0].stop_reason is Stop.NO_LEXICAL_LEG


def test_a_revocation_between_attempts_takes_the_evidence_of_the_first_with_it(
    world: World,
) -> None:
    head = next(h for h in world.ledger.heads.values() if h.name == "leave.md")

    def revoke_during_the_second() -> None:
        world.index.after = lambda: world.change_head(head, narrowed_to=Acl.of("user:bob"))

    world.index.after = revoke_during_the_second
    answer = ask(world, threshold=1.0)
    assert answer.retries >= 1
    assert "leave" not in {item.key.document_id for item in answer.evidence}


def test_a_key_revoked_between_attempts_takes_the_evidence_of_the_first_with_it(
    world: World,
) -> None:
    def revoke() -> None:
        key = world.signer.verification_key()
        world.ledger.trusted = replace(
            world.ledger.trusted, keys={key.keyid: replace(key, state=KeyState.REVOKED)}
        )

    def revoke_during_the_second() -> None:
        world.index.after = revoke

    world.index.after = revoke_during_the_second
    answer = ask(world, threshold=1.0)
    assert answer.retries >= 1
    assert answer.evidence == ()
    assert answer.judgement.reasons == (Reason.NO_EVIDENCE,)


def test_an_outage_in_a_retry_is_an_outage(world: World) -> None:
    def fail_next() -> None:
        world.index.fault = Unavailable("timed out", code="index-unavailable")

    world.index.after = fail_next
    with pytest.raises(Unavailable):
        ask(world, OFF_CORPUS)


# Thresholds and override


def test_an_explicit_threshold_wins_over_a_preset(world: World) -> None:
    assert ask(world, preset="lenient", threshold=1.0).verdict is Verdict.INSUFFICIENT
    answer = ask(world, preset="strict", threshold=0.1)
    assert answer.verdict is Verdict.ANSWERABLE
    assert answer.judgement.bar.threshold == 0.1


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_threshold_outside_its_range_is_refused(world: World, threshold: float) -> None:
    with pytest.raises(Unprocessable) as caught:
        ask(world, threshold=threshold)
    assert caught.value.field == "threshold"
    assert world.index.queries == []


def test_an_unknown_preset_is_refused(world: World) -> None:
    with pytest.raises(Unprocessable) as caught:
        ask(world, preset="Strict")
    assert caught.value.field == "preset"


def test_generation_is_not_available_yet(world: World) -> None:
    with pytest.raises(Unprocessable) as caught:
        ask(world, generate=True)
    assert caught.value.code == "not-available"


def test_an_override_needs_its_scope(world: World) -> None:
    with pytest.raises(Forbidden) as caught:
        ask(world, gate_override=True)
    assert caught.value.code == "scope-missing"
    assert world.index.queries == []


def test_an_override_is_told_and_recorded_with_the_reasons_that_stand(world: World) -> None:
    answer = ask(world, OFF_CORPUS, OVERRIDER, gate_override=True)
    assert answer.verdict is Verdict.ANSWERABLE
    assert answer.overridden
    assert not answer.judgement.passed
    assert answer.envelope is not None
    gate = world.trace(answer.answer_id).gate
    assert gate.overridden is True
    assert Reason.LOW_COVERAGE in gate.reasons


def test_an_override_of_a_gate_that_passed_overrode_nothing(world: World) -> None:
    assert not ask(world, who=OVERRIDER, gate_override=True).overridden


def test_no_evidence_can_not_be_overridden() -> None:
    answer = ask(World(), who=OVERRIDER, gate_override=True)
    assert answer.verdict is Verdict.INSUFFICIENT
    assert not answer.overridden


# Similarities


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_similarity_that_is_no_number_never_passes(world: World, value: float) -> None:
    world.index.change = lambda hits: replace(
        hits,
        legs={
            **hits.legs,
            Leg.SEMANTIC: tuple(Hit(hit.entry, value) for hit in hits[Leg.SEMANTIC]),
        },
    )
    with pytest.raises(Unavailable):
        ask(world, threshold=0.0)


@pytest.mark.parametrize("route", ["hybrid", "sparse"])
def test_a_false_entry_lends_no_similarity(world: World, route: str) -> None:
    expected = ask(world, route=route, threshold=1.0).judgement.features

    def forge(hits: LegHits) -> LegHits:
        true = hits[Leg.SEMANTIC][-1]
        false = replace(true.entry, text=QUESTION)
        forged = (Hit(false, 0.999), *hits[Leg.SEMANTIC])
        return replace(hits, legs={**hits.legs, Leg.SEMANTIC: forged})

    world.index.change = forge
    assert ask(world, route=route, threshold=1.0).judgement.features == expected


def test_on_a_sparse_route_similarity_is_measured_but_does_not_rank(world: World) -> None:
    world.publish("bm25", "BM25 ranking.")
    answer = ask(world, "What is BM25?")
    assert answer.route == "sparse"
    assert answer.verdict is Verdict.ANSWERABLE
    assert world.index.queries[0].legs == {Leg.SEMANTIC, Leg.LEXICAL}
    assert all(Leg.SEMANTIC not in item.scores.legs for item in answer.evidence)
    assert answer.judgement.features.top not in (0.0, 0.5)


def test_one_shared_word_is_no_answer_on_a_sparse_route(world: World) -> None:
    world.publish(
        "player",
        "Hold the side key of the E1234 for three seconds to switch the lamp to the next colour.",
    )
    answer = ask(world, "E1234 warranty length")
    assert answer.route == "sparse"
    assert answer.verdict is Verdict.INSUFFICIENT


def test_without_an_embedder_words_alone_are_judged_and_it_is_said(world: World) -> None:
    world.embedder.fault = Unavailable("no model", code="model-unavailable")
    answer = ask(world)
    assert answer.degraded == ("semantic-leg-unavailable",)
    assert answer.judgement.features.top == 0.5
    assert answer.verdict is Verdict.ANSWERABLE
    assert ask(world, OFF_CORPUS).verdict is Verdict.INSUFFICIENT
    assert ask(world, preset="strict").judgement.features.top == 0.5


# Support


def test_ten_chunks_of_one_document_are_one_voice() -> None:
    world = World()
    world.publish("leave", *[f"{LEAVE} Part {n}." for n in range(10)])
    assert ask(world).judgement.features.support == 0.5


def test_a_copy_in_another_source_is_no_second_voice(world: World) -> None:
    world.publish("copy", LEAVE, source_id="mirror")
    assert ask(world).judgement.features.support == 0.5
    world.publish("law", "By law employees get sixteen weeks of leave, parental.", source_id="law")
    assert ask(world).judgement.features.support == 1.0


# Trace


def test_the_trace_of_an_answer_holds_no_text_of_evidence(world: World) -> None:
    answer = ask(world, OFF_CORPUS)
    assert answer.attempts[1].added_terms
    stored = world.traces.get("acme", answer.answer_id)
    assert stored is not None
    text = json.dumps(stored[1])
    assert {"canteen", "january"} & set(answer.attempts[1].added_terms)
    for secret in ("sixteen", "canteen", "january", "title", "heading", "leave.md"):
        assert secret not in text.lower()
    trace = world.trace(answer.answer_id)
    assert trace.gate.verdict is Verdict.INSUFFICIENT
    assert trace.gate.policy.digest == "e" * 64
    assert len(trace.attempts[1].added_terms) == len(answer.attempts[1].added_terms)
    assert trace.request.query == OFF_CORPUS


def test_a_revoked_token_gets_no_answer(world: World) -> None:
    world.ledger.not_before = NOW.replace(year=2027)
    with pytest.raises(Unauthenticated):
        ask(world)


def test_an_erased_document_is_not_answered_from(world: World) -> None:
    head = next(h for h in world.ledger.heads.values() if h.name == "leave.md")
    world.change_head(head, state=VersionState.ERASED, erased_through=1)
    answer = ask(world)
    assert answer.verdict is Verdict.INSUFFICIENT
    assert "leave" not in {item.key.document_id for item in answer.evidence}
