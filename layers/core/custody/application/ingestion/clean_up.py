"""Take a version that was superseded out of the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from custody.application.ports import HeadReads, VersionReads, WritableIndex
from custody.domain.index.candidates import Space
from custody.domain.jobs import CleanupJob
from custody.domain.model import VersionState
from custody.errors import Unavailable


class CleanUpLedger(HeadReads, VersionReads, Protocol):
    """What cleaning up asks of the ledger."""


@dataclass(frozen=True, slots=True)
class CleanUpSuperseded:
    ledger: CleanUpLedger
    index: WritableIndex

    def __call__(self, job: CleanupJob) -> None:
        """Only the index: raw bytes and chunks of earlier versions stay in the bucket. A version
        that is live or on its way is never touched, however late the job comes. Raises
        Unavailable(index-unavailable) while a search can still find the version."""
        record = self.ledger.version(job.key, job.version)
        head = self.ledger.head(job.key)
        if record is None or (head is not None and head.version == job.version):
            return
        if record.state in (VersionState.PENDING, VersionState.ACTIVE):
            return
        space = Space.of(job.key)
        self.index.delete(space, job.key, version=job.version)
        self.index.refresh((space,))
        if self.index.left(space, job.key, job.version) != 0:
            raise Unavailable("A superseded version can still be found.", code="index-unavailable")
