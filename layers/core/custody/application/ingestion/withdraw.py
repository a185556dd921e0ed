"""Close a document whose access is no longer known.

A sidecar governs access. Where one can't be followed, nobody may read the document until it is
mended, whatever was published before: in the other order of the same two uploads nothing would
have been published at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from custody.application.ports import Clock, HeadReads, Jobs, Narrowing, Rejections, VersionHistory
from custody.domain.jobs import PublishJob
from custody.domain.ledger.access import wanted_acl
from custody.domain.model import Acl, DocumentKey, Head, VersionRecord, VersionState

NOBODY = Acl(())


class WithdrawLedger(HeadReads, VersionHistory, Rejections, Narrowing, Protocol):
    """What closing a document asks of the ledger."""


def withdraw(
    ledger: WithdrawLedger, jobs: Jobs, clock: Clock, key: DocumentKey, reason: str
) -> None:
    """Versions on their way are rejected; the live one is narrowed to nobody. Raises Moved, and is
    then to be run again."""
    head = ledger.head(key)
    if head is None:
        return
    for record in _waiting(ledger, head):
        ledger.reject(key, record.version, (reason,))
    head = ledger.head(key)
    if head is None or head.version == 0:
        return
    if wanted_acl(head) != NOBODY:
        head = ledger.narrow(
            key, NOBODY, expected_revision=head.revision, at=clock.now(), withdrawn=reason
        )
    if head.narrowed_to is not None:
        jobs.send([PublishJob(key, head.version, head.acl_revision + 1)])


def _waiting(ledger: VersionHistory, head: Head) -> Iterator[VersionRecord]:
    floor = max(head.version, head.erased_through)
    if head.accepted_version <= floor:
        return
    cursor: str | None = None
    while True:
        page = ledger.versions(head.key, limit=25, cursor=cursor)
        for record in page.items:
            if record.version <= floor:
                return
            if record.state is VersionState.PENDING:
                yield record
        cursor = page.next
        if cursor is None:
            return
