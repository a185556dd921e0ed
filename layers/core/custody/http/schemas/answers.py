"""A question that is to be judged, and the answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from custody.application.reading.answer import Answer, AnswerRequest
from custody.application.reading.attempts import Attempt
from custody.domain.ranking.sufficiency import Judgement
from custody.http.schemas.common import Schema
from custody.http.schemas.evidence import (
    EvidenceReply,
    PolicyUseReply,
    evidence_reply,
    policy_use_reply,
)
from custody.http.schemas.search import SearchBody, search_request

type ReasonName = Literal[
    "PASS", "LOW_TOP_SCORE", "LOW_COVERAGE", "NO_MARGIN", "NO_CONSENSUS", "NO_EVIDENCE"
]
type VerdictName = Literal["answerable", "insufficient", "needs_review"]


class AnswerBody(SearchBody):
    preset: Literal["strict", "balanced", "lenient"] | None = None
    threshold: Annotated[float, Field(ge=0.0, le=1.0)] | None = Field(
        None, description="Wins over the preset's own threshold; its floors stay."
    )
    gate_override: bool = Field(False, description="Needs the scope custody/override.")
    generate: bool = False


class GateFeaturesReply(Schema):
    top: float
    coverage: float
    margin: float
    support: float


class GateFloorsReply(Schema):
    top: float
    coverage: float


class GateReply(Schema):
    score: float
    threshold: float
    preset: str = Field(description="Where the floors come from.")
    features: GateFeaturesReply
    floors: GateFloorsReply
    reasons: list[ReasonName]
    explanation: str
    overridden: bool


class AnswerAttemptReply(Schema):
    query: str
    added_terms: list[str]
    score: float
    gain: float | None
    stop_reason: str | None


class AnswerPolicyReply(Schema):
    reputation: PolicyUseReply
    gate: PolicyUseReply


class AnswerReply(Schema):
    answer_id: str
    verdict: VerdictName
    route: str
    route_reason: str
    retries: int
    gate: GateReply
    attempts: list[AnswerAttemptReply]
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


def answer_request(body: AnswerBody) -> AnswerRequest:
    """Raises Unprocessable(not-available | invalid-field)."""
    return AnswerRequest(
        search=search_request(body),
        preset=body.preset,
        threshold=body.threshold,
        gate_override=body.gate_override,
        generate=body.generate,
    )


def answer_reply(answer: Answer, *, audit: bool) -> AnswerReply:
    for_auditors = {"withheld": dict(answer.withheld)} if audit else {}
    return AnswerReply(
        answer_id=answer.answer_id,
        verdict=answer.verdict.value,
        route=answer.route,
        route_reason=answer.route_reason,
        retries=answer.retries,
        gate=_gate(answer.judgement, overridden=answer.overridden),
        attempts=[_attempt(attempt) for attempt in answer.attempts],
        evidence=[
            evidence_reply(item, fusion=answer.fusion, audit=audit) for item in answer.evidence
        ],
        envelope=answer.envelope,
        generation=None,
        policy=AnswerPolicyReply(
            reputation=policy_use_reply(answer.reputation_policy),
            gate=policy_use_reply(answer.gate_policy),
        ),
        model_revision=answer.model_revision,
        degraded=list(answer.degraded),
        timings_ms=dict(answer.timings_ms),
        **for_auditors,
    )


def _gate(judgement: Judgement, *, overridden: bool) -> GateReply:
    features, bar = judgement.features, judgement.bar
    return GateReply(
        score=judgement.score,
        threshold=bar.threshold,
        preset=bar.preset,
        features=GateFeaturesReply(
            top=features.top,
            coverage=features.coverage,
            margin=features.margin,
            support=features.support,
        ),
        floors=GateFloorsReply(top=bar.top_floor, coverage=bar.coverage_floor),
        reasons=[reason.value for reason in judgement.reasons],
        explanation=judgement.explanation,
        overridden=overridden,
    )


def _attempt(attempt: Attempt) -> AnswerAttemptReply:
    return AnswerAttemptReply(
        query=attempt.query,
        added_terms=list(attempt.added_terms),
        score=attempt.score,
        gain=attempt.gain,
        stop_reason=attempt.stop_reason.value if attempt.stop_reason else None,
    )
