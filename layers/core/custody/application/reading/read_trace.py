"""A stored answer, read again: its decisions as they were, its text only as the ledger allows now.

The trace holds no text. Each item's text, and each word that a rewrite took from one, comes from the
stored chunks of its version and passes the same check as any evidence, for the one who reads: what
has since been erased, superseded or closed to the reader stays closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from custody.application.callers import require
from custody.application.evidence_files import read_chunks
from custody.application.ports import Clock, LedgerReads, ObjectStore, TraceStore, VersionReads
from custody.application.reading.evidence_check import EvidenceCheck, Verified
from custody.application.reading.trace import AnswerTrace, ChunkRef
from custody.application.reading.trace_codec import decode
from custody.domain.index.candidates import IndexEntry
from custody.domain.model import Chunk, DocumentKey, LedgerView, Principal, Scope, VersionRecord
from custody.domain.provenance import identifiers, merkle
from custody.domain.provenance.canonical import leaf_bytes
from custody.domain.text.question import feedback_words
from custody.errors import IntegrityError, NotFound, Unavailable


@dataclass(frozen=True, slots=True)
class Reread:
    """``verified`` None: the chunk may no longer be shown to this reader; ``withheld`` says why, for
    auditors only."""

    verified: Verified | None
    withheld: str | None


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """``evidence``: of each item of the trace. ``added_terms``: of each attempt, the words that its
    rewrite added; None in place of one that may no longer be shown to this reader."""

    answer_id: str
    subject: str
    trace: AnswerTrace
    evidence: tuple[Reread, ...]
    added_terms: tuple[tuple[str | None, ...], ...]


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
        else, and for what has expired or never was; Unavailable, with trace-unavailable for a trace
        that is damaged or of an earlier form; Unauthenticated(token-revoked),
        Forbidden(scope-missing)."""
        require(principal, Scope.READ)
        subject, trace = self._trace(principal, answer_id)
        chunks = {item.chunk for item in trace.evidence} | {
            place.chunk for attempt in trace.attempts for place in attempt.added_terms
        }
        view = self._ledger.view(
            principal.tenant,
            principal.subject,
            {chunk.key for chunk in chunks},
            {chunk.source for chunk in chunks},
        )
        now = self._clock.now()
        # Rights first: what fails before its text is needed is never fetched.
        self._check((), view, principal, now=now)
        reading = _Reading(self._ledger, self._objects, self._check, view, principal, now)
        again = {chunk: reading(chunk) for chunk in chunks}
        return StoredAnswer(
            answer_id=answer_id,
            subject=subject,
            trace=trace,
            evidence=tuple(again[item.chunk] for item in trace.evidence),
            added_terms=tuple(
                tuple(_word(again[place.chunk], place.position) for place in attempt.added_terms)
                for attempt in trace.attempts
            ),
        )

    def _trace(self, principal: Principal, answer_id: str) -> tuple[str, AnswerTrace]:
        missing = NotFound("There is no such answer.")
        try:
            found = self._traces.get(principal.tenant, answer_id)
            if found is None:
                raise missing
            subject, stored = found
            if subject != principal.subject and not principal.may(Scope.AUDIT):
                raise missing
            trace = decode(stored)
        except IntegrityError as error:
            # an outage to the caller: an answer that can't be read must not pass for none
            raise Unavailable(
                "The stored answer can't be read.", code="trace-unavailable"
            ) from error
        if not isinstance(trace, AnswerTrace):
            raise missing
        return subject, trace


@dataclass(frozen=True, slots=True)
class _Reading:
    """One reader at one time. Each version's record and chunks are fetched once."""

    ledger: VersionReads
    objects: ObjectStore
    check: EvidenceCheck
    view: LedgerView
    principal: Principal
    now: datetime
    files: dict[tuple[DocumentKey, int], Sequence[Chunk]] = field(default_factory=dict)
    records: dict[tuple[DocumentKey, int], VersionRecord | None] = field(default_factory=dict)

    def __call__(self, chunk: ChunkRef) -> Reread:
        entry = self._entry(chunk)
        if entry is None:
            return Reread(None, self._why_gone(chunk))
        (finding,) = self.check([entry], self.view, self.principal, now=self.now)
        if finding.verified is None:
            return Reread(None, finding.why)
        if finding.verified.sha256 != chunk.sha256:
            return Reread(None, "digest-changed")
        return Reread(finding.verified, None)

    def _why_gone(self, chunk: ChunkRef) -> str:
        """Of a chunk that can't be read: whether its version is kept no longer."""
        record = self._record(chunk.key, chunk.version)
        if record is not None and record.expired_at is not None:
            return "version-expired"
        return "no-longer-live"

    def _entry(self, wanted: ChunkRef) -> IndexEntry | None:
        """The chunk with its proof, from the stored chunks. None when that version is not live or
        its chunks are gone."""
        head = self.view.heads.get(wanted.key)
        if head is None or head.version != wanted.version:
            return None
        chunks = self._chunks(wanted.key, head.version)
        if not 0 <= wanted.ordinal < len(chunks):
            return None
        chunk = chunks[wanted.ordinal]
        paths = merkle.audit_paths([merkle.leaf_hash(leaf_bytes(each)) for each in chunks])
        return IndexEntry(
            chunk_id=identifiers.chunk_id(
                head.key.tenant,
                head.source_id,
                head.key.document_id,
                head.version,
                wanted.ordinal,
            ),
            key=head.key,
            source_id=head.source_id,
            trust_domain="",
            version=head.version,
            ordinal=wanted.ordinal,
            title=chunk.title,
            heading=chunk.heading,
            page=chunk.page,
            text=chunk.text,
            acl=head.acl.allow,
            proof=tuple(step.hex() for step in paths[wanted.ordinal]),
            chunk_count=len(chunks),
            version_digest=head.content_sha256 or "",
            model_revision="",
        )

    def _chunks(self, key: DocumentKey, version: int) -> Sequence[Chunk]:
        """Empty when they are gone."""
        if (key, version) not in self.files:
            self.files[key, version] = self._read(key, version)
        return self.files[key, version]

    def _record(self, key: DocumentKey, version: int) -> VersionRecord | None:
        if (key, version) not in self.records:
            self.records[key, version] = self.ledger.version(key, version)
        return self.records[key, version]

    def _read(self, key: DocumentKey, version: int) -> Sequence[Chunk]:
        record = self._record(key, version)
        if record is None or record.chunks is None:
            return ()
        try:
            return read_chunks(self.objects, record)
        except (NotFound, IntegrityError):
            return ()


def _word(again: Reread, position: int) -> str | None:
    if again.verified is None:
        return None
    entry = again.verified.entry
    words = feedback_words(entry.title, entry.text)
    return words[position] if 0 <= position < len(words) else None
