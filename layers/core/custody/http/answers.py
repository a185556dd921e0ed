"""The JSON of answers, given and stored."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from custody.application.reading.answer import Answer, AnswerRequest
from custody.application.reading.attempts import Attempt
from custody.application.reading.evidence import PolicyUse
from custody.application.reading.read_trace import Reread, StoredAnswer
from custody.application.reading.trace import AnswerTrace, GateTrace, ItemTrace, RetrievalTrace
from custody.domain.ranking.sufficiency import Judgement
from custody.http.body import Body, Timestamp
from custody.http.evidence import (
    Clause,
    EvidenceReply,
    PolicyReply,
    SearchFields,
    SearchPolicyReply,
    evidence_json,
    policy_json,
    search_request,
    told_filter,
)

type ReasonName = Literal[
    "PASS", "LOW_TOP_SCORE", "LOW_COVERAGE", "NO_MARGIN", "NO_CONSENSUS", "NO_EVIDENCE"
]
type VerdictName = Literal["answerable", "insufficient", "needs_review"]


class AnswerFields(SearchFields):
    preset: Literal["strict", "balanced", "lenient"] | None = None
    threshold: Annotated[float, Field(ge=0.0, le=1.0)] | None = Field(
        None, description="Wins over the preset's own threshold; its floors stay."
    )
    gate_override: bool = Field(False, description="Needs the scope custody/override.")
    generate: bool = False


class FeaturesReply(Body):
    top: float
    coverage: float
    margin: float
    support: float


class FloorsReply(Body):
    top: float
    coverage: float


class GateReply(Body):
    score: float
    threshold: float
    preset: str = Field(description="Where the floors come from.")
    features: FeaturesReply
    floors: FloorsReply
    reasons: list[ReasonName]
    explanation: str
    overridden: bool


class AttemptReply(Body):
    query: str
    added_terms: list[str]
    score: float
    gain: float | None
    stop_reason: str | None


class AnswerPolicyReply(Body):
    reputation: PolicyReply
    gate: PolicyReply


class AnswerReply(Body):
    answer_id: str
    verdict: VerdictName
    route: str
    route_reason: str
    retries: int
    gate: GateReply
    attempts: list[AttemptReply]
    evidence: list[EvidenceReply]
    envelope: str | None = Field(
        description="The evidence for a language model; null when the gate did not pass."
    )
    generation: None
    policy: AnswerPolicyReply
    model_revision: str | None
    degraded: list[str]
    timings_ms: dict[str, float]
    withheld: dict[str, int] | None = Field(
        None, description="Reason to number of candidates. Only with the scope custody/audit."
    )


class StoredItemReply(Body):
    """``available`` false: the item may no longer be shown to this reader."""

    rank: int
    chunk_id: str
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


class StoredRequestReply(Body):
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
    filter: dict[str, Clause]
    max_age_seconds: int | None
    valid_at: Timestamp
    degraded: list[str]
    model_revision: str | None
    preset: str | None
    threshold: float | None
    gate_override: bool


class StoredRetrievalReply(Body):
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


class StoredGateReply(Body):
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
    policy: PolicyReply


class StoredAttemptReply(Body):
    added_terms: list[str | None] = Field(
        description="Null in place of a word that may no longer be shown to this reader."
    )
    score: float
    gain: float | None
    stop_reason: str | None


class StoredAnswerReply(Body):
    answer_id: str
    subject: str
    recorded_at: Timestamp
    request: StoredRequestReply
    retrieval: StoredRetrievalReply
    gate: StoredGateReply
    attempts: list[StoredAttemptReply]
    evidence: list[StoredItemReply]
    timings_ms: dict[str, float]


def answer_request(fields: AnswerFields) -> AnswerRequest:
    return AnswerRequest(
        search=search_request(fields),
        preset=fields.preset,
        threshold=fields.threshold,
        gate_override=fields.gate_override,
        generate=fields.generate,
    )


def answer_json(answer: Answer, *, audit: bool) -> dict[str, object]:
    reply: dict[str, object] = {
        "answer_id": answer.answer_id,
        "verdict": answer.verdict.value,
        "route": answer.route,
        "route_reason": answer.route_reason,
        "retries": answer.retries,
        "gate": _gate(answer.judgement, overridden=answer.overridden),
        "attempts": [_attempt(attempt) for attempt in answer.attempts],
        "evidence": [
            evidence_json(item, fusion=answer.fusion, audit=audit) for item in answer.evidence
        ],
        "envelope": answer.envelope,
        "generation": None,
        "policy": {
            "reputation": policy_json(answer.reputation_policy),
            "gate": policy_json(answer.gate_policy),
        },
        "model_revision": answer.model_revision,
        "degraded": list(answer.degraded),
        "timings_ms": dict(answer.timings_ms),
    }
    if audit:
        reply["withheld"] = dict(answer.withheld)
    return reply


def _gate(judgement: Judgement, *, overridden: bool) -> dict[str, object]:
    features = judgement.features
    return {
        "score": judgement.score,
        "threshold": judgement.bar.threshold,
        "preset": judgement.bar.preset,
        "features": {
            "top": features.top,
            "coverage": features.coverage,
            "margin": features.margin,
            "support": features.support,
        },
        "floors": {"top": judgement.bar.top_floor, "coverage": judgement.bar.coverage_floor},
        "reasons": [reason.value for reason in judgement.reasons],
        "explanation": judgement.explanation,
        "overridden": overridden,
    }


def _attempt(attempt: Attempt) -> dict[str, object]:
    return {
        "query": attempt.query,
        "added_terms": list(attempt.added_terms),
        "score": attempt.score,
        "gain": attempt.gain,
        "stop_reason": attempt.stop_reason.value if attempt.stop_reason else None,
    }


def stored_answer_json(found: StoredAnswer, *, audit: bool) -> dict[str, object]:
    trace = found.trace
    reply = StoredAnswerReply(
        answer_id=found.answer_id,
        subject=found.subject,
        recorded_at=trace.recorded_at,
        request=_stored_request(trace),
        retrieval=_stored_retrieval(trace.retrieval, audit=audit),
        gate=_stored_gate(trace.gate),
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
            _stored_item(item, again, audit=audit)
            for item, again in zip(trace.evidence, found.evidence, strict=True)
        ],
        timings_ms=dict(trace.timings_ms),
    )
    return reply.model_dump(mode="json", exclude_unset=True)  # unset: what only auditors are told


def _stored_request(trace: AnswerTrace) -> StoredRequestReply:
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


def _stored_retrieval(trace: RetrievalTrace, *, audit: bool) -> StoredRetrievalReply:
    for_auditors: dict[str, dict[str, int]] = {
        "outcomes": {outcome.value: count for outcome, count in trace.outcomes.items()},
        "withheld": dict(trace.withheld),
    }
    return StoredRetrievalReply(
        policy=SearchPolicyReply(reputation=_policy(trace.policy)),
        epoch=trace.epoch,
        ranker=trace.ranker,
        weights={leg.value: weight for leg, weight in trace.weights.items()},
        refetched=trace.refetched,
        **(for_auditors if audit else {}),
    )


def _stored_gate(trace: GateTrace) -> StoredGateReply:
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
        policy=_policy(trace.policy),
    )


def _policy(use: PolicyUse) -> PolicyReply:
    return PolicyReply(version=use.version, digest=use.digest)


def _stored_item(item: ItemTrace, again: Reread, *, audit: bool) -> StoredItemReply:
    entry = again.verified.entry if again.verified else None
    return StoredItemReply(
        rank=item.rank,
        chunk_id=item.chunk.chunk_id,
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
