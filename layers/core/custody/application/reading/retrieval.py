"""From one plan to ranked, verified candidates: the index proposes, the ledger decides.

One round trip to the index for all legs, one strongly consistent read of the ledger for everything
that the legs touched, then only computing: check, renumber, rank. What was withheld is taken out
before ranks are given, so it moves nobody's rank. Where so much was withheld that too little is left,
the index is asked once more for what lies behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from custody.application.ports import CandidateIndex, LedgerReads, Reranker
from custody.application.reading.evidence import PolicyUse
from custody.application.reading.evidence_check import EvidenceCheck, Finding
from custody.application.reading.plan import Plan
from custody.application.reading.ranking import Policies, Ranked, Ranker
from custody.application.reading.sifting import (
    Sifted,
    Unservable,
    candidates,
    counted,
)
from custody.application.reading.unknown_names import UnknownNames
from custody.domain.index.candidates import IndexEntry, LegQuery
from custody.domain.model import (
    DocumentKey,
    LedgerView,
    Leg,
    Objection,
    Outcome,
    Principal,
    SourceKey,
    VersionState,
)
from custody.errors import IntegrityError, Unavailable

RECENT = timedelta(seconds=60)  # a flip later than this, seen from here, may have raced the search


@dataclass(frozen=True, slots=True)
class Retrieval:
    """``ranked``: every survivor, best first. ``withheld``: reason to number of candidates.
    ``ranker``: the last one before reputation. ``weights``: of the legs that ranked, as they were
    fused. ``degraded``: what was asked for and is missed."""

    ranked: tuple[Ranked, ...]
    view: LedgerView
    policy: PolicyUse
    ranker: str
    outcomes: Mapping[Outcome, int] = field(default_factory=dict)
    withheld: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[Leg, float] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    refetched: bool = False


class Retriever:
    """Safe to share between threads. ``leg_weights`` and ``reranker`` as ``Ranker`` takes them.
    Raises Unavailable (index-, ledger-, policy-unavailable, model-revision-mismatch),
    Unauthenticated(token-revoked), and Unprocessable(unknown-field | unknown-source |
    unknown-trust-domain) for a name that nothing carries which the caller may read."""

    def __init__(
        self,
        *,
        index: CandidateIndex,
        ledger: LedgerReads,
        check: EvidenceCheck,
        policies: Policies,
        leg_weights: Mapping[Leg, float] | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self._index, self._ledger, self._check = index, ledger, check
        self._names = UnknownNames(index, ledger, check)
        self._ranker = Ranker(policies, leg_weights=leg_weights, reranker=reranker)

    def __call__(
        self, principal: Principal, plan: Plan, carried: Sequence[Ranked] = ()
    ) -> Retrieval:
        """``carried``: survivors of an earlier attempt. They are checked again with this read and
        merged in; of an item that both hold, the better final score stays."""
        sifted = self._sift(principal, plan, plan.query, carried)
        refetched = _overtaken(sifted.findings, sifted.view, plan.now)
        if refetched:
            sifted = self._sift(principal, plan, plan.query, carried)
        set_aside: list[Finding] = []
        if sifted.starved(plan):
            unservable = Unservable.among(sifted.findings, sifted.view)
            set_aside = [one for one in sifted.refused if unservable.holds(one)]
            sifted = self._sift(principal, plan, unservable.beyond(plan.query), carried)
        verified = {
            finding.entry.chunk_id: finding.verified
            for finding in sifted.findings
            if finding.verified
        }
        self._names.refuse(principal, plan, sifted.findings)
        if not (verified or carried) and sifted.disfigured:
            raise Unavailable("The index holds no entry to trust.", code="index-unavailable")
        hits, repeated = sifted.ranking(plan)
        ranking = self._ranker(hits, verified, plan, sifted.view.control)
        ranked = ranking.ranked
        if carried:
            again = self._judge([r.verified.entry for r in carried], sifted.view, principal, plan)
            ranked = _merge(ranked, carried, again)
        odd = sifted.candidates.odd + Counter({Objection.ENTRY_REPEATED: repeated})
        outcomes, withheld = counted([*set_aside, *sifted.refused], odd)
        outcomes[Outcome.VERIFIED] = len(verified)
        return Retrieval(
            ranked=tuple(ranked),
            view=sifted.view,
            policy=ranking.policy,
            ranker=ranking.ranker,
            outcomes=+outcomes,
            withheld=withheld,
            weights=ranking.weights,
            degraded=ranking.degraded,
            refetched=refetched,
        )

    def _sift(
        self, principal: Principal, plan: Plan, query: LegQuery, carried: Sequence[Ranked]
    ) -> Sifted:
        try:
            proposed = candidates(self._index.search(query), query)
        except IntegrityError as error:
            # told as an outage: the caller can't mend it and must not get an empty list for it
            raise Unavailable(error.detail, code=error.code) from error
        entries = list(
            {id(hit.entry): hit.entry for leg in plan.legs for hit in proposed.hits[leg]}.values()
        )
        keys: set[DocumentKey] = {entry.key for entry in entries}
        sources = {SourceKey(entry.key.tenant, entry.source_id) for entry in entries}
        keys.update(item.verified.head.key for item in carried)
        sources.update(item.verified.source.key for item in carried)
        try:
            view = self._ledger.view(principal.tenant, principal.subject, keys, sources)
        except IntegrityError as error:
            raise Unavailable(error.detail, code="ledger-unavailable") from error
        return Sifted(proposed, view, self._judge(entries, view, principal, plan))

    def _judge(
        self, entries: Sequence[IndexEntry], view: LedgerView, principal: Principal, plan: Plan
    ) -> tuple[Finding, ...]:
        return self._check(
            entries,
            view,
            principal,
            now=plan.now,
            trust_domains=plan.trust_domains,
            max_age=plan.max_age,
        )


def _overtaken(findings: Sequence[Finding], view: LedgerView, started: datetime) -> bool:
    """Was a document flipped to a newer version while the index was being asked, so that its old
    chunks fall away and its new ones were not proposed?"""
    superseded = {
        finding.entry.key for finding in findings if finding.reason is Objection.SUPERSEDED
    }
    if not superseded:
        return False
    superseded -= {finding.entry.key for finding in findings if finding.verified is not None}
    return any(
        head.state is VersionState.ACTIVE
        and (head.updated_at is None or head.updated_at >= started - RECENT)
        for key in superseded
        if (head := view.heads.get(key)) is not None
    )


def _merge(
    ranked: Sequence[Ranked], carried: Sequence[Ranked], again: Sequence[Finding]
) -> list[Ranked]:
    best = {item.chunk_id: item for item in ranked}
    for item, finding in zip(carried, again, strict=True):
        if finding.verified is None:
            best.pop(item.chunk_id, None)
            continue
        known = best.get(item.chunk_id)
        if known is None or known.scores.final < item.scores.final:
            best[item.chunk_id] = item._replace(verified=finding.verified)
    return sorted(best.values(), key=lambda item: (-item.scores.final, item.chunk_id))
