"""From verified hits to an order: the legs fused, reranked where asked for, weighed by reputation."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from custody.application.ports import Reranker
from custody.application.reading.evidence import LegScore, PolicyUse, Scores
from custody.application.reading.evidence_check import Verified
from custody.application.reading.plan import Plan
from custody.domain.index.candidates import IndexEntry, LegHits
from custody.domain.model import Chunk, Control, Leg, PolicyRef
from custody.domain.ranking import fusion, reputation
from custody.domain.ranking.checks import is_finite_number
from custody.domain.ranking.gate_policy import GatePolicy
from custody.errors import IntegrityError, Unavailable

NO_RERANKER = "rerank-not-available"


class Policies(Protocol):
    """The signed policies that a control item names. Raises Unavailable(policy-unavailable)."""

    def reputation(
        self, control: Control, ranker: str
    ) -> tuple[PolicyRef, reputation.ReputationPolicy]: ...

    def gate(self, control: Control) -> tuple[PolicyRef, GatePolicy]: ...


class Ranked(NamedTuple):
    """A verified candidate with its place. ``cosine``: with the query vector, where known."""

    verified: Verified
    scores: Scores
    cosine: float | None

    @property
    def chunk_id(self) -> str:
        return self.verified.entry.chunk_id


@dataclass(frozen=True, slots=True)
class Ranking:
    """``ranked``: best first. ``ranker``: the last one before reputation, to whose scores the
    policy's bounds belong. ``weights``: of the legs, as they were fused."""

    ranked: Sequence[Ranked]
    policy: PolicyUse
    ranker: str
    weights: Mapping[Leg, float]
    degraded: tuple[str, ...]


class Ranker:
    """Safe to share between threads. ``leg_weights``: of each leg in RRF, relative to the others',
    1.0 where not given: they are scaled to sum to the number of legs, so that the scores keep the
    scale that a policy's bounds belong to."""

    def __init__(
        self,
        policies: Policies,
        *,
        leg_weights: Mapping[Leg, float] | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self._policies, self._reranker = policies, reranker
        self._leg_weights = dict.fromkeys(Leg, 1.0) | dict(leg_weights or {})

    def __call__(
        self, hits: LegHits, verified: Mapping[str, Verified], plan: Plan, control: Control
    ) -> Ranking:
        """``verified``: by chunk id, all that stand in ``hits``. Raises Unavailable(index-unavailable
        | policy-unavailable)."""
        scored = {leg: [(hit.entry.chunk_id, hit.score) for hit in hits[leg]] for leg in plan.legs}
        weights = self._weights(plan)
        fused = _fused(scored, weights, plan)
        reranked = self._reranked(fused, verified, plan) if plan.rerank else None
        name = self._reranker.name if self._reranker and reranked is not None else None
        ranker = fusion.ranker(plan.fusion, len(plan.legs), name)
        ref, policy = self._policies.reputation(control, ranker)
        weighed = _weighed(fused if reranked is None else reranked, verified, policy)
        places = _places(scored)
        cosine = {hit.entry.chunk_id: hit.score for hit in hits[Leg.SEMANTIC]}
        return Ranking(
            ranked=[
                Ranked(
                    verified=verified[item.chunk_id],
                    scores=Scores(
                        legs=places[item.chunk_id],
                        fusion=fused[item.chunk_id],
                        rerank=None if reranked is None else item.raw_similarity,
                        normalized=item.normalized_similarity,
                        reputation=item.reputation,
                        final=item.final_score,
                    ),
                    cosine=cosine.get(item.chunk_id),
                )
                for item in weighed
            ],
            policy=PolicyUse.of(ref),
            ranker=ranker,
            weights=weights,
            degraded=(NO_RERANKER,) if plan.rerank and reranked is None else (),
        )

    def _weights(self, plan: Plan) -> dict[Leg, float]:
        chosen = self._leg_weights if plan.fusion == "rrf" else fusion.LINEAR_WEIGHTS
        total = math.fsum(chosen[leg] for leg in plan.legs)
        whole = len(plan.legs) if plan.fusion == "rrf" else 1.0
        return {leg: chosen[leg] * whole / total for leg in plan.legs}

    def _reranked(
        self, fused: Mapping[str, float], verified: Mapping[str, Verified], plan: Plan
    ) -> dict[str, float] | None:
        """Scores by chunk id; None where no reranker could give one for each."""
        if self._reranker is None:
            return None
        if not fused:
            return {}
        chunks = [_chunk(verified[chunk_id].entry) for chunk_id in fused]
        try:
            scores = self._reranker.rerank(plan.question, chunks)
        except Unavailable:
            return None
        if len(scores) != len(chunks) or not all(map(is_finite_number, scores)):
            return None
        return dict(zip(fused, scores, strict=True))


def _fused(
    scored: Mapping[Leg, list[tuple[str, float]]], weights: Mapping[Leg, float], plan: Plan
) -> dict[str, float]:
    """Scores by chunk id, best first."""
    depth = plan.query.depth
    config = fusion.RRFConfig(retrieve_k=depth, final_k=len(plan.legs) * depth)
    fuse = fusion.fuse if plan.fusion == "rrf" else fusion.fuse_linear
    try:
        found = fuse(*scored.values(), config=config, weights=[weights[leg] for leg in scored])
    except IntegrityError as error:
        raise Unavailable(
            "The index gave a list that can't be ranked.", code="index-unavailable"
        ) from error
    return {item.chunk_id: item.score for item in found}


def _weighed(
    scores: Mapping[str, float],
    verified: Mapping[str, Verified],
    policy: reputation.ReputationPolicy,
) -> list[reputation.ReputationEvidence]:
    lineage: dict[str, str] = {}
    domains: dict[str, str] = {}
    for chunk_id, item in verified.items():
        lineage[chunk_id] = name = reputation.lineage_id(item.source.key)
        domains[name] = item.source.trust_domain
    return reputation.rerank(scores.items(), lineage, policy, domains)


def _places(
    scored: Mapping[Leg, list[tuple[str, float]]],
) -> Mapping[str, Mapping[Leg, LegScore]]:
    places: defaultdict[str, dict[Leg, LegScore]] = defaultdict(dict)
    for leg, items in scored.items():
        for rank, (chunk_id, score) in enumerate(items, start=1):
            places[chunk_id][leg] = LegScore(rank, score)
    return places


def _chunk(entry: IndexEntry) -> Chunk:
    return Chunk(
        document_id=entry.key.document_id,
        version=entry.version,
        ordinal=entry.ordinal,
        title=entry.title,
        heading=entry.heading,
        page=entry.page,
        text=entry.text,
    )
