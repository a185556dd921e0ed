"""Make versions live: sign, index, wait until a search sees every chunk, then flip the head.

The order is what makes it safe. Nothing is live before its statement is signed and all its chunks
can be found; a crash after any step is finished by the next delivery, and a version that lost its
turn meanwhile (superseded, erased, rejected) is taken out of the index again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from custody.application.evidence_files import read_chunks, read_every_vector
from custody.application.failure import Failure, collecting
from custody.application.index_acl import follow_acl
from custody.application.index_entries import entries_of, leaves_of
from custody.application.ingestion.publish_acl import PublishAcl, PublishAclLedger
from custody.application.ingestion.rejecting import DROP_CONNECTOR, settle_drop
from custody.application.ports import (
    Clock,
    DropLedger,
    Flip,
    Jobs,
    ObjectStore,
    Publication,
    Signer,
    VersionHistory,
    WritableIndex,
)
from custody.domain.index.candidates import Space
from custody.domain.jobs import CleanupJob, IndexJob, PublishJob
from custody.domain.ledger.access import wanted_acl
from custody.domain.ledger.drops import DropState
from custody.domain.model import (
    Acl,
    DocumentKey,
    Head,
    Source,
    SourceKey,
    VersionRecord,
    VersionState,
)
from custody.domain.provenance import merkle, statement
from custody.errors import CustodyError, IntegrityError, NotFound


@dataclass(frozen=True, slots=True)
class _Indexed:
    """One version whose entries were written and are to be counted after the refresh."""

    job: PublishJob
    record: VersionRecord
    acl: Acl


class PublishLedger(PublishAclLedger, VersionHistory, Publication, DropLedger, Protocol):
    """What publication asks of the ledger."""


@dataclass(frozen=True, slots=True)
class Publish:
    ledger: PublishLedger
    objects: ObjectStore
    index: WritableIndex
    signer: Signer
    jobs: Jobs
    clock: Clock

    def __call__(self, jobs: Sequence[PublishJob]) -> tuple[Failure[PublishJob], ...]:
        """One refresh for the whole batch. Returns the jobs that must be delivered again; one
        job's fault is not another's."""
        failures: list[Failure[PublishJob]] = []
        indexed: list[_Indexed] = []
        unique = list(dict.fromkeys(jobs))
        for job in unique:
            if job.acl_revision == 0:
                with collecting(failures, job):
                    written = self._index(job)
                    if written is not None:
                        indexed.append(written)
        failures += self._make_live(indexed)
        for job in unique:
            if job.acl_revision > 0:
                with collecting(failures, job):
                    self._publish_acl(job.key)
        return tuple(failures)

    # --- sign and index ---

    def _index(self, job: PublishJob) -> _Indexed | None:
        record = self.ledger.version(job.key, job.version)
        if record is None:
            return None
        if record.state not in (VersionState.PENDING, VersionState.ACTIVE):
            self._clean_up(record.key, record.version)
            if record.published_at is not None:
                # An earlier delivery made it live, and may have been killed before it said so.
                self._clean_up_former(record.key, record.version)
            return None
        source = self.ledger.source(SourceKey(record.key.tenant, record.source_id))
        head = self.ledger.head(record.key)
        if source is None or head is None:
            raise IntegrityError("The version's source or head is missing.", code="source-missing")
        try:
            chunks = read_chunks(self.objects, record)
            vectors = read_every_vector(self.objects, record)
        except (NotFound, IntegrityError):
            if self._is_over(record):
                self._clean_up(record.key, record.version)
                return None
            raise
        leaves = leaves_of(chunks)
        record = self._sign(record, source, head, merkle.root(leaves).hex())
        if record.envelope is None:
            self._clean_up(record.key, record.version)  # it ended while it was being signed
            return None
        live = record.state is VersionState.ACTIVE
        if live and self._is_of_a_former_model(record):
            self.jobs.send([IndexJob(record.key, record.version)])
            return None
        acl = wanted_acl(head) if live and head.version == record.version else record.acl
        space, revision = Space.of(record.key), record.model_revision or ""
        entries = entries_of(
            record, source, chunks, vectors, acl=acl, model_revision=revision, leaves=leaves
        )
        self.index.ensure(space, model_revision=revision, dimensions=vectors.shape[1])
        self.index.put(space, entries)
        return _Indexed(job, record, acl)

    def _sign(self, record: VersionRecord, source: Source, head: Head, root: str) -> VersionRecord:
        if record.envelope is not None:
            if record.chunk_root != root:
                raise IntegrityError(
                    "The chunks are not those that were signed.", code="root-mismatch"
                )
            return record
        payload = statement.build(
            record,
            source,
            chunk_root=root,
            chunk_count=record.chunk_count,
            acl=record.acl,
            acl_revision=0,
            signed_at=self.clock.now(),
            supersedes=head.version or None,
        )
        signed = replace(
            record,
            chunk_root=root,
            statement_id=statement.statement_id(payload),
            envelope=self.signer.sign(statement.PAYLOAD_TYPE, payload),
        )
        return self.ledger.signed(signed)

    def _is_of_a_former_model(self, record: VersionRecord) -> bool:
        """The space has indices, and none that its vectors belong in."""
        revisions = self.index.revisions(Space.of(record.key))
        return bool(revisions) and record.model_revision not in revisions

    def _is_over(self, record: VersionRecord) -> bool:
        again = self.ledger.version(record.key, record.version)
        return again is None or again.state not in (VersionState.PENDING, VersionState.ACTIVE)

    # --- count and flip ---

    def _make_live(self, indexed: Sequence[_Indexed]) -> list[Failure[PublishJob]]:
        if not indexed:
            return []
        try:
            self.index.refresh({Space.of(item.record.key) for item in indexed})
        except CustodyError as error:
            return [Failure(item.job, error) for item in indexed]
        failures: list[Failure[PublishJob]] = []
        for item in indexed:
            with collecting(failures, item.job):
                self._flip(item.record, item.acl)
        return failures

    def _flip(self, record: VersionRecord, indexed_acl: Acl) -> None:
        key, version = record.key, record.version
        found = self.index.count(Space.of(key), key, version, model_revision=record.model_revision)
        if found != record.chunk_count:
            if self._is_over(record):
                self._clean_up(key, version)
                return
            raise IntegrityError(
                f"A search sees {found} of {record.chunk_count} chunks.", code="index-incomplete"
            )
        head = self.ledger.flip(Flip(record, self.clock.now()))
        if head is None:
            self._clean_up(key, version)
            return
        if self.index.revisions(Space.of(key)) - {record.model_revision}:
            # A space has indices of two models while they are changed: this one's vectors are of one.
            self.jobs.send([IndexJob(key, version)])
        self._clean_up_former(key, version)
        if record.connector == DROP_CONNECTOR:
            settle_drop(self.ledger, record, DropState.ACTIVE, (), self.clock)
        if head.narrowed_to is not None:
            # The ACL was changed while this version was on its way: the change stands.
            self._publish_acl(key)
        elif head.version == version and head.acl != indexed_acl:
            # It changed between reading the head and writing the entries of a live version.
            follow_acl(self.ledger, self.index, key, (Space.of(key),))

    def _clean_up_former(self, key: DocumentKey, version: int) -> None:
        """The one that was live before: its predecessors were cleaned up when it went live. What was
        overtaken in between is cleaned up by its own publisher."""
        cursor: str | None = str(version)
        while cursor is not None:
            page = self.ledger.versions(key, limit=25, cursor=cursor)
            for record in page.items:
                if record.state is VersionState.SUPERSEDED and record.published_at is not None:
                    self._clean_up(key, record.version)
                    return
            cursor = page.next

    def _clean_up(self, key: DocumentKey, version: int) -> None:
        self.jobs.send([CleanupJob(key, version)])

    def _publish_acl(self, key: DocumentKey) -> None:
        PublishAcl(self.ledger, self.index, self.signer, self.clock)(key)
