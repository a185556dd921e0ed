"""The first step of every erasure: the tombstone, then the job that carries it everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from custody.application.ports import (
    Clock,
    DropReads,
    Identifiers,
    Jobs,
    LedgerReads,
    Tombstones,
)
from custody.domain.jobs import EraseJob
from custody.domain.ledger.erasures import Erasure, following
from custody.domain.model import Head, SourceKey, VersionState


class TombstoneLedger(LedgerReads, Tombstones, Protocol):
    """What a tombstone asks of the ledger, its judging of the caller included."""


@dataclass(frozen=True, slots=True)
class Tombstone:
    ledger: TombstoneLedger
    drops: DropReads
    jobs: Jobs
    clock: Clock
    identifiers: Identifiers

    def place(
        self, head: Head, *, reason: str, requested_by: str, mirrored: bool = False
    ) -> Erasure:
        """Raises Moved when the head is no longer the one that was read.

        A document that is erased already answers with the erasure that did it, and its job is
        sent again: a crash between the tombstone and the queue is mended by the repeat.
        """
        erasure = self._placed_before(head)
        if erasure is None:
            wanted = Erasure(
                erasure_id=self.identifiers.new("er"),
                key=head.key,
                through_version=head.accepted_version,
                reason=reason,
                requested_by=requested_by,
                requested_at=self.clock.now(),
                source_id=head.source_id,
                name=head.name,
            )
            wanted = following(self._former(head), wanted, self._known(head), mirrored=mirrored)
            after = self.ledger.tombstone(wanted, expected_revision=head.revision)
            erasure = self.ledger.erasure(head.key.tenant, after.erasure_id or "") or wanted
        self.jobs.send([EraseJob(erasure.key, erasure.erasure_id, erasure.through_version)])
        return erasure

    def _placed_before(self, head: Head) -> Erasure | None:
        return self._former(head) if head.state is VersionState.ERASED else None

    def _former(self, head: Head) -> Erasure | None:
        if head.erasure_id is None:
            return None
        return self.ledger.erasure(head.key.tenant, head.erasure_id)

    def _known(self, head: Head) -> tuple[str, ...]:
        """Read after the head: what is dropped meanwhile moves the head once it is let in."""
        drop = self.drops.drop(SourceKey(head.key.tenant, head.source_id), head.name)
        if drop is None or drop.document != head.key:
            return ()
        return tuple(ref.version_id for ref in (drop.object, drop.sidecar) if ref is not None)
