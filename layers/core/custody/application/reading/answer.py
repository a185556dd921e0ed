"""One answer: search, judge, rewrite where it may help, and abstain where it doesn't.

The gate judges the question that was asked, whatever was rewritten to find evidence: rewrites change
the lexical leg's words only, similarities stay those with the original question's vector, and what
an attempt finds is added to what was found before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from custody.application.ports import Clock, Identifiers, TraceStore
from custody.application.reading.assembly import assemble
from custody.application.reading.evidence import Evidence, PolicyUse
from custody.application.reading.ranking import Policies, Ranked
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
    ChunkRef,
    GateTrace,
    ItemTrace,
    TermPlace,
)
from custody.application.reading.trace_codec import encode
from custody.domain.model import Leg, Outcome, Principal, Scope
from custody.domain.ranking.gate_policy import PRESETS, GatePolicy
from custody.domain.ranking.rewriting import (
    MAX_REWRITES,
    MINIMUM_GAIN,
    Feedback,
    Rewrite,
    rewrite,
)
from custody.domain.ranking.sufficiency import Bar, GateItem, Judgement, Verdict, bar, judge
from custody.domain.text.evidence_envelope import EnvelopeItem, evidence_envelope
from custody.domain.text.question import content_terms, evidence_terms, feedback_words, term_of
from custody.errors import Forbidden, Unprocessable


class Stop(StrEnum):
    """Why no further rewrite was tried."""

    PASSED = "passed"
    NO_EVIDENCE = "no-evidence"
    NO_LEXICAL_LEG = "no-lexical-leg"
    NO_NEW_TERMS = "no-new-terms"
    NO_GAIN = "no-gain"
    RETRIES_EXHAUSTED = "retries-exhausted"


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """``threshold`` wins over ``preset``'s own; both None: the preset "balanced"."""

    search: SearchRequest
    preset: str | None = None
    threshold: float | None = None
    gate_override: bool = False
    generate: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """``gain`` None: the first one. ``score`` is the gate's for all evidence found so far.
    ``places``: where each of ``added_terms`` came from."""

    query: str
    added_terms: tuple[str, ...]
    score: float
    gain: float | None = None
    stop_reason: Stop | None = None
    places: tuple[TermPlace, ...] = ()


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


@dataclass(frozen=True, slots=True)
class _Found:
    """All evidence so far and what the gate says of it."""

    ranked: tuple[Ranked, ...]
    evidence: tuple[Evidence, ...]
    judgement: Judgement


class Answers:
    """Safe to share between threads. Raises as ``Search``, and Forbidden(scope-missing),
    Unprocessable(invalid-field | not-available)."""

    def __init__(
        self,
        *,
        search: Search,
        retriever: Retriever,
        policies: Policies,
        traces: TraceStore,
        clock: Clock,
        ids: Identifiers,
        trace_ttl: timedelta = timedelta(days=30),
    ) -> None:
        self._search, self._retriever, self._policies = search, retriever, policies
        self._traces, self._clock, self._ids = traces, clock, ids
        self._trace_ttl = trace_ttl

    def __call__(self, principal: Principal, request: AnswerRequest) -> Answer:
        _validate(principal, request)
        started = self._clock.now()
        prepared = self._search.prepare(principal, request.search, measure=True)
        run = _Run(self._retriever, principal, prepared)
        retrieval = run.retrieve(prepared.request.query, ())
        gate_ref, gate = self._policies.gate(retrieval.view.control)
        level = bar(gate, preset=request.preset, threshold=request.threshold)
        found, attempts, last = run.attempt(retrieval, gate, level)
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


class _Run:
    """The attempts of one answer."""

    def __init__(self, retriever: Retriever, principal: Principal, prepared: Prepared) -> None:
        self._retriever, self._principal, self._prepared = retriever, principal, prepared
        self._question = content_terms(prepared.request.query)
        self.outcomes: Counter[Outcome] = Counter()
        self.withheld: Counter[str] = Counter()
        self.degraded: tuple[str, ...] = ()

    def retrieve(self, words: str, carried: Sequence[Ranked]) -> Retrieval:
        plan = self._prepared.plan
        text = words if plan.query.text is not None else None
        retrieval = self._retriever(
            self._principal, replace(plan, query=replace(plan.query, text=text)), carried
        )
        self.outcomes.update(retrieval.outcomes)
        self.withheld.update(retrieval.withheld)
        self.degraded = tuple(dict.fromkeys((*self.degraded, *retrieval.degraded)))
        return retrieval

    def attempt(
        self, retrieval: Retrieval, gate: GatePolicy, level: Bar
    ) -> tuple[_Found, tuple[Attempt, ...], Retrieval]:
        """The first judgement and up to two more on what rewrites add."""
        question = self._prepared.request.query
        found = self._judge(retrieval, gate, level)
        attempts = [Attempt(question, (), found.judgement.score)]
        known = set(self._question)
        stop = self._stop_now(found)
        while stop is None:
            if len(attempts) > MAX_REWRITES:
                stop = Stop.RETRIES_EXHAUSTED
                break
            changed = rewrite(question, _feedback(found.evidence), term_of=term_of, known=known)
            if changed is None:
                stop = Stop.NO_NEW_TERMS
                break
            known |= content_terms(changed.query)
            retrieval = self.retrieve(changed.query, found.ranked)
            latest = self._judge(retrieval, gate, level)
            gain = latest.judgement.score - found.judgement.score
            attempts.append(
                Attempt(
                    changed.query,
                    changed.added_terms,
                    latest.judgement.score,
                    gain,
                    places=_places(changed, found.evidence),
                )
            )
            found = latest
            stop = Stop.PASSED if found.judgement.passed else None
            if stop is None and gain < MINIMUM_GAIN:
                stop = Stop.NO_GAIN
        attempts[-1] = replace(attempts[-1], stop_reason=stop)
        return found, tuple(attempts), retrieval

    def _stop_now(self, found: _Found) -> Stop | None:
        if found.judgement.passed:
            return Stop.PASSED
        if not found.evidence:
            return Stop.NO_EVIDENCE
        return None if Leg.LEXICAL in self._prepared.plan.legs else Stop.NO_LEXICAL_LEG

    def _judge(self, retrieval: Retrieval, gate: GatePolicy, level: Bar) -> _Found:
        evidence = assemble(
            retrieval.ranked,
            k=self._prepared.request.k,
            principal=self._principal,
            view=retrieval.view,
            trust_domains=self._prepared.request.trust_domains,
        )
        served = {item.chunk_id for item in evidence}
        ranked = tuple(item for item in retrieval.ranked if item.chunk_id in served)
        judgement = judge(
            self._question,
            _gate_items(evidence, {item.chunk_id: item.cosine for item in ranked}),
            policy=gate,
            bar=level,
            semantic=self._prepared.measured,
        )
        return _Found(ranked, evidence, judgement)


def _validate(principal: Principal, request: AnswerRequest) -> None:
    if request.generate:
        raise Unprocessable(
            "This deployment has no generator.", code="not-available", field="generate"
        )
    if request.preset is not None and request.preset not in PRESETS:
        raise Unprocessable(f"A preset is one of {', '.join(PRESETS)}.", field="preset")
    if request.threshold is not None and not 0.0 <= request.threshold <= 1.0:
        raise Unprocessable("A threshold lies between 0 and 1.", field="threshold")
    if request.gate_override and not principal.may(Scope.OVERRIDE):
        raise Forbidden(f"This needs the scope {Scope.OVERRIDE.value}.", code="scope-missing")


def _gate_items(evidence: Sequence[Evidence], cosine: Mapping[str, float | None]) -> list[GateItem]:
    clusters: dict[tuple[str, ...], int] = {}
    return [
        GateItem(
            chunk_id=item.chunk_id,
            document=(item.key.tenant, item.key.document_id),
            source=(item.source.tenant, item.source.source_id),
            terms=evidence_terms(item.title, item.heading, item.text),
            cosine=cosine[item.chunk_id],
            cluster=None
            if item.cluster is None
            else clusters.setdefault(item.cluster.chunk_ids, len(clusters)),
        )
        for item in evidence
    ]


def _feedback(evidence: Sequence[Evidence]) -> list[Feedback]:
    return [Feedback(feedback_words(item.title, item.text), item.scores.final) for item in evidence]


def _places(changed: Rewrite, feedback: Sequence[Evidence]) -> tuple[TermPlace, ...]:
    return tuple(
        TermPlace(ChunkRef.of(feedback[term.item]), term.position) for term in changed.added
    )


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
