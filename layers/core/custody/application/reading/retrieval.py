"""From one plan to ranked, verified candidates: the index proposes, the ledger decides.

One round trip to the index for all legs, one strongly consistent read of the ledger for everything
that the legs touched, then only computing: check, renumber, rank. What was withheld is taken out
before ranks are given, so it moves nobody's rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from custody.application.ports import CandidateIndex, LedgerReads, Reranker
from custody.application.reading.evidence import PolicyUse
from custody.application.reading.evidence_check import EvidenceCheck, Finding
from custody.application.reading.plan import Plan
from custody.application.reading.ranking import Policies, Ranked, Ranker
from custody.domain.index.candidates import Hit, IndexEntry, LegHits
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
from custody.errors import IntegrityError, Unavailable, Unprocessable

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
    Unauthenticated(token-revoked), and Unprocessable(unknown-field) for a filter on a metadata
    field that nothing has which the caller may read."""

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
        self._ranker = Ranker(policies, leg_weights=leg_weights, reranker=reranker)

    def __call__(
        self, principal: Principal, plan: Plan, carried: Sequence[Ranked] = ()
    ) -> Retrieval:
        """``carried``: survivors of an earlier attempt. They are checked again with this read and
        merged in; of an item that both hold, the better final score stays."""
        proposals, entries, view = self._propose(principal, plan, carried)
        findings = self._judge(entries, view, principal, plan)
        refetched = False
        if _overtaken(findings, view, plan.now):
            refetched = True
            proposals, entries, view = self._propose(principal, plan, carried)
            findings = self._judge(entries, view, principal, plan)
        _refuse_unknown_fields(proposals)
        verified = {
            finding.entry.chunk_id: finding.verified for finding in findings if finding.verified
        }
        good = {id(finding.entry) for finding in findings if finding.verified}
        ranking = self._ranker(_only(proposals, good), verified, plan, view.control)
        ranked = ranking.ranked
        if carried:
            again = self._judge([r.verified.entry for r in carried], view, principal, plan)
            ranked = _merge(ranked, carried, again)
        refused = [finding for finding in findings if finding.verified is None]
        outcomes = Counter(finding.outcome for finding in refused)
        outcomes[Outcome.VERIFIED] = len(findings) - len(refused)
        return Retrieval(
            ranked=tuple(ranked),
            view=view,
            policy=ranking.policy,
            ranker=ranking.ranker,
            outcomes=+outcomes,
            withheld=Counter(finding.why for finding in refused),
            weights=ranking.weights,
            degraded=ranking.degraded,
            refetched=refetched,
        )

    def _propose(
        self, principal: Principal, plan: Plan, carried: Sequence[Ranked]
    ) -> tuple[LegHits, list[IndexEntry], LedgerView]:
        try:
            proposals = _interned(self._index.search(plan.query))
        except IntegrityError as error:
            # told as an outage: the caller can't mend it and must not get an empty list for it
            raise Unavailable(error.detail, code=error.code) from error
        entries = list(
            {id(hit.entry): hit.entry for leg in plan.legs for hit in proposals[leg]}.values()
        )
        keys: set[DocumentKey] = {entry.key for entry in entries}
        sources = {SourceKey(entry.key.tenant, entry.source_id) for entry in entries}
        keys.update(item.verified.head.key for item in carried)
        sources.update(item.verified.source.key for item in carried)
        view = self._ledger.view(principal.tenant, principal.subject, keys, sources)
        return proposals, entries, view

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


def _interned(proposals: LegHits) -> LegHits:
    """Equal entries become one object, so that what is found out about it holds for each hit on it.
    Entries of one id that differ stay apart and are judged one by one."""
    seen: dict[str, list[IndexEntry]] = {}

    def same(hit: Hit) -> Hit:
        known = seen.setdefault(hit.entry.chunk_id, [])
        for entry in known:
            if entry == hit.entry:
                return Hit(entry, hit.score)
        known.append(hit.entry)
        return hit

    legs = {leg: tuple(map(same, hits)) for leg, hits in proposals.legs.items()}
    return LegHits(legs, unknown_fields=proposals.unknown_fields)


def _refuse_unknown_fields(proposals: LegHits) -> None:
    """The field that is told is on nothing that its caller may read, so it may well be on what the
    caller may not: both are one answer."""
    if proposals.unknown_fields:
        field = proposals.unknown_fields[0]
        raise Unprocessable(
            "Nothing that you may read has this metadata field.",
            code="unknown-field",
            field=f"filter.{field}",
        )


def _only(proposals: LegHits, good: Collection[int]) -> LegHits:
    """Hits on the very entries that verified: a false entry under a true one's id lends it neither
    rank nor score."""
    return LegHits(
        {
            leg: tuple(hit for hit in hits if id(hit.entry) in good)
            for leg, hits in proposals.legs.items()
        }
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
