"""What an index proposed, judged: which hits may rank, and what to ask for where too few are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from custody.application.reading.evidence_check import Finding
from custody.application.reading.plan import Plan
from custody.domain.index.candidates import Hit, IndexEntry, LegHits, LegQuery, SearchFilter
from custody.domain.model import (
    DocumentKey,
    LedgerView,
    Leg,
    Objection,
    Outcome,
    SourceKey,
)

_DEEPER, _DEEPEST = 4, 400
_OF_THE_SOURCE = frozenset(
    {
        Objection.SOURCE_UNKNOWN,
        Objection.SOURCE_QUARANTINED,
        Objection.SOURCE_RETIRED,
        Objection.TRUST_DOMAIN_NOT_ALLOWED,
    }
)
_OF_THE_ENTRY = frozenset(
    {Objection.SOURCE_MISMATCH, Objection.CHUNK_MISMATCH, Objection.ENTRY_REPEATED}
)
_OUTCOME = {Objection.OTHER_MODEL: Outcome.UNVERIFIED}


@dataclass(frozen=True, slots=True)
class Candidates:
    """Hits that can be judged. ``odd``: how many there were besides, and why not: no entries, the
    same entry once more, a similarity by another model. Of a hit that both legs have, once.
    ``cut``: a leg holds as many hits as were asked for, so that more may lie behind them."""

    hits: LegHits
    odd: Counter[Objection]
    cut: bool


def candidates(proposals: LegHits, query: LegQuery) -> Candidates:
    """Equal entries become one object, so that what is found out about it holds for each hit on it.
    Entries of one id that differ stay apart and are judged one by one."""
    seen: dict[str, list[IndexEntry]] = {}
    odd: Counter[Objection] = Counter()
    kept: dict[Leg, tuple[Hit, ...]] = {}
    cut = False
    for leg in Leg:
        hits, unreadable = proposals[leg], proposals.unreadable.get(leg, 0)
        cut = cut or len(hits) + unreadable >= query.depth
        model = query.model_revision if leg is Leg.SEMANTIC else None
        here: dict[int, Hit] = {}
        odd_here = Counter({Objection.ENTRY_UNREADABLE: unreadable})
        for hit in hits:
            if model is not None and hit.entry.model_revision != model:
                odd_here[Objection.OTHER_MODEL] += 1
                continue
            entry = _same(hit.entry, seen)
            if id(entry) in here:
                odd_here[Objection.ENTRY_REPEATED] += 1
                continue
            here[id(entry)] = hit if entry is hit.entry else Hit(entry, hit.score)
        kept[leg] = tuple(here.values())
        odd |= odd_here
    return Candidates(LegHits(kept), odd, cut)


def _same(entry: IndexEntry, seen: dict[str, list[IndexEntry]]) -> IndexEntry:
    known = seen.setdefault(entry.chunk_id, [])
    for one in known:
        if one == entry:
            return one
    known.append(entry)
    return entry


@dataclass(frozen=True, slots=True)
class Sifted:
    """``findings``: of each entry that a leg proposes which ranks."""

    candidates: Candidates
    view: LedgerView
    findings: tuple[Finding, ...]

    @property
    def refused(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.verified is None]

    @property
    def disfigured(self) -> bool:
        """Does the index or the ledger hold what the service can't have written?"""
        return bool(+self.candidates.odd) or any(
            finding.reason is Objection.LEDGER_UNREADABLE for finding in self.findings
        )

    def starved(self, plan: Plan) -> bool:
        """Did what was withheld take places from what may be served?"""
        refused = len(self.refused)
        return (
            self.candidates.cut
            and bool(refused or +self.candidates.odd)
            and len(self.findings) - refused < plan.k
        )

    def ranking(self, plan: Plan) -> tuple[LegHits, int]:
        """Hits on the very entries that verified: a false entry under a true one's id lends it
        neither rank nor score. And how many were left out since their leg has the chunk already."""
        good = {id(finding.entry) for finding in self.findings if finding.verified}
        legs: dict[Leg, tuple[Hit, ...]] = {}
        repeated = 0
        for leg, hits in self.candidates.hits.legs.items():
            verified = [hit for hit in hits if id(hit.entry) in good]
            once = {hit.entry.chunk_id: hit for hit in reversed(verified)}
            repeated = max(repeated, len(verified) - len(once))
            legs[leg] = tuple(islice(reversed(once.values()), plan.query.depth))
        return LegHits(legs), repeated


def counted(
    refused: Sequence[Finding], odd: Counter[Objection]
) -> tuple[Counter[Outcome], Counter[str]]:
    """By outcome, and by reason."""
    outcomes = Counter(finding.outcome for finding in refused)
    withheld = Counter(finding.why for finding in refused)
    for reason, count in (+odd).items():
        outcomes[_OUTCOME.get(reason, Outcome.TAMPERED)] += count
        withheld[reason.value] += count
    return outcomes, withheld


@dataclass(frozen=True, slots=True)
class Unservable:
    """Documents and sources of which nothing can be served, whatever chunk is asked for."""

    documents: frozenset[DocumentKey]
    sources: frozenset[SourceKey]

    @classmethod
    def among(cls, findings: Sequence[Finding], view: LedgerView) -> Unservable:
        documents, sources = set(), set()
        for finding in findings:
            head = view.heads.get(finding.entry.key)
            if finding.verified is not None:
                continue
            if finding.reason in _OF_THE_SOURCE:
                sources.add(SourceKey(finding.entry.key.tenant, finding.entry.source_id))
            elif (
                head is None
                or head.version < 1
                or (finding.entry.version == head.version and finding.reason not in _OF_THE_ENTRY)
            ):
                documents.add(finding.entry.key)
        return cls(frozenset(documents), frozenset(sources))

    def holds(self, finding: Finding) -> bool:
        key = finding.entry.key
        return (
            key in self.documents or SourceKey(key.tenant, finding.entry.source_id) in self.sources
        )

    def beyond(self, query: LegQuery) -> LegQuery:
        """What lies behind: without what is known, and deeper, since there may be more of its kind
        and single entries can't be left out."""
        return replace(
            query,
            filter=self.outside(query.filter),
            depth=max(query.depth, min(query.depth * _DEEPER, _DEEPEST)),
        )

    def outside(self, wanted: SearchFilter) -> SearchFilter:
        return replace(wanted, without_documents=self.documents, without_sources=self.sources)
