"""One rule for names in a request: a metadata field, a source or a trust domain that no document
carries which the caller may read now is refused, whatever else exists.

What verified in the search itself carries the names that it was found by. Others are looked for: the
index is asked for some entries that carry one, and the ledger decides on these as on any. Both answers
are one, so that a name tells nothing of what its caller may not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from custody.application.ports import CandidateIndex, LedgerReads
from custody.application.reading.evidence_check import EvidenceCheck, Finding
from custody.application.reading.plan import Plan
from custody.application.reading.sifting import Unservable
from custody.domain.index.candidates import SearchFilter
from custody.domain.model import Principal, SourceKey
from custody.errors import Unprocessable

_SAMPLE = 50  # entries that are looked at of each name, at once
_LOOKS = 2


@dataclass(frozen=True, slots=True)
class _Name:
    """``where``: the field of the request. ``among``: what carries it."""

    kind: Literal["field", "source", "trust-domain"]
    name: str
    where: str
    among: SearchFilter


@dataclass(frozen=True, slots=True)
class UnknownNames:
    index: CandidateIndex
    ledger: LedgerReads
    check: EvidenceCheck

    def refuse(self, principal: Principal, plan: Plan, findings: Sequence[Finding]) -> None:
        """``findings``: of the search. Raises Unprocessable(unknown-field | unknown-source |
        unknown-trust-domain), and what asking raises."""
        names = [name for name in _names(plan) if not _carried(name, findings)]
        for _ in range(_LOOKS):
            if not names:
                return
            names = self._look(principal, plan, names)
        if names:
            raise _refused(names[0])

    def _look(self, principal: Principal, plan: Plan, names: Sequence[_Name]) -> list[_Name]:
        """Those that are still not found, to be looked for outside of what can't be served."""
        samples = self.index.sample(plan.query, [name.among for name in names], _SAMPLE)
        entries = [entry for sample in samples for entry in sample]
        if not entries:
            return list(names)
        view = self.ledger.view(
            principal.tenant,
            principal.subject,
            {entry.key for entry in entries},
            {SourceKey(entry.key.tenant, entry.source_id) for entry in entries},
        )
        findings = self.check(entries, view, principal, now=plan.now)
        unservable = Unservable.among(findings, view)
        judged = iter(findings)
        return [
            replace(name, among=unservable.outside(name.among))
            for name, sample in zip(names, samples, strict=True)
            if not _carried(name, list(islice(judged, len(sample))))
        ]


def _names(plan: Plan) -> Iterator[_Name]:
    wanted = plan.query.filter
    open_now = SearchFilter(acl_terms=wanted.acl_terms, valid_at=wanted.valid_at)
    for field in sorted(wanted.metadata):
        yield _Name("field", field, f"filter.{field}", replace(open_now, carries=field))
    for source in sorted(wanted.source_ids or ()):
        only = replace(open_now, source_ids=frozenset({source}))
        yield _Name("source", source, "source_ids", only)
    for domain in sorted(plan.trust_domains or ()):
        only = replace(open_now, trust_domains=frozenset({domain}))
        yield _Name("trust-domain", domain, "trust_domains", only)


def _carried(name: _Name, findings: Sequence[Finding]) -> bool:
    verified = (finding.verified for finding in findings if finding.verified is not None)
    if name.kind == "field":
        return any(True for _ in verified)
    if name.kind == "source":
        return any(one.source.key.source_id == name.name for one in verified)
    return any(one.source.trust_domain == name.name for one in verified)


def _refused(name: _Name) -> Unprocessable:
    detail = f"Nothing that you may read has this {name.kind.replace('-', ' ')}."
    match name.kind:
        case "field":
            return Unprocessable(detail, code="unknown-field", field=name.where)
        case "source":
            return Unprocessable(detail, code="unknown-source", field=name.where)
        case "trust-domain":
            return Unprocessable(detail, code="unknown-trust-domain", field=name.where)
