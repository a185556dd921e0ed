"""An answer that was given before, with what its reader may still be shown of it."""

from __future__ import annotations

from pydantic import Field

from custody.application.reading.read_trace import Reread, StoredAnswer
from custody.application.reading.trace import AnswerTrace, GateTrace, ItemTrace, RetrievalTrace
from custody.http.schemas.answers import ReasonName, VerdictName
from custody.http.schemas.common import Schema, Timestamp
from custody.http.schemas.evidence import PolicyUseReply, policy_use_reply
from custody.http.schemas.filters import FilterClause, told_filter
from custody.http.schemas.search import SearchPolicyReply


class StoredItemReply(Schema):
    """``available`` false: the item may no longer be shown to this reader."""

    rank: int
    chunk_id: str
    tenant: str
    document_id: str
    version: int
    source_id: str
    sha256: str
    statement_id: str
    keyid: str
    available: bool
    name: str | None
    title: str | None
    heading: str | None
    page: int | None
    text: str | None
    withheld: str | None = Field(None, description="Why. Only with the scope custody/audit.")


class StoredRequestReply(Schema):
    query: str
    query_sha256: str
    k: int
    route: str
    route_asked: str
    route_reason: str
    legs: list[str]
    depth: int
    fusion: str
    rerank: bool | None
    trust_domains: list[str] | None
    source_ids: list[str] | None
    filter_fields: list[str]
    filter: dict[str, FilterClause]
    max_age_seconds: int | None
    valid_at: Timestamp
    degraded: list[str]
    model_revision: str | None
    preset: str | None
    threshold: float | None
    gate_override: bool


class StoredRetrievalReply(Schema):
    policy: SearchPolicyReply
    epoch: int
    ranker: str = Field(description="The last one before reputation.")
    outcomes: dict[str, int] | None = Field(
        None, description="Of the ledger check. Only with the scope custody/audit."
    )
    withheld: dict[str, int] | None = Field(
        None, description="Reason to number of candidates. Only with the scope custody/audit."
    )
    weights: dict[str, float]
    refetched: bool


class StoredGateReply(Schema):
    verdict: VerdictName
    score: float
    threshold: float
    preset: str
    top_floor: float
    coverage_floor: float
    top: float
    coverage: float
    margin: float
    support: float
    reasons: list[ReasonName]
    explanation: str
    overridden: bool
    policy: PolicyUseReply


class StoredAttemptReply(Schema):
    added_terms: list[str | None] = Field(
        description="Null in place of a word that may no longer be shown to this reader."
    )
    score: float
    gain: float | None
    stop_reason: str | None


class StoredAnswerReply(Schema):
    answer_id: str
    subject: str
    recorded_at: Timestamp
    request: StoredRequestReply
    retrieval: StoredRetrievalReply
    gate: StoredGateReply
    attempts: list[StoredAttemptReply]
    evidence: list[StoredItemReply]
    timings_ms: dict[str, float]


def stored_answer_reply(found: StoredAnswer, *, audit: bool) -> StoredAnswerReply:
    trace = found.trace
    return StoredAnswerReply(
        answer_id=found.answer_id,
        subject=found.subject,
        recorded_at=trace.recorded_at,
        request=_request(trace),
        retrieval=_retrieval(trace.retrieval, audit=audit),
        gate=_gate(trace.gate),
        attempts=[
            StoredAttemptReply(
                added_terms=list(words),
                score=attempt.score,
                gain=attempt.gain,
                stop_reason=attempt.stop_reason,
            )
            for attempt, words in zip(trace.attempts, found.added_terms, strict=True)
        ],
        evidence=[
            _item(item, again, audit=audit)
            for item, again in zip(trace.evidence, found.evidence, strict=True)
        ],
        timings_ms=dict(trace.timings_ms),
    )


def _request(trace: AnswerTrace) -> StoredRequestReply:
    request, narrowed = trace.request, trace.request.filter
    return StoredRequestReply(
        query=request.query,
        query_sha256=request.query_sha256,
        k=request.k,
        route=request.route,
        route_asked=request.route_asked,
        route_reason=request.route_reason,
        legs=[leg.value for leg in request.legs],
        depth=request.depth,
        fusion=request.fusion,
        rerank=request.rerank,
        trust_domains=_listed(narrowed.trust_domains),
        source_ids=_listed(narrowed.source_ids),
        filter_fields=sorted(narrowed.metadata),
        filter=told_filter(narrowed.metadata),
        max_age_seconds=narrowed.max_age_seconds,
        valid_at=request.valid_at,
        degraded=list(request.degraded),
        model_revision=request.model_revision,
        preset=trace.bar.preset,
        threshold=trace.bar.threshold,
        gate_override=trace.bar.gate_override,
    )


def _listed(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)


def _retrieval(trace: RetrievalTrace, *, audit: bool) -> StoredRetrievalReply:
    for_auditors: dict[str, dict[str, int]] = {
        "outcomes": {outcome.value: count for outcome, count in trace.outcomes.items()},
        "withheld": dict(trace.withheld),
    }
    return StoredRetrievalReply(
        policy=SearchPolicyReply(reputation=policy_use_reply(trace.policy)),
        epoch=trace.epoch,
        ranker=trace.ranker,
        weights={leg.value: weight for leg, weight in trace.weights.items()},
        refetched=trace.refetched,
        **(for_auditors if audit else {}),
    )


def _gate(trace: GateTrace) -> StoredGateReply:
    return StoredGateReply(
        verdict=trace.verdict.value,
        score=trace.score,
        threshold=trace.threshold,
        preset=trace.preset,
        top_floor=trace.top_floor,
        coverage_floor=trace.coverage_floor,
        top=trace.top,
        coverage=trace.coverage,
        margin=trace.margin,
        support=trace.support,
        reasons=[reason.value for reason in trace.reasons],
        explanation=trace.explanation,
        overridden=trace.overridden,
        policy=policy_use_reply(trace.policy),
    )


def _item(item: ItemTrace, again: Reread, *, audit: bool) -> StoredItemReply:
    entry = again.verified.entry if again.verified else None
    return StoredItemReply(
        rank=item.rank,
        chunk_id=item.chunk.chunk_id,
        tenant=item.chunk.tenant,
        document_id=item.chunk.document_id,
        version=item.chunk.version,
        source_id=item.chunk.source_id,
        sha256=item.chunk.sha256,
        statement_id=item.statement_id,
        keyid=item.keyid,
        available=entry is not None,
        name=again.verified.head.name if again.verified else None,
        title=entry.title if entry else None,
        heading=entry.heading if entry else None,
        page=entry.page if entry else None,
        text=entry.text if entry else None,
        **({"withheld": again.withheld} if audit else {}),
    )
