"""Evidence as a search or an answer returns it, and what a trace keeps of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from custody.domain.model import DocumentKey, PolicyRef, SourceKey


class LegScore(NamedTuple):
    """``score``: BM25 or the cosine, as the leg gave it; only auditors are told."""

    rank: int
    score: float


class Scores(NamedTuple):
    """``fused``: the ranker's score before reputation, ``normalized`` by the policy's bounds."""

    semantic: LegScore | None
    lexical: LegScore | None
    fused: float
    normalized: float
    reputation: float
    final: float


@dataclass(frozen=True, slots=True)
class ClusterMark:
    chunk_ids: tuple[str, ...]
    source_ids: tuple[str, ...]
    maximum_similarity: float
    cross_source: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """One verified item. Everything beyond the signed chunk comes from the ledger."""

    rank: int
    chunk_id: str
    key: DocumentKey
    version: int
    ordinal: int
    name: str
    uri: str | None
    title: str | None
    heading: str | None
    page: int | None
    text: str
    source: SourceKey
    trust_domain: str
    scores: Scores
    statement_id: str
    keyid: str
    sha256: str
    signals: tuple[str, ...]
    cluster: ClusterMark | None
    observed_at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None


@dataclass(frozen=True, slots=True)
class PolicyUse:
    """Which signed policy decided."""

    name: str
    version: str
    digest: str

    @classmethod
    def of(cls, ref: PolicyRef) -> PolicyUse:
        return cls(ref.name, ref.version, ref.digest)


def evidence_trace(items: Sequence[Evidence]) -> list[Mapping[str, object]]:
    """Ids, digests, ranks and scores: never text, title or name."""
    return [
        {
            "rank": item.rank,
            "chunk_id": item.chunk_id,
            "tenant": item.key.tenant,
            "document_id": item.key.document_id,
            "version": item.version,
            "ordinal": item.ordinal,
            "source_id": item.source.source_id,
            "sha256": item.sha256,
            "statement_id": item.statement_id,
            "keyid": item.keyid,
            "semantic": _leg(item.scores.semantic),
            "lexical": _leg(item.scores.lexical),
            "fused": item.scores.fused,
            "normalized": item.scores.normalized,
            "reputation": item.scores.reputation,
            "final": item.scores.final,
        }
        for item in items
    ]


def _leg(score: LegScore | None) -> Mapping[str, object] | None:
    return None if score is None else {"rank": score.rank, "score": score.score}
