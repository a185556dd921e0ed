"""One answer: search, judge, rewrite where it may help, and abstain where it doesn't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from custody.application.callers import require
from custody.application.ports import Clock, Identifiers, Judge, Rewriter, TraceStore
from custody.application.reading.attempts import Attempt, Attempts
from custody.application.reading.evidence import Evidence, PolicyUse
from custody.application.reading.ranking import Policies
from custody.application.reading.retrieval import Retrieval, Retriever
from custody.application.reading.search import (
    Prepared,
    Search,
    SearchRequest,
    request_trace,
    retrieval_trace,
)
from custody.application.reading.trace import (
    AnswerTrace,
    AttemptTrace,
    BarRequest,
    GateTrace,
    ItemTrace,
)
from custody.application.reading.trace_codec import encode
from custody.domain.model import Outcome, Principal, Scope
from custody.domain.ranking.gate_policy import PRESETS
from custody.domain.ranking.sufficiency import Judgement, Verdict, bar
from custody.domain.text.evidence_envelope import EnvelopeItem, evidence_envelope
from custody.errors import Unprocessable


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """``threshold`` wins over ``preset``'s own; both None: the preset "balanced"."""

    search: SearchRequest
    preset: str | None = None
    threshold: float | None = None
    gate_override: bool = False
    generate: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """``envelope`` None: the gate did not pass, so nothing is handed on as grounds for an answer.
    ``evidence`` is then the best that was found, to look at with the reasons."""

    answer_id: str
    verdict: Verdict
    route: str
    route_reason: str
    fusion: str
    judgement: Judgement
    overridden: bool
    attempts: tuple[Attempt, ...]
    evidence: tuple[Evidence, ...]
    envelope: str | None
    reputation_policy: PolicyUse
    gate_policy: PolicyUse
    model_revision: str | None
    degraded: tuple[str, ...]
    outcomes: Mapping[Outcome, int]
    withheld: Mapping[str, int]
    timings_ms: Mapping[str, float]

    @property
    def retries(self) -> int:
        return len(self.attempts) - 1


class Answers:
    """Safe to share between threads. Raises as ``Search``, and Unprocessable(invalid-field |
    not-available)."""

    def __init__(
        self,
        *,
        search: Search,
        retriever: Retriever,
        policies: Policies,
        traces: TraceStore,
        clock: Clock,
        ids: Identifiers,
        judge: Judge,
        rewriter: Rewriter,
        max_rewrites: int,
        trace_ttl: timedelta,
    ) -> None:
        self._search, self._retriever, self._policies = search, retriever, policies
        self._judge, self._rewriter, self._max_rewrites = judge, rewriter, max_rewrites
        self._traces, self._clock, self._ids = traces, clock, ids
        self._trace_ttl = trace_ttl

    def __call__(self, principal: Principal, request: AnswerRequest) -> Answer:
        require(principal, Scope.READ)
        if request.gate_override:
            require(principal, Scope.OVERRIDE)
        _validate(request)
        started = self._clock.now()
        prepared = self._search.prepare(principal, request.search, measure=True)
        run = Attempts(
            self._retriever,
            principal,
            prepared,
            judge=self._judge,
            rewriter=self._rewriter,
            max_rewrites=self._max_rewrites,
        )
        retrieval = run.retrieve(prepared.request.query, ())
        gate_ref, gate = self._policies.gate(retrieval.view.control)
        level = bar(gate, preset=request.preset, threshold=request.threshold)
        found, attempts, last = run.make(retrieval, gate, level)
        judgement = found.judgement
        overridden = request.gate_override and not judgement.passed and bool(found.evidence)
        answerable = judgement.passed or overridden
        answer = Answer(
            answer_id=self._ids.new("answer"),
            verdict=Verdict.ANSWERABLE if answerable else Verdict.INSUFFICIENT,
            route=prepared.routed.route.value,
            route_reason=prepared.routed.reason,
            fusion=request.search.fusion,
            judgement=judgement,
            overridden=overridden,
            attempts=attempts,
            evidence=found.evidence,
            envelope=_envelope(found.evidence) if answerable else None,
            reputation_policy=last.policy,
            gate_policy=PolicyUse.of(gate_ref),
            model_revision=prepared.model_revision,
            degraded=(*prepared.degraded, *run.degraded),
            outcomes=run.outcomes,
            withheld=run.withheld,
            timings_ms={
                "embed": prepared.embedding / timedelta(milliseconds=1),
                "total": (self._clock.now() - started) / timedelta(milliseconds=1),
            },
        )
        self._traces.put(
            principal.tenant,
            answer.answer_id,
            principal.subject,
            encode(_trace(prepared, request, last, answer, started)),
            expires_at=started + self._trace_ttl,
        )
        return answer


def _validate(request: AnswerRequest) -> None:
    if request.generate:
        raise Unprocessable(
            "This deployment has no generator.", code="not-available", field="generate"
        )
    if request.preset is not None and request.preset not in PRESETS:
        raise Unprocessable(f"A preset is one of {', '.join(PRESETS)}.", field="preset")
    if request.threshold is not None and not 0.0 <= request.threshold <= 1.0:
        raise Unprocessable("A threshold lies between 0 and 1.", field="threshold")


def _envelope(evidence: Sequence[Evidence]) -> str:
    return evidence_envelope(
        [
            EnvelopeItem(
                chunk_id=item.chunk_id,
                document_id=item.key.document_id,
                source_id=item.source.source_id,
                outcome=Outcome.VERIFIED,
                text=item.text,
            )
            for item in evidence
        ]
    )


def _trace(
    prepared: Prepared,
    request: AnswerRequest,
    retrieval: Retrieval,
    answer: Answer,
    started: datetime,
) -> AnswerTrace:
    judgement = answer.judgement
    return AnswerTrace(
        recorded_at=started,
        request=request_trace(prepared, answer.degraded),
        bar=BarRequest(
            preset=request.preset,
            threshold=request.threshold,
            gate_override=request.gate_override,
        ),
        retrieval=retrieval_trace(retrieval),
        gate=GateTrace(
            verdict=answer.verdict,
            score=judgement.score,
            threshold=judgement.bar.threshold,
            preset=judgement.bar.preset,
            top_floor=judgement.bar.top_floor,
            coverage_floor=judgement.bar.coverage_floor,
            top=judgement.features.top,
            coverage=judgement.features.coverage,
            margin=judgement.features.margin,
            support=judgement.features.support,
            reasons=judgement.reasons,
            explanation=judgement.explanation,
            overridden=answer.overridden,
            policy=answer.gate_policy,
        ),
        attempts=tuple(
            AttemptTrace(
                added_terms=attempt.places,
                score=attempt.score,
                gain=attempt.gain,
                stop_reason=attempt.stop_reason,
            )
            for attempt in answer.attempts
        ),
        evidence=tuple(map(ItemTrace.of, answer.evidence)),
        timings_ms=answer.timings_ms,
    )
