"""Publish one document and wait for it, as long as a caller may be kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

from custody.application.callers import no_such_document
from custody.application.ingestion.accept_document import Accept, DocumentRequest
from custody.application.ingestion.admission import Admission
from custody.application.ingestion.waiting import Waiting
from custody.application.ports import ChunkCounts, VersionReads
from custody.domain.index.candidates import Space
from custody.domain.model import Principal, VersionRecord, VersionState
from custody.errors import Unprocessable


@dataclass(frozen=True, slots=True)
class Published:
    """``unchanged``: nothing was written. A record that is still PENDING will be published."""

    record: VersionRecord
    unchanged: bool


@dataclass(frozen=True, slots=True)
class PostDocument:
    accept: Accept
    ledger: VersionReads
    index: ChunkCounts
    waiting: Waiting

    def __call__(self, principal: Principal, request: DocumentRequest) -> Published:
        """Raises Unprocessable with the first reason as its code when the document was rejected,
        NotFound when it was erased meanwhile; everything that ``Accept.from_api`` raises."""
        admitted = self.accept.from_api(principal, request)
        record = admitted.record
        if admitted.admission is Admission.UNCHANGED:
            return Published(record, unchanged=True)
        if admitted.admission is Admission.MISSING:
            return Published(self._repaired(record), unchanged=False)
        done = self.waiting.until(lambda: self._ended(record))
        if done is None:
            return Published(record, unchanged=False)
        if done.state is VersionState.REJECTED:
            reasons = done.reasons or ("rejected",)
            raise Unprocessable(
                f"The document was rejected: {', '.join(reasons)}.", code=reasons[0]
            )
        if done.state is VersionState.ERASED:
            raise no_such_document()
        return Published(done, unchanged=False)

    def _ended(self, record: VersionRecord) -> VersionRecord | None:
        now = self.ledger.version(record.key, record.version)
        return now if now is not None and now.state is not VersionState.PENDING else None

    def _repaired(self, record: VersionRecord) -> VersionRecord:
        """Live, but not wholly searchable. Told as PENDING when the time is over before it is."""

        def look() -> VersionRecord | None:
            found = self.index.count(Space.of(record.key), record.key, record.version)
            return record if found == record.chunk_count else None

        return self.waiting.until(look) or _pending(record)


def _pending(record: VersionRecord) -> VersionRecord:
    return replace(record, state=VersionState.PENDING)
