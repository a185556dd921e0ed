from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from custody.domain.ranking.gate_policy import GatePolicy, GatePreset, GateWeights
from custody.domain.ranking.sufficiency import GateItem, Judgement, Reason, bar, judge
from custody.domain.text.question import content_terms, evidence_terms
from custody.errors import IntegrityError

POLICY = GatePolicy(
    version="1",
    weights=GateWeights(top=0.35, coverage=0.30, margin=0.20, support=0.15),
    presets={
        "strict": GatePreset(threshold=0.70, top_floor=0.10, coverage_floor=0.35),
        "balanced": GatePreset(threshold=0.55, top_floor=0.10, coverage_floor=0.25),
        "lenient": GatePreset(threshold=0.40, top_floor=0.10, coverage_floor=0.15),
    },
)
QUESTION = content_terms("How many weeks of parental leave do employees get?")


def item(
    name: str,
    text: str = "Employees get sixteen weeks of parental leave.",
    cosine: float | None = 0.7,
    *,
    document: str | None = None,
    source: str = "handbook",
    cluster: int | None = None,
) -> GateItem:
    return GateItem(
        chunk_id=name,
        document=("acme", document or name),
        source=("acme", source),
        terms=evidence_terms(text),
        cosine=cosine,
        cluster=cluster,
    )


def decide(
    evidence: Sequence[GateItem],
    *,
    question: frozenset[str] = QUESTION,
    preset: str | None = None,
    threshold: float | None = None,
    measured: bool = True,
) -> Judgement:
    return judge(
        question,
        evidence,
        policy=POLICY,
        bar=bar(POLICY, preset=preset, threshold=threshold),
        measured=measured,
    )


def test_evidence_that_says_it_passes_and_says_so() -> None:
    found = decide([item("a"), item("b", "Lunch is served at noon.", 0.2)])
    assert found.passed
    assert found.reasons == (Reason.PASS,)
    assert "reaches the balanced threshold 0.55" in found.explanation


def test_the_score_is_the_weighted_sum_of_the_features() -> None:
    found = decide([item("a", cosine=0.6), item("b", "Lunch.", 0.5)])
    features = found.features
    assert features.top == 0.6
    assert features.coverage == 1.0
    assert features.margin == pytest.approx(0.1 / 0.3)
    assert features.support == 0.5
    assert found.score == pytest.approx(0.35 * 0.6 + 0.3 + 0.2 * 0.1 / 0.3 + 0.15 * 0.5)


def test_no_evidence_is_its_own_reason() -> None:
    found = decide([])
    assert (found.passed, found.reasons) == (False, (Reason.NO_EVIDENCE,))
    assert found.explanation == "No verified evidence was found."


def test_a_low_top_score_alone_is_reached_and_explained() -> None:
    found = decide([item("a", cosine=0.09), item("b", cosine=0.09, source="wiki")], threshold=0.0)
    assert found.reasons == (Reason.LOW_TOP_SCORE,)
    assert "loosely related" in found.explanation
    assert "floor of the balanced preset" in found.explanation


def test_a_low_coverage_alone_is_reached_and_explained() -> None:
    found = decide([item("a", "Nothing shared here.", 0.99), item("b", "Lunch.", 0.1)])
    assert found.reasons == (Reason.LOW_COVERAGE, Reason.NO_CONSENSUS)
    alone = decide([item("a", "Nothing shared here.", 0.99)], threshold=0.0)
    assert alone.reasons == (Reason.LOW_COVERAGE,)
    assert "own terms" in alone.explanation


def test_no_margin_is_reached_and_explained() -> None:
    evidence = [item(name, "Employees get weeks.", 0.45, source=name) for name in "abc"]
    found = decide(evidence, threshold=0.70)
    assert Reason.NO_MARGIN in found.reasons
    assert "stands out" in found.explanation


def test_no_consensus_is_reached_and_explained() -> None:
    found = decide([item("a", cosine=0.9), item("b", "Lunch.", 0.0)], threshold=0.99)
    assert found.reasons == (Reason.LOW_TOP_SCORE, Reason.NO_CONSENSUS)
    lone = decide([item("a", cosine=1.0), item("b", "Lunch.", 0.0)], threshold=0.99)
    assert lone.reasons == (Reason.NO_CONSENSUS,)
    assert "independent sources" in lone.explanation


def test_a_failing_score_always_has_a_reason() -> None:
    for cosine in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        for threshold in (0.01, 0.4, 0.7, 1.0):
            found = decide([item("a", cosine=cosine)], threshold=threshold)
            assert found.reasons
            assert found.passed == (found.reasons == (Reason.PASS,))
            if found.score < threshold:
                assert not found.passed


def test_the_top_floor_holds_at_any_threshold() -> None:
    assert not decide([item("a", cosine=0.0999)], threshold=0.0).passed
    assert decide([item("a", cosine=0.10)], threshold=0.0).passed


@pytest.mark.parametrize(
    ("preset", "floor"), [("strict", 0.35), ("balanced", 0.25), ("lenient", 0.15)]
)
def test_each_preset_has_its_coverage_floor(preset: str, floor: float) -> None:
    question = frozenset(f"term{n}" for n in range(100))
    enough = int(floor * 100)
    for held, passes in ((enough - 1, False), (enough, True)):
        text = " ".join(f"term{n}" for n in range(held))
        found = decide([item("a", text)], question=question, preset=preset, threshold=0.0)
        assert found.passed is passes


def test_an_explicit_threshold_wins_over_a_preset() -> None:
    found = decide([item("a")], preset="lenient", threshold=0.99)
    assert found.bar.threshold == 0.99
    assert found.bar.preset == "lenient"
    assert not found.passed
    assert decide([item("a")], preset="strict", threshold=0.3).passed
    assert bar(POLICY, preset="strict", threshold=0.0).threshold == 0.0
    assert bar(POLICY, preset=None, threshold=None).threshold == 0.55


@pytest.mark.parametrize("threshold", [-0.01, 1.01, math.nan, math.inf, -math.inf])
def test_a_threshold_outside_0_and_1_is_an_error(threshold: float) -> None:
    with pytest.raises(ValueError):
        bar(POLICY, preset=None, threshold=threshold)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_similarity_that_is_no_number_fails_closed_at_any_threshold(value: float) -> None:
    for evidence in ([item("a", cosine=value)], [item("a", cosine=0.9), item("b", cosine=value)]):
        found = decide(evidence, threshold=0.0)
        assert not found.passed
        assert found.score == 0.0
        assert math.isfinite(found.score)


def test_unknown_similarities_fail_closed_where_a_semantic_leg_ran() -> None:
    found = decide([item("a", cosine=None)], threshold=0.0)
    assert (found.passed, found.features.top) == (False, 0.0)


def test_who_are_they_never_passes() -> None:
    question = content_terms("who are they?")
    assert question == frozenset()
    found = decide([item("a", "Who are they? They are who they are.", 0.99)], question=question,
                   threshold=0.0)  # fmt: skip
    assert not found.passed
    assert Reason.LOW_COVERAGE in found.reasons


@pytest.mark.parametrize("text", ["", "the of and", "🙂🙂", "???", "what is it"])
def test_a_question_without_content_never_passes(text: str) -> None:
    found = decide([item("a", text, 0.99)], question=content_terms(text), threshold=0.0)
    assert not found.passed


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("育児休暇は何週間ですか", "育児休暇は十六週間です。"),
        ("Сколько недель отпуска?", "Отпуск: шестнадцать недель отпуска."),
        ("πόσες εβδομάδες άδειας", "δεκαέξι εβδομάδες άδειας"),
        ("ลาคลอดกี่สัปดาห์", "ลาคลอดกี่สัปดาห์"),
    ],
)
def test_terms_of_other_scripts_are_covered(question: str, text: str) -> None:
    terms = content_terms(question)
    assert terms
    covered = len(terms & evidence_terms(text)) / len(terms)
    assert covered >= 0.5


def test_one_shared_word_is_no_coverage_to_speak_of() -> None:
    question = content_terms("What is music?")
    found = decide([item("a", "Press the key to play music.", 0.36), item("b", "Lunch.", 0.05)],
                   question=question)  # fmt: skip
    assert found.features.coverage == pytest.approx(1 / 3)
    assert not found.passed
    assert found.reasons == (Reason.LOW_TOP_SCORE, Reason.LOW_COVERAGE, Reason.NO_CONSENSUS)


def test_an_item_below_the_support_similarity_carries_nothing() -> None:
    assert decide([item("a", cosine=0.39)]).features.support == 0.0
    assert decide([item("a", cosine=0.40)]).features.support == 0.5


def test_a_negation_is_part_of_the_question() -> None:
    terms = content_terms("Which staff are not eligible?")
    assert "not" in terms
    assert "not" not in evidence_terms("All staff are eligible.")


def test_chunks_of_one_document_are_one_voice() -> None:
    evidence = [item(f"c{n}", document="same") for n in range(5)]
    found = decide(evidence)
    assert found.features.support == 0.5
    assert found.features.margin == 0.7  # no other document to stand out from


def test_one_source_is_one_voice_however_many_documents() -> None:
    assert decide([item(f"d{n}") for n in range(5)]).features.support == 0.5


def test_two_sources_are_consensus_but_not_when_one_copies_the_other() -> None:
    independent = [item("a"), item("b", source="wiki")]
    assert decide(independent).features.support == 1.0
    copies = [replace(each, cluster=0) for each in independent]
    assert decide(copies).features.support == 0.5


def test_an_item_that_is_far_or_off_the_question_carries_nothing() -> None:
    far = [item("a", cosine=0.8), item("b", cosine=0.59, source="wiki")]
    assert decide(far).features.support == 0.5
    off = [item("a", cosine=0.8), item("b", "Lunch.", 0.8, source="wiki")]
    assert decide(off).features.support == 0.5


def test_without_a_semantic_leg_shared_words_bound_the_top_score() -> None:
    found = decide([item("a", cosine=None), item("b", "Lunch.", None)], measured=False)
    assert found.features.top == 0.5
    assert found.features.coverage == 1.0
    assert found.passed
    nothing = decide([item("a", "Lunch.", None)], measured=False, threshold=0.0)
    assert (nothing.passed, nothing.features.top) == (False, 0.0)


def test_without_a_semantic_leg_strict_still_asks_for_more_than_words() -> None:
    found = decide([item("a", cosine=None)], measured=False, preset="strict")
    assert not found.passed


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan, math.inf, True, "1", None, 10**400])
def test_a_preset_is_made_of_shares(threshold: float) -> None:
    with pytest.raises(IntegrityError) as refused:
        GatePreset(threshold=threshold, top_floor=0.1, coverage_floor=0.1)
    assert refused.value.code == "invalid-policy"
