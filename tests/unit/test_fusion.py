import itertools
import math
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.domain.model import Leg
from custody.domain.ranking.fusion import (
    LINEAR_WEIGHTS,
    RRFConfig,
    ScoredList,
    fuse,
    fuse_linear,
    leg_depth,
    normalize_scores,
    ranker,
)
from custody.errors import IntegrityError

IDS = st.text("abcdefgh", min_size=1, max_size=3)
BOTH = [LINEAR_WEIGHTS[Leg.SEMANTIC], LINEAR_WEIGHTS[Leg.LEXICAL]]
SCORES = st.floats(-1e6, 1e6)


def by_score(leg: ScoredList) -> ScoredList:
    return sorted(leg, key=lambda item: (-item[1], item[0]))


LEGS = st.lists(st.tuples(IDS, SCORES), unique_by=lambda item: item[0], max_size=61).map(by_score)


def order(*legs: ScoredList, **options: Any) -> list[str]:
    return [item.chunk_id for item in fuse(*legs, **options)]


def leg(*ids: str) -> list[tuple[str, float]]:
    return [(chunk_id, 1.0 - rank / 1000) for rank, chunk_id in enumerate(ids)]


# the worked numbers


def test_the_defaults_are_the_worked_ones() -> None:
    assert RRFConfig() == RRFConfig(k=60, retrieve_k=50, final_k=10)


def test_what_both_legs_found_comes_first() -> None:
    assert order([("a", 0.9), ("b", 0.8)], [("a", 8.0), ("c", 7.0)])[0] == "a"


@pytest.mark.parametrize("legs", [([("a", 0.9)], []), ([], [("a", 7.0)])])
def test_one_leg_alone_gives_one_61st(legs: tuple[ScoredList, ScoredList]) -> None:
    (found,) = fuse(*legs)
    assert (found.chunk_id, found.score) == ("a", 1 / 61)


def test_nothing_from_nothing() -> None:
    assert fuse([], []) == []


def test_equal_sums_are_ordered_by_chunk_id() -> None:
    a, b = fuse([("a", 0.9), ("b", 0.8)], [("b", 8.0), ("a", 7.0)])
    assert (a.chunk_id, b.chunk_id) == ("a", "b")
    assert a.score == b.score
    assert (a.ranks, b.ranks) == ((1, 2), (2, 1))


def test_third_and_first_outranks_first_and_absent() -> None:
    assert order(leg("only", "x", "both"), leg("both", "y"))[0] == "both"


def test_two_61sts_outrank_one() -> None:
    both, one = fuse(leg("a"), leg("a"))[0], fuse(leg("a"), [])[0]
    assert both.score == pytest.approx(0.0328, abs=5e-5)
    assert one.score == pytest.approx(0.0164, abs=5e-5)
    assert both.score > one.score


def test_identical_lists_keep_their_order() -> None:
    assert order(leg("c", "a", "b"), leg("c", "a", "b")) == ["c", "a", "b"]


def test_disjoint_lists_interleave() -> None:
    assert order(leg("a", "c"), leg("b", "d")) == ["a", "b", "c", "d"]


@given(LEGS, LEGS, st.integers(1, 20))
def test_never_more_than_final_k(semantic: ScoredList, lexical: ScoredList, final_k: int) -> None:
    found = fuse(semantic, lexical, config=RRFConfig(final_k=final_k))
    distinct = {chunk_id for chunk_id, _ in (*semantic[:50], *lexical[:50])}
    assert len(found) == min(final_k, len(distinct))


@given(LEGS, LEGS)
def test_the_output_is_sorted_by_fused_score_then_id(
    semantic: ScoredList, lexical: ScoredList
) -> None:
    found = fuse(semantic, lexical, config=RRFConfig(final_k=200))
    assert found == sorted(found, key=lambda item: (-item.score, item.chunk_id))


@given(st.permutations([f"d{number}" for number in range(61)]), st.data())
def test_with_61_a_list_every_two_leg_item_beats_every_one_leg_item(
    ids: list[str], data: st.DataObject
) -> None:
    shared = data.draw(st.integers(1, 60))
    other = data.draw(st.permutations([*ids[:shared], *(f"e{n}" for n in range(61 - shared))]))
    found = fuse(leg(*ids), leg(*other), config=RRFConfig(retrieve_k=61, final_k=122))
    both = [None not in item.ranks for item in found]
    assert both == sorted(both, reverse=True)


# failures met in the field


@given(LEGS, LEGS, st.integers(1, 30))
def test_a_one_leg_hit_never_appears_without_the_better_hits_of_its_leg(
    semantic: ScoredList, lexical: ScoredList, final_k: int
) -> None:
    found = fuse(semantic, lexical, config=RRFConfig(retrieve_k=100, final_k=final_k))
    present = {item.chunk_id for item in found}
    for position, one in enumerate((semantic, lexical)):
        alone = [
            item.ranks[position]
            for item in found
            if [rank is not None for rank in item.ranks] == [at == position for at in (0, 1)]
        ]
        for rank in alone:
            assert rank is not None
            assert {chunk_id for chunk_id, _ in one[: rank - 1]} <= present


@given(LEGS, LEGS)
def test_a_short_leg_never_reorders_what_only_the_other_found(
    semantic: ScoredList, lexical: ScoredList
) -> None:
    found = order(semantic, lexical[:1], config=RRFConfig(retrieve_k=100, final_k=200))
    short = {chunk_id for chunk_id, _ in lexical[:1]}
    alone = [chunk_id for chunk_id, _ in semantic if chunk_id not in short]
    assert [chunk_id for chunk_id in found if chunk_id not in short] == alone


@given(st.lists(IDS, unique=True, min_size=1, max_size=30), st.randoms())
def test_tied_scores_come_in_one_order_whatever_the_layout(ids: list[str], shuffle: Random) -> None:
    tied = [(chunk_id, 1.0) for chunk_id in ids]
    shuffle.shuffle(tied)
    assert order(by_score(tied), [], config=RRFConfig(final_k=50)) == sorted(ids)


@given(LEGS, LEGS)
def test_the_top_5_is_a_prefix_of_the_top_10(semantic: ScoredList, lexical: ScoredList) -> None:
    assert leg_depth(5) == leg_depth(10) == 50
    assert leg_depth(11) == leg_depth(100) == 200
    ten = order(semantic, lexical, config=RRFConfig(retrieve_k=leg_depth(10), final_k=10))
    five = order(semantic, lexical, config=RRFConfig(retrieve_k=leg_depth(5), final_k=5))
    assert ten[:5] == five


def test_absent_adds_nothing_and_ranks_start_at_one() -> None:
    assert order(leg("X", "a", "Y"), leg("b", "c", "Y"))[0] == "Y"


# our own choices


def test_an_unsorted_leg_is_sorted_and_a_sorted_one_keeps_its_positions() -> None:
    assert order([("low", 0.1), ("z", 0.9), ("a", 0.9)], []) == ["a", "z", "low"]
    assert order([("z", 0.9), ("a", 0.9), ("low", 0.1)], []) == ["z", "a", "low"]


@given(LEGS, LEGS, LEGS)
def test_the_order_of_the_legs_does_not_matter(
    one: ScoredList, two: ScoredList, three: ScoredList
) -> None:
    config = RRFConfig(final_k=200)
    expected = [(item.chunk_id, item.score) for item in fuse(one, two, three, config=config)]
    for legs in itertools.permutations((one, two, three)):
        found = fuse(*legs, config=config)
        assert [(item.chunk_id, item.score) for item in found] == expected


def test_magnitudes_play_no_part() -> None:
    small = fuse([("a", 0.2), ("b", 0.1)], [("b", 0.3), ("c", 0.1)])
    large = fuse([("a", 2e9), ("b", -7.0)], [("b", 30.0), ("c", 1e-9)])
    assert small == large


def test_weights_scale_a_leg() -> None:
    heavy = fuse(leg("a"), leg("b"), weights=(1.0, 2.0))
    assert [(item.chunk_id, item.score) for item in heavy] == [("b", 2 / 61), ("a", 1 / 61)]


def test_depth_cuts_a_leg_before_fusion() -> None:
    assert order(leg("a", "b", "c"), [], config=RRFConfig(retrieve_k=2)) == ["a", "b"]


@pytest.mark.parametrize(
    "bad",
    [
        [("a", 1.0), ("a", 0.5)],
        [("a", math.nan)],
        [("a", math.inf)],
        [("a", -math.inf)],
        [("a", 10**400)],
        [("a", True)],
        [("a", "1")],
        [("", 1.0)],
        [(7, 1.0)],
    ],
)
def test_a_bad_leg_is_an_error_everywhere(bad: ScoredList) -> None:
    for use in (
        lambda: fuse(bad, []),
        lambda: fuse([], bad),
        lambda: fuse_linear([], bad, weights=BOTH),
        lambda: normalize_scores(bad),
    ):
        with pytest.raises(IntegrityError) as caught:
            use()
        assert caught.value.code == "invalid-leg"


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 0.0), (1.0, -1.0), (math.nan, 1.0), (True, 1)])
def test_a_bad_weight_is_an_error(weights: tuple[float, ...]) -> None:
    with pytest.raises(IntegrityError) as caught:
        fuse(leg("a"), leg("b"), weights=weights)
    assert caught.value.code == "invalid-fusion"


@pytest.mark.parametrize("config", [{"k": -1}, {"k": math.nan}, {"retrieve_k": 0}, {"final_k": 0}])
def test_a_bad_configuration_is_an_error(config: dict[str, int]) -> None:
    with pytest.raises(IntegrityError):
        RRFConfig(**config)


def test_min_max_normalisation() -> None:
    assert normalize_scores([("a", 8.0), ("b", 6.0), ("c", 4.0)]) == [
        ("a", 1.0),
        ("b", 0.5),
        ("c", 0.0),
    ]
    assert normalize_scores([("a", 3.0), ("b", 3.0)]) == [("a", 1.0), ("b", 1.0)]
    assert normalize_scores([("a", -2.0)]) == [("a", 1.0)]
    assert normalize_scores([]) == []


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
def test_normalised_scores_lie_between_0_and_1_and_keep_their_order(scores: list[float]) -> None:
    found = normalize_scores([(str(at), score) for at, score in enumerate(scores)])
    values = [score for _, score in found]
    assert all(0.0 <= value <= 1.0 for value in values)
    for (left, a), (right, b) in itertools.combinations(zip(scores, values, strict=True), 2):
        assert (a <= b) if left <= right else (a >= b)


def test_the_linear_fallback_is_six_to_four() -> None:
    found = fuse_linear([("a", 0.9), ("b", 0.7)], [("b", 9.0), ("a", 1.0)], weights=BOTH)
    assert [(item.chunk_id, item.score) for item in found] == [("a", 0.6), ("b", 0.4)]
    assert fuse_linear([], [("a", 3.0)], weights=BOTH)[0].score == 0.4
    assert fuse_linear([], [], weights=BOTH) == []


def test_a_scale_of_one_leg_has_a_name_of_its_own() -> None:
    assert ranker("rrf", 2) == "rrf"
    assert ranker("rrf", 1) == "rrf-single"
    assert ranker("linear", 1) == "linear"


def test_a_reranker_has_a_scale_of_its_own_whatever_was_fused() -> None:
    assert ranker("rrf", 1, "judge") == ranker("linear", 2, "judge") == "judge"
