"""Turn pinned bytes into canonical chunks. This step has no right to sign anything."""

from __future__ import annotations

import math
from dataclasses import dataclass

from custody.application.evidence_files import PART_CHUNKS
from custody.application.ingestion.rejecting import RejectingVersion
from custody.application.ports import Chunker, Jobs, ObjectStore, Parser, VersionSteps
from custody.domain.jobs import EmbedJob, ParseJob, RejectJob
from custody.domain.ledger import transitions
from custody.domain.model import VersionRecord, VersionState
from custody.domain.storage import chunk_lines, object_keys
from custody.domain.text import hygiene
from custody.errors import NotFound, Rejected, TooLarge

MAX_CHUNKS = 5_000


@dataclass(frozen=True, slots=True)
class Parse:
    ledger: VersionSteps
    objects: ObjectStore
    parser: Parser
    chunker: Chunker
    jobs: Jobs
    rejecting: RejectingVersion
    max_object_bytes: int = 50_000_000
    max_chunks: int = MAX_CHUNKS

    def __call__(self, job: ParseJob) -> None:
        """A version that is no longer PENDING needs nothing. One that was parsed already is only
        sent on, to the parts that are still missing. One that is refused is sent to be closed,
        after what is kept of it, so that a repeat after a crash does all of it again."""
        record = self.ledger.version(job.key, job.version)
        if record is None:
            return
        if record.state is not VersionState.PENDING:
            self._take_back(record)
            return
        if record.chunks is None:
            try:
                record = self._parse(record)
            except (Rejected, TooLarge) as error:
                self.rejecting.keep(record, error)
                self.jobs.send([RejectJob(record.key, record.version, (error.code,))])
                return
            except NotFound:
                again = self.ledger.version(job.key, job.version)
                if again is None or again.state is not VersionState.PENDING:
                    return  # erased while it waited
                raise
        if record.state is not VersionState.PENDING:
            self._take_back(record)
            return
        self.jobs.send(missing_parts(record))

    def _take_back(self, record: VersionRecord) -> None:
        """Of a version that was erased while it was parsed, now or by an earlier delivery that
        broke off: the erasure may have passed here before the chunks came."""
        if transitions.keeps_nothing(record):
            self.objects.delete_object(object_keys.chunks(record.key, record.version))

    def _parse(self, record: VersionRecord) -> VersionRecord:
        content = self.objects.get(record.raw, limit=self.max_object_bytes)
        parsed = self.parser.parse(content, content_type=record.content_type, name=record.name)
        chunks = self.chunker.chunk(
            parsed,
            document_id=record.key.document_id,
            version=record.version,
            title=record.title or parsed.title,
        )
        if not chunks:
            raise Rejected("The document holds no text.", code="empty-document")
        if len(chunks) > self.max_chunks:
            raise Rejected(
                f"The document has more than {self.max_chunks:,} chunks.", code="too-many-chunks"
            )
        body = chunk_lines.encode(chunks)
        stored = self.objects.put(
            object_keys.chunks(record.key, record.version),
            body,
            content_type=chunk_lines.CONTENT_TYPE,
        )
        return self.ledger.chunked(
            record.key,
            record.version,
            chunks=stored,
            chunk_count=len(chunks),
            parts_total=math.ceil(len(chunks) / PART_CHUNKS),
            parser=parsed.parser,
            chunker=self.chunker.version,
            # What the caller declared, or a repeat of the same request would look like a change.
            title=record.title,
            inspection=hygiene.inspection(
                content,
                # A caller's title is served too, so it is looked at like the text.
                signals=(*parsed.signals, *hygiene.inspect_text(record.title or "")),
                active_content_removed=parsed.active_content_removed,
            ),
        )


def missing_parts(record: VersionRecord) -> list[EmbedJob]:
    """Where none is missing the last one is sent again: it sends the version on to be published."""
    missing = [part for part in range(record.parts_total) if part not in record.parts_done]
    return [
        EmbedJob(
            key=record.key,
            version=record.version,
            part=part,
            first=part * PART_CHUNKS,
            last=min((part + 1) * PART_CHUNKS, record.chunk_count),
        )
        for part in missing or [record.parts_total - 1]
    ]
