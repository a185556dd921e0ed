"""Ranking metrics: worked by hand, and against an independent implementation."""

from __future__ import annotations

import math
import random

import pytest

from custody.domain.ranking.metrics import ndcg, recall, reciprocal_rank, roll_up


def test_ndcg_worked_by_hand() -> None:
    relevance = {"a": 1.0, "b": 1.0}
    assert ndcg(["a", "x", "b"], relevance, 10) == pytest.approx(
        (1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    )
    assert ndcg(["x", "y"], relevance, 10) == 0.0


def test_recall_counts_relevant_documents_not_hits() -> None:
    assert recall(["a", "x"], {"a": 1.0, "b": 1.0}, 2) == 0.5


def test_reciprocal_rank() -> None:
    assert reciprocal_rank(["x", "a"], {"a": 1.0}) == 0.5
    assert reciprocal_rank(["x"], {"a": 1.0}) == 0.0


def test_rolling_up_keeps_the_best_rank() -> None:
    assert roll_up(["a", "b", "a", "c"]) == ["a", "b", "c"]


@pytest.mark.parametrize("relevance", [{}, {"a": 0.0}, {"a": math.nan}, {"a": -1.0}])
def test_undefined_metrics_are_refused(relevance: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        ndcg(["a"], relevance, 10)


def test_a_repeated_item_is_refused() -> None:
    with pytest.raises(ValueError, match="repeat"):
        recall(["a", "a"], {"a": 1.0}, 2)


def test_agrees_with_ir_measures() -> None:
    measures = pytest.importorskip("ir_measures", reason="ir-measures has no arm64 build")
    chance = random.Random(7)
    for _ in range(20):
        pool = [f"d{number}" for number in range(40)]
        ranking = chance.sample(pool, 30)
        relevance = {item: float(chance.randint(0, 3)) for item in chance.sample(pool, 12)}
        relevance["d0"] = 1.0
        qrels = [measures.Qrel("q", item, int(gain)) for item, gain in relevance.items()]
        run = [measures.ScoredDoc("q", item, 100.0 - place) for place, item in enumerate(ranking)]
        found = measures.calc_aggregate([measures.nDCG @ 10, measures.R @ 20], qrels, run)
        assert ndcg(ranking, relevance, 10) == pytest.approx(found[measures.nDCG @ 10])
        assert recall(ranking, relevance, 20) == pytest.approx(found[measures.R @ 20])
