import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.domain.model import SourceKey
from custody.domain.ranking.reputation import ReputationPolicy, lineage_id, rerank
from custody.errors import IntegrityError

POLICY = ReputationPolicy(
    version="7",
    source_scores={"acme/handbook": 0.9, "acme/forum": 0.1},
    reputation_weight=0.4,
    similarity_min=0.2,
    similarity_max=0.7,
)
LINEAGE = {"a": "acme/forum", "b": "acme/handbook", "c": "acme/new"}


def test_the_evidence_of_a_candidate_has_the_seven_fields() -> None:
    (found,) = rerank([("b", 0.45)], LINEAGE, POLICY)
    assert found._asdict() == {
        "chunk_id": "b",
        "source_id": "acme/handbook",
        "raw_similarity": 0.45,
        "normalized_similarity": pytest.approx(0.5),
        "reputation": 0.9,
        "final_score": pytest.approx(0.6 * 0.5 + 0.4 * 0.9),
        "policy_version": "7",
    }


def test_a_trusted_source_overtakes_a_slightly_more_similar_one() -> None:
    assert [item.chunk_id for item in rerank([("a", 0.5), ("b", 0.45)], LINEAGE, POLICY)] == [
        "b",
        "a",
    ]


@pytest.mark.parametrize(("raw", "expected"), [(0.1, 0.0), (0.2, 0.0), (0.7, 1.0), (3, 1.0)])
def test_scores_outside_the_bounds_are_clamped(raw: float, expected: float) -> None:
    assert rerank([("a", raw)], LINEAGE, POLICY)[0].normalized_similarity == expected


def test_ties_are_ordered_by_chunk_id() -> None:
    lineage = {"z": "acme/new", "y": "acme/new"}
    assert [item.chunk_id for item in rerank([("z", 0.3), ("y", 0.3)], lineage, POLICY)] == [
        "y",
        "z",
    ]


def test_an_unknown_source_gets_the_unknown_score_which_is_zero_by_default() -> None:
    assert POLICY.unknown_source_score == 0.0
    assert rerank([("c", 0.3)], LINEAGE, POLICY)[0].reputation == 0.0
    some = replace(POLICY, unknown_source_score=0.25)
    assert rerank([("c", 0.3)], LINEAGE, some)[0].reputation == 0.25


def test_a_trust_domain_s_score_serves_only_a_source_without_its_own() -> None:
    policy = replace(POLICY, trust_domain_scores={"internal": 0.7})
    domains = {"acme/forum": "internal", "acme/new": "internal"}
    found = {
        item.chunk_id: item.reputation
        for item in rerank([("a", 0.3), ("b", 0.3), ("c", 0.3)], LINEAGE, policy, domains)
    }
    assert found == {"a": 0.1, "b": 0.9, "c": 0.7}
    elsewhere = rerank([("c", 0.3)], LINEAGE, policy, {"acme/new": "unheard-of"})
    assert elsewhere[0].reputation == 0.0


def test_a_public_source_can_not_take_the_name_of_a_tenant_s_own() -> None:
    assert lineage_id(SourceKey("acme", "handbook")) == "acme/handbook"
    forged = lineage_id(SourceKey("public", "handbook"))
    assert rerank([("x", 0.3)], {"x": forged}, POLICY)[0].reputation == 0.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0, 1))
def test_reputation_reorders_and_never_admits_or_drops(raw: list[float], weight: float) -> None:
    candidates = [(f"c{at}", score) for at, score in enumerate(raw)]
    lineage = {chunk_id: "acme/forum" for chunk_id, _ in candidates}
    found = rerank(candidates, lineage, replace(POLICY, reputation_weight=weight))
    assert sorted(item.chunk_id for item in found) == sorted(lineage)
    assert all(0.0 <= item.final_score <= 1.0 for item in found)


INVALID: dict[str, dict[str, Any]] = {
    "empty version": {"version": ""},
    "version that is no text": {"version": 7},
    "boolean weight": {"reputation_weight": True},
    "text for a number": {"reputation_weight": "0.4"},
    "no number": {"similarity_min": None},
    "NaN": {"reputation_weight": math.nan},
    "infinite bound": {"similarity_max": math.inf},
    "an integer beyond floats": {"similarity_max": 10**400},
    "weight above one": {"reputation_weight": 1.01},
    "negative weight": {"reputation_weight": -0.01},
    "unknown score above one": {"unknown_source_score": 1.5},
    "boolean unknown score": {"unknown_source_score": False},
    "source score above one": {"source_scores": {"s": 2}},
    "boolean source score": {"source_scores": {"s": True}},
    "source score NaN": {"source_scores": {"s": math.nan}},
    "source without a name": {"source_scores": {"": 0.5}},
    "trust domain score below zero": {"trust_domain_scores": {"d": -1}},
    "bounds reversed": {"similarity_min": 0.7, "similarity_max": 0.2},
    "bounds equal": {"similarity_min": 0.5, "similarity_max": 0.5},
    "bounds that flatten all": {"similarity_min": 0.0, "similarity_max": 1e-300},
    "bounds closer than a score": {"similarity_min": 0.5, "similarity_max": 0.5009},
    "no ranker": {"ranker": ""},
}


@pytest.mark.parametrize("change", INVALID.values(), ids=INVALID.keys())
def test_an_invalid_policy_is_refused_as_it_is_made(change: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError) as caught:
        replace(POLICY, **change)
    assert caught.value.code == "invalid-policy"


def test_the_bounds_need_only_be_finite() -> None:
    wide = replace(POLICY, similarity_min=-1.7e308, similarity_max=1.7e308)
    found = rerank([("a", 0), ("b", 1e308)], LINEAGE, wide)
    assert {item.chunk_id: item.normalized_similarity for item in found} == {
        "a": 0.5,
        "b": pytest.approx(0.5 + 1 / 3.4),
    }
    assert replace(POLICY, similarity_min=-5, similarity_max=40).normalize(17.5) == 0.5


@pytest.mark.parametrize(
    ("candidates", "lineage", "code"),
    [
        ([("", 0.5)], {"": "s"}, "invalid-candidate"),
        ([(7, 0.5)], {7: "s"}, "invalid-candidate"),
        ([("a", 0.5), ("a", 0.4)], LINEAGE, "invalid-candidate"),
        ([("a", True)], LINEAGE, "invalid-candidate"),
        ([("a", math.nan)], LINEAGE, "invalid-candidate"),
        ([("a", math.inf)], LINEAGE, "invalid-candidate"),
        ([("a", "0.5")], LINEAGE, "invalid-candidate"),
        ([("q", 0.5)], LINEAGE, "lineage-missing"),
        ([("a", 0.5)], {"a": ""}, "lineage-missing"),
        ([("a", 0.5)], {"a": 5}, "lineage-missing"),
        ([("a", 0.5)], {"a": None}, "lineage-missing"),
    ],
)
def test_a_bad_candidate_is_an_error_and_never_a_default(
    candidates: Any, lineage: Any, code: str
) -> None:
    with pytest.raises(IntegrityError) as caught:
        rerank(candidates, lineage, POLICY)
    assert caught.value.code == code
