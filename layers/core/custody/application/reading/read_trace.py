"""A stored answer, read again: its decisions as they were, its text only as the ledger allows now.

The trace holds no text. Each item's text comes from the stored chunks of its version and passes the
same check as any evidence, for the one who reads: what has since been erased, superseded or closed
to the reader stays closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from custody.application.evidence_files import read_chunks
from custody.application.ports import Clock, LedgerReads, ObjectStore, TraceStore, VersionReads
from custody.application.reading.evidence_check import EvidenceCheck, Finding, Verified
from custody.domain.index.candidates import IndexEntry
from custody.domain.model import DocumentKey, LedgerView, Principal, Scope, SourceKey
from custody.domain.provenance import identifiers, merkle
from custody.domain.provenance.canonical import leaf_bytes
from custody.errors import IntegrityError, NotFound


@dataclass(frozen=True, slots=True)
class Reread:
    """``stored``: the item as the trace holds it. ``verified`` None: it may no longer be shown to
    this reader; ``withheld`` says why, for auditors only."""

    stored: Mapping[str, object]
    verified: Verified | None
    withheld: str | None


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    answer_id: str
    subject: str
    trace: Mapping[str, object]
    evidence: tuple[Reread, ...]


class ReadTraceLedger(LedgerReads, VersionReads, Protocol):
    """What reading again asks of the ledger."""


class ReadTrace:
    def __init__(
        self,
        *,
        traces: TraceStore,
        ledger: ReadTraceLedger,
        objects: ObjectStore,
        check: EvidenceCheck,
        clock: Clock,
    ) -> None:
        self._traces, self._ledger, self._objects = traces, ledger, objects
        self._check, self._clock = check, clock

    def __call__(self, principal: Principal, answer_id: str) -> StoredAnswer:
        """For the one who asked, or an auditor of the same tenant. Raises NotFound for everyone
        else, and for what has expired or never was; Unavailable; Unauthenticated(token-revoked)."""
        missing = NotFound("There is no such answer.")
        found = self._traces.get(principal.tenant, answer_id)
        if found is None:
            raise missing
        subject, trace = found
        if trace.get("kind") != "answer":
            raise missing
        if subject != principal.subject and not principal.may(Scope.AUDIT):
            raise missing
        items = _items(trace)
        view = self._ledger.view(
            principal.tenant,
            principal.subject,
            {_key(item) for item in items},
            {SourceKey(str(item["tenant"]), str(item["source_id"])) for item in items},
        )
        # Rights first: what fails before its text is needed is never fetched.
        self._check((), view, principal, now=self._clock.now())
        return StoredAnswer(
            answer_id=answer_id,
            subject=subject,
            trace=trace,
            evidence=tuple(self._reread(item, view, principal) for item in items),
        )

    def _reread(self, item: Mapping[str, object], view: LedgerView, principal: Principal) -> Reread:
        entry = self._entry(item, view)
        if entry is None:
            return Reread(item, None, "no-longer-live")
        (finding,) = self._check([entry], view, principal, now=self._clock.now())
        if finding.verified is None:
            return Reread(item, None, _why(finding))
        if finding.verified.sha256 != item["sha256"]:
            return Reread(item, None, "digest-changed")
        return Reread(item, finding.verified, None)

    def _entry(self, item: Mapping[str, object], view: LedgerView) -> IndexEntry | None:
        """The chunk with its proof, from the stored chunks. None when that version is not live or
        its chunks are gone."""
        key, version, ordinal = _key(item), item["version"], item["ordinal"]
        head = view.heads.get(key)
        if head is None or head.version != version or not isinstance(ordinal, int):
            return None
        record = self._ledger.version(key, head.version)
        if record is None or record.chunks is None:
            return None
        try:
            chunks = read_chunks(self._objects, record)
        except (NotFound, IntegrityError):
            return None
        if not 0 <= ordinal < len(chunks):
            return None
        chunk = chunks[ordinal]
        paths = merkle.audit_paths([merkle.leaf_hash(leaf_bytes(each)) for each in chunks])
        return IndexEntry(
            chunk_id=identifiers.chunk_id(
                key.tenant, head.source_id, key.document_id, head.version, ordinal
            ),
            key=key,
            source_id=head.source_id,
            trust_domain="",
            version=head.version,
            ordinal=ordinal,
            title=chunk.title,
            heading=chunk.heading,
            page=chunk.page,
            text=chunk.text,
            acl=head.acl.allow,
            proof=tuple(step.hex() for step in paths[ordinal]),
            chunk_count=len(chunks),
            version_digest=head.content_sha256 or "",
            model_revision="",
        )


def _items(trace: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    evidence = trace.get("evidence")
    return evidence if isinstance(evidence, list) else []


def _key(item: Mapping[str, object]) -> DocumentKey:
    return DocumentKey(str(item["tenant"]), str(item["document_id"]))


def _why(finding: Finding) -> str:
    return finding.denial.value if finding.denial else finding.reason or finding.outcome.value
