"""Reciprocal Rank Fusion of ranked legs, and the linear fallback.

    RRF(d) = sum over legs of w_leg / (k + rank_leg(d))

ranks start at 1 and a leg that does not hold d adds nothing. Source: Cormack, Clarke, Büttcher,
"Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009;
k = 60 is theirs. Score magnitudes play no part, so BM25 and cosine need no common scale.

What a leg gives is a scored list: a sequence of (chunk_id, score), best first.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from custody.domain.model import Leg
from custody.domain.ranking.checks import is_finite_number, is_name
from custody.errors import IntegrityError

type Scored = tuple[str, float]
type ScoredList = Sequence[Scored]

# A leg that is not named weighs as much as the middle of the two that are.
LINEAR_WEIGHTS: Mapping[Leg, float] = dict.fromkeys(Leg, 0.5) | {
    Leg.SEMANTIC: 0.6,
    Leg.LEXICAL: 0.4,
}


@dataclass(frozen=True, slots=True)
class RRFConfig:
    """``retrieve_k``: how deep a leg is read; ``final_k``: how many are returned."""

    k: float = 60
    retrieve_k: int = 50
    final_k: int = 10

    def __post_init__(self) -> None:
        if not math.isfinite(self.k) or self.k < 0 or self.retrieve_k < 1 or self.final_k < 1:
            raise IntegrityError("k >= 0, retrieve_k and final_k >= 1", code="invalid-fusion")


class Fused(NamedTuple):
    """``ranks``: this id's rank in each leg, from 1; None where the leg does not hold it."""

    chunk_id: str
    score: float
    ranks: tuple[int | None, ...]


def leg_depth(k: int) -> int:
    """How deep each leg is read for ``k`` results. Fixed steps, so that the top 5 is a prefix of
    the top 10 and no page is cut from another list."""
    return 50 if k <= 10 else 200


def ranker(method: str, legs: int, reranker: str | None = None) -> str:
    """The name under which a reputation policy keeps the bounds of the last ranker's scores: the
    reranker's own where one ranked. What two legs sum to is twice what one can reach."""
    if reranker is not None:
        return reranker
    return "rrf-single" if method == "rrf" and legs == 1 else method


def fuse(
    *legs: ScoredList, config: RRFConfig | None = None, weights: Sequence[float] | None = None
) -> list[Fused]:
    """Fuse by rank; best first, ties by chunk_id, at most ``config.final_k``.

    A sorted leg keeps its positions; an unsorted one is sorted by (-score, chunk_id) first.
    ``weights``: one above zero for each leg, 1.0 by default. Raises IntegrityError: invalid-leg
    for a repeated id or a score that is no finite number, invalid-fusion for the weights.
    """
    settings = config or RRFConfig()
    factors = _weights(weights, len(legs))
    shares = [
        [(chunk_id, factor / (settings.k + rank)) for rank, (chunk_id, _) in enumerate(deep, 1)]
        for factor, deep in zip(factors, _deep(legs, settings), strict=True)
    ]
    return _summed(shares, settings.final_k)


def fuse_linear(
    *legs: ScoredList, weights: Sequence[float], config: RRFConfig | None = None
) -> list[Fused]:
    """The fallback: a weighted sum of each leg's min-max normalised scores, 0 where absent. One
    outlier moves every other score of its leg, which RRF rules out. Raises as ``fuse``."""
    settings = config or RRFConfig()
    factors = _weights(weights, len(legs))
    shares = [
        [(chunk_id, factor * score) for chunk_id, score in normalize_scores(deep)]
        for factor, deep in zip(factors, _deep(legs, settings), strict=True)
    ]
    return _summed(shares, settings.final_k)


def _deep(legs: Sequence[ScoredList], settings: RRFConfig) -> list[ScoredList]:
    return [_ordered(leg)[: settings.retrieve_k] for leg in legs]


def _summed(shares: Sequence[ScoredList], final_k: int) -> list[Fused]:
    """``shares``: what each leg adds to an id's score, in the order of the leg's ranks."""
    ranks: dict[str, list[int | None]] = {}
    terms: dict[str, list[float]] = {}
    for position, leg in enumerate(shares):
        for rank, (chunk_id, share) in enumerate(leg, start=1):
            if chunk_id not in ranks:
                ranks[chunk_id], terms[chunk_id] = [None] * len(shares), []
            ranks[chunk_id][position] = rank
            terms[chunk_id].append(share)
    # fsum: the order of the legs can't move a last bit, and so a tie
    fused = [
        Fused(chunk_id, math.fsum(terms[chunk_id]), tuple(of)) for chunk_id, of in ranks.items()
    ]
    fused.sort(key=lambda item: (-item.score, item.chunk_id))
    return fused[:final_k]


def normalize_scores(leg: ScoredList) -> list[Scored]:
    """Min-max to 0..1, order kept. A constant list becomes 1.0 throughout, an empty one stays
    empty. Raises as ``fuse``."""
    _check(leg)
    if not leg:
        return []
    scores = [score for _, score in leg]
    low, high = min(scores), max(scores)
    if low == high:
        return [(chunk_id, 1.0) for chunk_id, _ in leg]
    span = high / 2 - low / 2  # halves: the difference of two finite numbers may overflow
    if span == 0:  # so close that half the difference is no number
        return [(chunk_id, float(score == high)) for chunk_id, score in leg]
    return [(chunk_id, (score / 2 - low / 2) / span) for chunk_id, score in leg]


def _descending(item: Scored) -> tuple[float, str]:
    return (-item[1], item[0])


def _ordered(leg: ScoredList) -> ScoredList:
    _check(leg)
    scores = [score for _, score in leg]
    if all(map(operator.ge, scores, scores[1:])):
        return leg
    return sorted(leg, key=_descending)


def _check(leg: ScoredList) -> None:
    if not all(is_name(chunk_id) for chunk_id, _ in leg) or len(dict(leg)) != len(leg):
        raise IntegrityError("An id is empty or repeated in a leg.", code="invalid-leg")
    if not all(is_finite_number(score) for _, score in leg):
        raise IntegrityError("A score is no finite number.", code="invalid-leg")


def _weights(weights: Sequence[float] | None, legs: int) -> Sequence[float]:
    factors = (1.0,) * legs if weights is None else weights
    if len(factors) != legs or not all(
        is_finite_number(factor) and factor > 0 for factor in factors
    ):
        raise IntegrityError("A leg needs one weight above zero.", code="invalid-fusion")
    return factors
