"""Ranking metrics, with linear gain.

nDCG@k = DCG@k / IDCG@k, DCG@k = sum over ranks i = 1..k of rel_i / log2(i + 1)
(Järvelin and Kekäläinen, 2002; the gain is linear, as in trec_eval). Recall@k = relevant documents
among the first k / relevant documents. MRR = mean of 1 / rank of the first relevant document.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def ndcg(ranking: Sequence[str], relevance: Mapping[str, float], k: int) -> float:
    """In 0..1. Raises ValueError without a relevant document, on repeats, or when k < 1."""
    _check(ranking, relevance, k)
    gained = _dcg([relevance.get(item, 0.0) for item in ranking[:k]])
    return gained / _dcg(sorted(relevance.values(), reverse=True)[:k])


def recall(ranking: Sequence[str], relevance: Mapping[str, float], k: int) -> float:
    """In 0..1. Raises ValueError without a relevant document, on repeats, or when k < 1."""
    _check(ranking, relevance, k)
    relevant = {item for item, gain in relevance.items() if gain > 0}
    return len(relevant.intersection(ranking[:k])) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevance: Mapping[str, float]) -> float:
    """1 / rank of the first relevant item, 0.0 where none is ranked."""
    _check(ranking, relevance, 1)
    for rank, item in enumerate(ranking, start=1):
        if relevance.get(item, 0.0) > 0:
            return 1.0 / rank
    return 0.0


def roll_up(items: Sequence[str]) -> list[str]:
    """A ranking of chunks' documents to one of documents: each counts once, at its best rank."""
    return list(dict.fromkeys(items))


def _dcg(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _check(ranking: Sequence[str], relevance: Mapping[str, float], k: int) -> None:
    if k < 1:
        raise ValueError("k must be at least 1")
    if len(set(ranking)) != len(ranking):
        raise ValueError("a ranking must not repeat an item")
    if not all(math.isfinite(gain) and gain >= 0 for gain in relevance.values()):
        raise ValueError("relevance must be finite and not negative")
    if not any(gain > 0 for gain in relevance.values()):
        raise ValueError("nothing is relevant: the metric is not defined")
