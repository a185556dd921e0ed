"""Evidence as a search or an answer returns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from custody.domain.model import DocumentKey, Leg, PolicyRef, SourceKey


class LegScore(NamedTuple):
    """``score``: BM25 or the cosine, as the leg gave it; only auditors are told."""

    rank: int
    score: float


class Scores(NamedTuple):
    """How an item came to its place. ``legs``: of those that ranked and hold it. ``fusion``: of the
    legs together. ``rerank``: the reranker's, None where none ranked. ``normalized``: the last of
    these two by the policy's bounds. ``final``: with ``reputation`` weighed in."""

    legs: Mapping[Leg, LegScore]
    fusion: float
    rerank: float | None
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
