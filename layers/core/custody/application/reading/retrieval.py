"""From one plan to ranked, verified candidates: the index proposes, the ledger decides.

One round trip to the index for both legs, one strongly consistent read of the ledger for everything
that the legs touched, then only computing: check, renumber, fuse, weigh by reputation. What was
withheld is taken out before ranks are given, so it moves nobody's rank.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from custody.application.ports import CandidateIndex, LedgerReads
from custody.application.reading.evidence import LegScore, PolicyUse, Scores
from custody.application.reading.evidence_check import EvidenceCheck, Finding, Verified
from custody.domain.index.candidates import Hit, IndexEntry, LegHits, LegQuery
from custody.domain.model import (
    Control,
    DocumentKey,
    LedgerView,
    Outcome,
    PolicyRef,
    Principal,
    SourceKey,
    VersionState,
)
from custody.domain.ranking import fusion, reputation
from custody.domain.ranking.gate_policy import GatePolicy
from custody.errors import IntegrityError, Unavailable, Unprocessable

_LINEAR_WEIGHTS = dict(zip(("semantic", "lexical"), fusion.LINEAR_WEIGHTS, strict=True))
RECENT = timedelta(seconds=60)  # a flip later than this, seen from here, may have raced the search


class Policies(Protocol):
    """The signed policies that a control item names. Raises Unavailable(policy-unavailable)."""

    def reputation(
        self, control: Control, ranker: str
    ) -> tuple[PolicyRef, reputation.ReputationPolicy]: ...

    def gate(self, control: Control) -> tuple[PolicyRef, GatePolicy]: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """One retrieval. ``query`` is what the index is asked; ``semantic`` and ``lexical`` say which of
    its legs rank (a leg may also run only to measure similarity)."""

    query: LegQuery
    semantic: bool
    lexical: bool
    fusion: str
    now: datetime
    trust_domains: frozenset[str] | None = None
    max_age: timedelta | None = None

    @property
    def legs(self) -> tuple[str, ...]:
        named = (("semantic", self.semantic), ("lexical", self.lexical))
        return tuple(name for name, ranks in named if ranks)


class Ranked(NamedTuple):
    """A verified candidate with its place. ``cosine``: with the query vector, where known."""

    verified: Verified
    scores: Scores
    cosine: float | None

    @property
    def chunk_id(self) -> str:
        return self.verified.entry.chunk_id


@dataclass(frozen=True, slots=True)
class Retrieval:
    """``ranked``: every survivor, best first. ``withheld``: reason to number of candidates.
    ``weights``: of the legs that ranked, as they were fused."""

    ranked: tuple[Ranked, ...]
    view: LedgerView
    policy: PolicyUse
    outcomes: Mapping[Outcome, int] = field(default_factory=dict)
    withheld: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    refetched: bool = False


class Retriever:
    """Safe to share between threads. ``leg_weights``: of each leg in RRF, relative to the other's:
    they are scaled to sum to the number of legs, so that the scores keep the scale that a policy's
    bounds belong to. Raises Unavailable (index-, ledger-, policy-unavailable,
    model-revision-mismatch), Unauthenticated(token-revoked), and Unprocessable(unknown-field) for a
    filter on a metadata field that nothing has which the caller may read."""

    def __init__(
        self,
        *,
        index: CandidateIndex,
        ledger: LedgerReads,
        check: EvidenceCheck,
        policies: Policies,
        leg_weights: Mapping[str, float] | None = None,
    ) -> None:
        self._index, self._ledger = index, ledger
        self._check, self._policies = check, policies
        self._leg_weights = dict(leg_weights or {"semantic": 1.0, "lexical": 1.0})

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
        ref, policy = self._policies.reputation(
            view.control, fusion.ranker(plan.fusion, len(plan.legs))
        )
        good = {id(finding.entry) for finding in findings if finding.verified}
        ranked = self._rank(_only(proposals, good), verified, plan, policy)
        if carried:
            again = self._judge([r.verified.entry for r in carried], view, principal, plan)
            ranked = _merge(ranked, carried, again)
        refused = [finding for finding in findings if finding.verified is None]
        outcomes = Counter(finding.outcome for finding in refused)
        outcomes[Outcome.VERIFIED] = len(findings) - len(refused)
        return Retrieval(
            ranked=tuple(ranked),
            view=view,
            policy=PolicyUse.of(ref),
            outcomes=+outcomes,
            withheld=Counter(map(_reason, refused)),
            weights=self._weights(plan),
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
        ranking = (
            *(proposals.semantic if plan.semantic else ()),
            *(proposals.lexical if plan.lexical else ()),
        )
        entries = list({id(hit.entry): hit.entry for hit in ranking}.values())
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

    def _rank(
        self,
        proposals: LegHits,
        verified: Mapping[str, Verified],
        plan: Plan,
        policy: reputation.ReputationPolicy,
    ) -> list[Ranked]:
        semantic = [(hit.entry.chunk_id, hit.score) for hit in proposals.semantic]
        lexical = [(hit.entry.chunk_id, hit.score) for hit in proposals.lexical]
        legs = {
            name: leg
            for name, leg in (("semantic", semantic), ("lexical", lexical))
            if name in plan.legs
        }
        fused = self._fuse(legs, plan)
        lineage: dict[str, str] = {}
        domains: dict[str, str] = {}
        for chunk_id, item in verified.items():
            lineage[chunk_id] = name = reputation.lineage_id(item.source.key)
            domains[name] = item.source.trust_domain
        weighed = reputation.rerank(
            ((item.chunk_id, item.score) for item in fused), lineage, policy, domains
        )
        cosine = dict(semantic)
        places = {
            name: {chunk_id: LegScore(rank, score) for rank, (chunk_id, score) in enumerate(leg, 1)}
            for name, leg in legs.items()
        }
        in_semantic, in_lexical = places.get("semantic", {}), places.get("lexical", {})
        return [
            Ranked(
                verified=verified[item.chunk_id],
                scores=Scores(
                    semantic=in_semantic.get(item.chunk_id),
                    lexical=in_lexical.get(item.chunk_id),
                    fused=item.raw_similarity,
                    normalized=item.normalized_similarity,
                    reputation=item.reputation,
                    final=item.final_score,
                ),
                cosine=cosine.get(item.chunk_id),
            )
            for item in weighed
        ]

    def _weights(self, plan: Plan) -> dict[str, float]:
        chosen = self._leg_weights if plan.fusion == "rrf" else _LINEAR_WEIGHTS
        total = math.fsum(chosen[name] for name in plan.legs)
        whole = len(plan.legs) if plan.fusion == "rrf" else 1.0
        return {name: chosen[name] * whole / total for name in plan.legs}

    def _fuse(self, legs: Mapping[str, list[tuple[str, float]]], plan: Plan) -> list[fusion.Fused]:
        depth = plan.query.depth
        config = fusion.RRFConfig(retrieve_k=depth, final_k=2 * depth)
        given = self._weights(plan)
        weights = [given[name] for name in legs]
        fuse = fusion.fuse if plan.fusion == "rrf" else fusion.fuse_linear
        try:
            return fuse(*legs.values(), config=config, weights=weights)
        except IntegrityError as error:
            raise Unavailable(
                "The index gave a list that can't be ranked.", code="index-unavailable"
            ) from error


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

    return LegHits(
        semantic=tuple(map(same, proposals.semantic)),
        lexical=tuple(map(same, proposals.lexical)),
        unknown_fields=proposals.unknown_fields,
    )


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
        semantic=tuple(hit for hit in proposals.semantic if id(hit.entry) in good),
        lexical=tuple(hit for hit in proposals.lexical if id(hit.entry) in good),
    )


def _overtaken(findings: Sequence[Finding], view: LedgerView, started: datetime) -> bool:
    """Was a document flipped to a newer version while the index was being asked, so that its old
    chunks fall away and its new ones were not proposed?"""
    superseded = {
        finding.entry.key
        for finding in findings
        if finding.outcome is Outcome.STALE and finding.reason == "superseded"
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


def _reason(finding: Finding) -> str:
    if finding.denial is not None:
        return finding.denial.value
    return finding.reason or finding.outcome.value.lower()
