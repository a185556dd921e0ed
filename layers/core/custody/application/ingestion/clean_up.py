"""Move a version that was superseded from among the live ones into the history.

Its entries are put into the history from the stored chunks and vectors, counted there, and only then
taken from among the live ones: whoever asks both finds it at every moment. A version that never was
live has no past and is only taken out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from custody.application.evidence_files import read_chunks, read_every_vector
from custody.application.index_acl import follow_acl
from custody.application.index_entries import entries_of
from custody.application.ports import (
    HeadReads,
    Jobs,
    ObjectStore,
    SourceReads,
    VersionReads,
    WritableIndex,
)
from custody.domain.index.candidates import Space
from custody.domain.jobs import CleanupJob, IndexJob
from custody.domain.ledger.access import wanted_acl
from custody.domain.ledger.transitions import has_a_past
from custody.domain.model import DocumentKey, SourceKey, VersionRecord, VersionState
from custody.errors import IntegrityError, NotFound, Unavailable


class CleanUpLedger(HeadReads, VersionReads, SourceReads, Protocol):
    """What cleaning up asks of the ledger."""


@dataclass(frozen=True, slots=True)
class CleanUpSuperseded:
    ledger: CleanUpLedger
    objects: ObjectStore
    index: WritableIndex
    jobs: Jobs

    def __call__(self, job: CleanupJob) -> None:
        """Touches no object. A version that is live or on its way is never touched, however late
        the job comes; of one that was erased or has expired nothing is kept, nor of an earlier
        delivery's move that broke off. Raises Unavailable(index-unavailable) while a search can
        still find the version where it should not, IntegrityError(index-incomplete) while the
        history does not show all of it."""
        record = self.ledger.version(job.key, job.version)
        head = self.ledger.head(job.key)
        if record is None or (head is not None and head.version == job.version):
            return
        if record.state in (VersionState.PENDING, VersionState.ACTIVE):
            return
        live, past = Space.of(job.key), Space.history_of(job.key)
        kept = has_a_past(record) and self._keep(record)
        spaces = (live,) if kept else (live, past)
        for space in spaces:
            self.index.delete(space, job.key, version=job.version)
        self.index.refresh(spaces)
        if any(self.index.left(space, job.key, job.version) for space in spaces):
            raise Unavailable("A superseded version can still be found.", code="index-unavailable")

    def _keep(self, record: VersionRecord) -> bool:
        """False where it was erased or has expired meanwhile."""
        key, past = record.key, Space.history_of(record.key)
        source = self.ledger.source(SourceKey(key.tenant, record.source_id))
        head = self.ledger.head(key)
        if source is None or head is None:
            raise IntegrityError("The version's source or head is missing.", code="source-missing")
        try:
            chunks = read_chunks(self.objects, record)
            vectors = {
                revision: read_every_vector(self.objects, record, revision)
                for revision in self._models(record)
            }
        except (NotFound, IntegrityError) as error:
            if self._is_over(key, record.version):
                return False
            if error.code == "vectors-missing":
                # Of another model: once they are made, the move is delivered again.
                self.jobs.send([IndexJob(key, record.version)])
            raise
        acl = wanted_acl(head)
        for revision, matrix in vectors.items():
            entries = entries_of(record, source, chunks, matrix, acl=acl, model_revision=revision)
            self.index.ensure(past, model_revision=revision, dimensions=matrix.shape[1])
            self.index.put(past, entries)
        self.index.refresh((past,))
        follow_acl(self.ledger, self.index, key, (past,))
        if self._is_over(key, record.version):
            return False
        found = self.index.count(past, key, record.version)
        if found != record.chunk_count:
            raise IntegrityError(
                f"The history shows {found} of {record.chunk_count} chunks.",
                code="index-incomplete",
            )
        return True

    def _models(self, record: VersionRecord) -> Collection[str]:
        """While the model is changed there may be a history of each: all of them take the version
        before it leaves the live ones. The first history is of a model that the live ones have."""
        own = record.model_revision or ""
        past = self.index.revisions(Space.history_of(record.key))
        if past:
            return past
        live = self.index.revisions(Space.of(record.key))
        return (own,) if own in live or not live else (min(live),)

    def _is_over(self, key: DocumentKey, version: int) -> bool:
        """Erased or expired meanwhile: then nothing of it is kept."""
        again = self.ledger.version(key, version)
        head = self.ledger.head(key)
        erased_through = head.erased_through if head is not None else 0
        return again is None or not has_a_past(again) or version <= erased_through
