"""The attempts of one answer: judge what was found, and rewrite where more may be found.

The gate judges the question that was asked, whatever was rewritten to find evidence: rewrites change
the lexical leg's words only, similarities stay those with the original question's vector, and what
an attempt finds is added to what was found before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from custody.application.ports import Judge, Rewriter
from custody.application.reading.assembly import assemble
from custody.application.reading.evidence import Evidence
from custody.application.reading.ranking import Ranked
from custody.application.reading.retrieval import Retrieval, Retriever
from custody.application.reading.search import (
    Prepared,
)
from custody.application.reading.trace import (
    ChunkRef,
    TermPlace,
)
from custody.domain.model import Leg, Outcome, Principal
from custody.domain.ranking.gate_policy import GatePolicy
from custody.domain.ranking.rewriting import (
    MINIMUM_GAIN,
    Feedback,
    Rewrite,
)
from custody.domain.ranking.sufficiency import Bar, GateItem, Judgement
from custody.domain.text.question import content_terms, evidence_terms, feedback_words, term_of


class Stop(StrEnum):
    """Why no further rewrite was tried."""

    PASSED = "passed"
    NO_EVIDENCE = "no-evidence"
    NO_LEXICAL_LEG = "no-lexical-leg"
    NO_NEW_TERMS = "no-new-terms"
    NO_GAIN = "no-gain"
    RETRIES_EXHAUSTED = "retries-exhausted"


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
class Found:
    """All evidence so far and what the gate says of it."""

    ranked: tuple[Ranked, ...]
    evidence: tuple[Evidence, ...]
    judgement: Judgement


class Attempts:
    """The attempts of one answer, and what all of them met on the way."""

    def __init__(
        self,
        retriever: Retriever,
        principal: Principal,
        prepared: Prepared,
        *,
        judge: Judge,
        rewriter: Rewriter,
        max_rewrites: int,
    ) -> None:
        self._retriever, self._principal, self._prepared = retriever, principal, prepared
        self._gate, self._rewriter, self._max_rewrites = judge, rewriter, max_rewrites
        self._question = content_terms(prepared.request.query)
        self.outcomes: Counter[Outcome] = Counter()
        self.withheld: Counter[str] = Counter()
        self.degraded: tuple[str, ...] = ()

    def retrieve(self, words: str, carried: Sequence[Ranked]) -> Retrieval:
        plan = self._prepared.plan
        retrieval = self._retriever(
            self._principal, replace(plan, query=replace(plan.query, text=words)), carried
        )
        self.outcomes.update(retrieval.outcomes)
        self.withheld.update(retrieval.withheld)
        self.degraded = tuple(dict.fromkeys((*self.degraded, *retrieval.degraded)))
        return retrieval

    def make(
        self, retrieval: Retrieval, gate: GatePolicy, level: Bar
    ) -> tuple[Found, tuple[Attempt, ...], Retrieval]:
        """The first judgement, and one more on what each rewrite adds."""
        question = self._prepared.request.query
        found = self._judge(retrieval, gate, level)
        attempts = [Attempt(question, (), found.judgement.score)]
        known = set(self._question)
        stop = self._stop_now(found)
        while stop is None:
            if len(attempts) > self._max_rewrites:
                stop = Stop.RETRIES_EXHAUSTED
                break
            changed = self._rewriter(
                question, _feedback(found.evidence), term_of=term_of, known=known
            )
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

    def _stop_now(self, found: Found) -> Stop | None:
        if found.judgement.passed:
            return Stop.PASSED
        if not found.evidence:
            return Stop.NO_EVIDENCE
        return None if Leg.LEXICAL in self._prepared.plan.legs else Stop.NO_LEXICAL_LEG

    def _judge(self, retrieval: Retrieval, gate: GatePolicy, level: Bar) -> Found:
        evidence = assemble(retrieval.ranked, self._prepared.plan, self._principal, retrieval.view)
        served = {item.chunk_id for item in evidence}
        ranked = tuple(item for item in retrieval.ranked if item.chunk_id in served)
        judgement = self._gate(
            self._question,
            _gate_items(evidence, {item.chunk_id: item.cosine for item in ranked}),
            policy=gate,
            bar=level,
            measured=self._prepared.measured,
        )
        return Found(ranked, evidence, judgement)


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
