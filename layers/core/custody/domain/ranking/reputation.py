"""Source reputation: the last reordering, never an admission.

    normalized = clamp((raw - similarity_min) / (similarity_max - similarity_min), 0, 1)
    final      = (1 - w) * normalized + w * reputation          ties by chunk_id

Source: AIDEFEND AID-H-020.002-G001. A source is known by its lineage id, ``<tenant>/<source_id>``
from the ledger, so that a public source can't take the name (and the score) of a tenant's own;
what a document says of itself plays no part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from custody.domain.model import SourceKey
from custody.domain.ranking.checks import is_finite_number, is_name
from custody.errors import IntegrityError

# A range that is narrower than the scores of a ranker makes each of them 0 or 1, and reputation all
# that orders. Those of RRF over two legs span 2 / 61.
LEAST_RANGE = 0.001


def lineage_id(source: SourceKey) -> str:
    return f"{source.tenant}/{source.source_id}"


@dataclass(frozen=True, slots=True)
class ReputationPolicy:
    """One version of the policy with the bounds that belong to ``ranker``'s scores.

    ``source_scores`` by lineage id; ``trust_domain_scores`` serve a source that has no score of its
    own; ``unknown_source_score`` the rest. Making one checks it: IntegrityError(invalid-policy).
    """

    version: str
    source_scores: Mapping[str, float]
    reputation_weight: float
    similarity_min: float
    similarity_max: float
    unknown_source_score: float = 0.0
    trust_domain_scores: Mapping[str, float] = field(default_factory=dict)
    ranker: str = "rrf"

    def __post_init__(self) -> None:
        shares = (
            self.reputation_weight,
            self.unknown_source_score,
            *self.source_scores.values(),
            *self.trust_domain_scores.values(),
        )
        bounds = (self.similarity_min, self.similarity_max)
        names = (self.version, self.ranker, *self.source_scores, *self.trust_domain_scores)
        if not all(is_name(name) for name in names):
            raise _invalid("a version, a ranker or a source without a name")
        if not all(is_finite_number(value) for value in (*shares, *bounds)):
            raise _invalid("every value must be a finite number")
        if not all(0.0 <= value <= 1.0 for value in shares):
            raise _invalid("weights and scores lie between 0 and 1")
        if not self.similarity_max - self.similarity_min >= LEAST_RANGE:
            raise _invalid(
                f"similarity_max must lie above similarity_min by {LEAST_RANGE} at least"
            )

    def reputation_of(self, source_id: str, trust_domain: str | None = None) -> float:
        score = self.source_scores.get(source_id)
        if score is None and trust_domain is not None:
            score = self.trust_domain_scores.get(trust_domain)
        return self.unknown_source_score if score is None else score

    def normalize(self, raw: float) -> float:
        low, high = self.similarity_min, self.similarity_max
        if raw <= low or raw >= high:
            return float(raw >= high)
        if math.isinf(high - low):  # finite bounds whose difference is none
            return (raw / 2 - low / 2) / (high / 2 - low / 2)
        return (raw - low) / (high - low)


class ReputationEvidence(NamedTuple):
    """How one candidate came to its place. ``raw_similarity``, as the guidance names it, is the score
    of the last ranker before reputation: fusion's, or the reranker's where one ranked."""

    chunk_id: str
    source_id: str
    raw_similarity: float
    normalized_similarity: float
    reputation: float
    final_score: float
    policy_version: str


def rerank(
    candidates: Iterable[tuple[str, float]],
    lineage: Mapping[str, str],
    policy: ReputationPolicy,
    trust_domains: Mapping[str, str] | None = None,
) -> list[ReputationEvidence]:
    """Reorder (chunk_id, raw score of the last ranker) pairs; best first.

    ``lineage``: chunk_id -> lineage id of its source, from the ledger. ``trust_domains``: lineage
    id -> the source's trust domain. Raises IntegrityError: invalid-candidate (an id that is empty,
    repeated or no text; a score that is a boolean or not finite), lineage-missing.
    """
    domains = trust_domains or {}
    evidence: list[ReputationEvidence] = []
    seen: set[str] = set()
    for chunk_id, raw in candidates:
        if not is_name(chunk_id) or chunk_id in seen:
            raise IntegrityError(
                "Candidate ids are texts, not empty and unique.", code="invalid-candidate"
            )
        seen.add(chunk_id)
        source_id = lineage.get(chunk_id, "")
        if not is_name(source_id):
            raise IntegrityError(
                "A candidate's ingestion lineage is incomplete.", code="lineage-missing"
            )
        if not is_finite_number(raw):
            raise IntegrityError("A score is no finite number.", code="invalid-candidate")
        similarity = policy.normalize(float(raw))
        reputation = policy.reputation_of(source_id, domains.get(source_id))
        weight = policy.reputation_weight
        evidence.append(
            ReputationEvidence(
                chunk_id,
                source_id,
                raw,
                similarity,
                reputation,
                (1.0 - weight) * similarity + weight * reputation,
                policy.version,
            )
        )
    evidence.sort(key=lambda item: (-item.final_score, item.chunk_id))
    return evidence


def _invalid(why: str) -> IntegrityError:
    return IntegrityError(f"Not a reputation policy: {why}.", code="invalid-policy")
