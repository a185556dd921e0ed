"""Close versions that a step before publication refused.

The steps that parse and embed can't write what decides what is live, so they send what they found
and a version stays PENDING until it is closed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from custody.application.failure import Failure, collecting
from custody.application.ingestion.rejecting import DROP_CONNECTOR, settle_drop
from custody.application.ports import Clock, DropLedger, Rejections, VersionReads
from custody.domain.jobs import RejectJob
from custody.domain.ledger.drops import DropState
from custody.domain.model import VersionState


class CloseRejectedLedger(VersionReads, Rejections, DropLedger, Protocol):
    """What closing a version asks of the ledger."""


@dataclass(frozen=True, slots=True)
class CloseRejected:
    ledger: CloseRejectedLedger
    clock: Clock

    def __call__(self, jobs: Sequence[RejectJob]) -> tuple[Failure[RejectJob], ...]:
        """Returns the jobs that must be delivered again; one job's fault is not another's."""
        failures: list[Failure[RejectJob]] = []
        for job in dict.fromkeys(jobs):
            with collecting(failures, job):
                self._close(job)
        return tuple(failures)

    def _close(self, job: RejectJob) -> None:
        """The record and the head first, in one transaction, which refuses nothing that went live
        or was erased meanwhile. Then the drop, by what the record says: in the other order a drop
        could be told as rejected whose version is being served. A crash in between is finished by
        the next delivery, which finds the record closed."""
        self.ledger.reject(job.key, job.version, job.reasons)
        record = self.ledger.version(job.key, job.version)
        if record is None or record.state is not VersionState.REJECTED:
            return
        if record.connector == DROP_CONNECTOR:
            settle_drop(self.ledger, record, DropState.REJECTED, record.reasons, self.clock)
