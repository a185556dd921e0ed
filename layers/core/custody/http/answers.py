"""The JSON of answers, given and stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from custody.application.reading.answer import Answer, AnswerRequest, Attempt
from custody.application.reading.read_trace import Reread, StoredAnswer
from custody.domain.ranking.sufficiency import Judgement
from custody.http.body import Body
from custody.http.evidence import (
    EvidenceReply,
    PolicyReply,
    SearchFields,
    evidence_json,
    policy_json,
    search_request,
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


class StoredAnswerReply(Body):
    answer_id: str
    subject: str
    recorded_at: str
    request: dict[str, Any]
    retrieval: dict[str, Any]
    gate: dict[str, Any]
    attempts: list[dict[str, Any]]
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


_FOR_AUDITORS = ("outcomes", "withheld")


def stored_answer_json(found: StoredAnswer, *, audit: bool) -> dict[str, object]:
    trace = found.trace
    retrieval = trace["retrieval"]
    assert isinstance(retrieval, Mapping)
    return {
        "answer_id": found.answer_id,
        "subject": found.subject,
        "recorded_at": trace["recorded_at"],
        "request": trace["request"],
        "retrieval": {
            name: value for name, value in retrieval.items() if audit or name not in _FOR_AUDITORS
        },
        "gate": trace["gate"],
        "attempts": trace["attempts"],
        "evidence": [_stored_item(item, audit=audit) for item in found.evidence],
        "timings_ms": trace["timings_ms"],
    }


def _stored_item(item: Reread, *, audit: bool) -> dict[str, object]:
    told = ("rank", "chunk_id", "document_id", "version", "source_id", "sha256", "statement_id")
    reply: dict[str, object] = {name: item.stored[name] for name in (*told, "keyid")}
    entry = item.verified.entry if item.verified else None
    reply |= {
        "available": entry is not None,
        "name": item.verified.head.name if item.verified else None,
        "title": entry.title if entry else None,
        "heading": entry.heading if entry else None,
        "page": entry.page if entry else None,
        "text": entry.text if entry else None,
    }
    if audit:
        reply["withheld"] = item.withheld
    return reply
