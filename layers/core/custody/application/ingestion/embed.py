"""Embed parts of versions, up to 32 chunks each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from custody.application.evidence_files import (
    PART_CHUNKS,
    check_vectors,
    encode_vectors,
    read_chunks,
)
from custody.application.failure import Failure, collecting
from custody.application.ports import Embedder, Jobs, Matrix, ObjectStore, VersionSteps
from custody.domain.jobs import EmbedJob, PublishJob, RejectJob
from custody.domain.ledger import transitions
from custody.domain.model import VersionRecord, VersionState
from custody.domain.storage import object_keys
from custody.domain.text.embedding_text import embedding_text
from custody.errors import CustodyError, IntegrityError, NotFound, Rejected

_MODEL_CHANGED = Rejected(
    "The embedding model changed while the version was on its way.", code="model-revision-changed"
)


@dataclass(frozen=True, slots=True)
class _Part:
    job: EmbedJob
    texts: list[str]


@dataclass(frozen=True, slots=True)
class Embed:
    ledger: VersionSteps
    objects: ObjectStore
    embedder: Embedder
    jobs: Jobs

    def __call__(self, jobs: Sequence[EmbedJob]) -> tuple[Failure[EmbedJob], ...]:
        """One call of the model for the whole batch. Returns the jobs that must be delivered
        again; one job's fault is not another's. Idempotent."""
        failures: list[Failure[EmbedJob]] = []
        parts: list[_Part] = []
        for job in dict.fromkeys(jobs):
            with collecting(failures, job):
                part = self._begin(job)
                if part is not None:
                    parts.append(part)
        return (*failures, *self._finish(parts))

    def _begin(self, job: EmbedJob) -> _Part | None:
        """None where there is nothing to embed; a part that was done before is sent on."""
        record = self.ledger.version(job.key, job.version)
        if record is None:
            return None
        if record.state is not VersionState.PENDING:
            self._take_back(job, record)
            return None
        _check_bounds(job, record)
        if job.part in record.parts_done:
            self._send_on(record)
            return None
        if record.model_revision not in (None, self.embedder.revision):
            # Half a version of each model can be searched by neither. Nothing is wrong with the
            # file itself, so no copy of it is kept.
            self.jobs.send([RejectJob(record.key, record.version, (_MODEL_CHANGED.code,))])
            return None
        try:
            chunks = read_chunks(self.objects, record)[job.first : job.last]
        except NotFound:
            again = self.ledger.version(job.key, job.version)
            if again is None or again.state is not VersionState.PENDING:
                return None  # erased while it waited
            raise
        return _Part(job, [embedding_text(chunk) for chunk in chunks])

    def _finish(self, parts: Sequence[_Part]) -> list[Failure[EmbedJob]]:
        if not parts:
            return []
        try:
            matrix = self.embedder.embed_passages([text for part in parts for text in part.texts])
        except CustodyError as error:
            if len(parts) == 1:
                return [Failure(parts[0].job, error)]
            # Which of them the model can't take shows when each has it for itself.
            return [failure for part in parts for failure in self._finish([part])]
        failures: list[Failure[EmbedJob]] = []
        first = 0
        for part in parts:
            vectors = matrix[first : first + len(part.texts)]
            first += len(part.texts)
            with collecting(failures, part.job):
                self._store(part, vectors)
        return failures

    def _store(self, part: _Part, vectors: Matrix) -> None:
        """Whoever finishes the last part of a version sends it on."""
        job = part.job
        self.objects.put(
            self._place(job),
            encode_vectors(check_vectors(vectors, len(part.texts))),
            content_type="application/octet-stream",
        )
        record = self.ledger.part_done(
            job.key, job.version, job.part, model_revision=self.embedder.revision
        )
        if record.state is not VersionState.PENDING:
            self._take_back(job, record)
            return
        self._send_on(record)

    def _place(self, job: EmbedJob) -> str:
        return object_keys.vectors(job.key, job.version, self.embedder.revision, job.part)

    def _take_back(self, job: EmbedJob, record: VersionRecord) -> None:
        """Of a version that was erased while it was embedded, now or by an earlier delivery that
        broke off: the erasure may have passed here before the vectors came."""
        if transitions.keeps_nothing(record):
            self.objects.delete_object(self._place(job))

    def _send_on(self, record: VersionRecord) -> None:
        if len(record.parts_done) == record.parts_total:
            self.jobs.send([PublishJob(record.key, record.version)])


def _check_bounds(job: EmbedJob, record: VersionRecord) -> None:
    if (
        not 0 <= job.part < record.parts_total
        or job.first != job.part * PART_CHUNKS
        or job.last != min(job.first + PART_CHUNKS, record.chunk_count)
    ):
        raise IntegrityError("The version has no such part.", code="unknown-part")
