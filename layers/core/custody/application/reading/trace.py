"""What is kept of a search and of an answer: enough to explain it and to ask it again, never text.

Chunks are told by id, place and digest, and words that came from chunks by their place there, so
that whoever reads a trace sees of the evidence only what the ledger lets them see then. The question
and the filter's values are the caller's own: they are kept and go with the trace. Whose trace it is
stands beside it in the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import AwareDatetime

from custody.application.reading.evidence import Evidence, PolicyUse
from custody.domain.index.candidates import FilterClause
from custody.domain.model import DocumentKey, Leg, Outcome, SourceKey
from custody.domain.ranking.sufficiency import Reason, Verdict


@dataclass(frozen=True, slots=True)
class ChunkRef:
    """One chunk as it was served. ``sha256``: hex digest of its text."""

    chunk_id: str
    tenant: str
    document_id: str
    version: int
    ordinal: int
    source_id: str
    sha256: str

    @classmethod
    def of(cls, item: Evidence) -> ChunkRef:
        return cls(
            chunk_id=item.chunk_id,
            tenant=item.key.tenant,
            document_id=item.key.document_id,
            version=item.version,
            ordinal=item.ordinal,
            source_id=item.source.source_id,
            sha256=item.sha256,
        )

    @property
    def key(self) -> DocumentKey:
        return DocumentKey(self.tenant, self.document_id)

    @property
    def source(self) -> SourceKey:
        return SourceKey(self.tenant, self.source_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterTrace:
    """What narrowed the search, with its values. None: no restriction."""

    metadata: Mapping[str, FilterClause]
    source_ids: tuple[str, ...] | None
    trust_domains: tuple[str, ...] | None
    max_age_seconds: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTrace:
    """What was asked and how it was taken. ``legs``: those that ranked. ``degraded``: what was
    missed."""

    query: str
    query_sha256: str
    k: int
    route: str
    route_asked: str
    route_reason: str
    legs: tuple[Leg, ...]
    depth: int
    fusion: str
    rerank: bool | None
    filter: FilterTrace
    valid_at: AwareDatetime
    degraded: tuple[str, ...]
    model_revision: str | None


@dataclass(frozen=True, slots=True)
class RetrievalTrace:
    """``policy``: of reputation. ``ranker``: the last one before it. ``outcomes`` and ``withheld``
    are for auditors only."""

    policy: PolicyUse
    epoch: int
    ranker: str
    weights: Mapping[Leg, float]
    outcomes: Mapping[Outcome, int]
    withheld: Mapping[str, int]
    refetched: bool


@dataclass(frozen=True, slots=True)
class LegTrace:
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class ScoresTrace:
    """As ``Scores``."""

    legs: Mapping[Leg, LegTrace]
    fusion: float
    rerank: float | None
    normalized: float
    reputation: float
    final: float


@dataclass(frozen=True, slots=True)
class ItemTrace:
    rank: int
    chunk: ChunkRef
    statement_id: str
    keyid: str
    scores: ScoresTrace

    @classmethod
    def of(cls, item: Evidence) -> ItemTrace:
        scores = item.scores
        return cls(
            rank=item.rank,
            chunk=ChunkRef.of(item),
            statement_id=item.statement_id,
            keyid=item.keyid,
            scores=ScoresTrace(
                legs={leg: LegTrace(at.rank, at.score) for leg, at in scores.legs.items()},
                fusion=scores.fusion,
                rerank=scores.rerank,
                normalized=scores.normalized,
                reputation=scores.reputation,
                final=scores.final,
            ),
        )


@dataclass(frozen=True, slots=True)
class BarRequest:
    """What the caller asked of the gate."""

    preset: str | None
    threshold: float | None
    gate_override: bool


@dataclass(frozen=True, slots=True)
class GateTrace:
    verdict: Verdict
    score: float
    threshold: float
    preset: str
    top_floor: float
    coverage_floor: float
    top: float
    coverage: float
    margin: float
    support: float
    reasons: tuple[Reason, ...]
    explanation: str
    overridden: bool
    policy: PolicyUse


@dataclass(frozen=True, slots=True)
class TermPlace:
    """A word by where it stands: ``position`` in the ``feedback_words`` of the chunk."""

    chunk: ChunkRef
    position: int


@dataclass(frozen=True, slots=True)
class AttemptTrace:
    """``added_terms``: places of the words that its rewrite added, in their order."""

    added_terms: tuple[TermPlace, ...]
    score: float
    gain: float | None
    stop_reason: str | None


@dataclass(frozen=True, slots=True)
class SearchTrace:
    recorded_at: AwareDatetime
    request: RequestTrace
    retrieval: RetrievalTrace
    evidence: tuple[ItemTrace, ...]
    timings_ms: Mapping[str, float]
    kind: Literal["search"] = "search"


@dataclass(frozen=True, slots=True)
class AnswerTrace:
    """``retrieval``: of the last attempt."""

    recorded_at: AwareDatetime
    request: RequestTrace
    bar: BarRequest
    retrieval: RetrievalTrace
    gate: GateTrace
    attempts: tuple[AttemptTrace, ...]
    evidence: tuple[ItemTrace, ...]
    timings_ms: Mapping[str, float]
    kind: Literal["answer"] = "answer"


type Trace = SearchTrace | AnswerTrace
