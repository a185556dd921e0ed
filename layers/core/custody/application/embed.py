"""Embed one part of a version: up to 32 chunks."""

from __future__ import annotations

from dataclasses import dataclass

from custody.application.evidence_files import check_vectors, encode_vectors, read_chunks
from custody.application.parse import PART_CHUNKS
from custody.application.ports import Embedder, Jobs, Ledger, ObjectStore
from custody.application.rejecting import Rejecting
from custody.domain import object_keys
from custody.domain.chunking import embedding_text
from custody.domain.jobs import EmbedJob, PublishJob
from custody.domain.model import VersionRecord, VersionState
from custody.errors import IntegrityError, NotFound, Rejected


@dataclass(frozen=True, slots=True)
class Embed:
    ledger: Ledger
    objects: ObjectStore
    embedder: Embedder
    jobs: Jobs
    rejecting: Rejecting

    def __call__(self, job: EmbedJob) -> None:
        """Idempotent. Whoever finishes the last part sends the version on."""
        record = self.ledger.version(job.key, job.version)
        if record is None or record.state is not VersionState.PENDING:
            return
        _check_bounds(job, record)
        if job.part not in record.parts_done:
            if record.model_revision not in (None, self.embedder.revision):
                # Half a version of each model can be searched by neither.
                self.rejecting.version(
                    record,
                    Rejected(
                        "The embedding model changed while the version was on its way.",
                        code="model-revision-changed",
                    ),
                    keep_copy=False,
                )
                return
            try:
                self._embed(job, record)
            except NotFound:
                again = self.ledger.version(job.key, job.version)
                if again is None or again.state is not VersionState.PENDING:
                    return  # erased while it waited
                raise
            record = self.ledger.part_done(
                job.key, job.version, job.part, model_revision=self.embedder.revision
            )
        if record.state is not VersionState.PENDING:
            # Erased while it was embedded: the erasure may have passed here before the vectors.
            self.objects.delete_object(
                object_keys.vectors(job.key, job.version, self.embedder.revision, job.part)
            )
            return
        if len(record.parts_done) == record.parts_total:
            self.jobs.send([PublishJob(job.key, job.version)])

    def _embed(self, job: EmbedJob, record: VersionRecord) -> None:
        chunks = read_chunks(self.objects, record)[job.first : job.last]
        matrix = self.embedder.embed_passages([embedding_text(chunk) for chunk in chunks])
        self.objects.put(
            object_keys.vectors(job.key, job.version, self.embedder.revision, job.part),
            encode_vectors(check_vectors(matrix, len(chunks))),
            content_type="application/octet-stream",
        )


def _check_bounds(job: EmbedJob, record: VersionRecord) -> None:
    if (
        not 0 <= job.part < record.parts_total
        or job.first != job.part * PART_CHUNKS
        or job.last != min(job.first + PART_CHUNKS, record.chunk_count)
    ):
        raise IntegrityError("The version has no such part.", code="unknown-part")
