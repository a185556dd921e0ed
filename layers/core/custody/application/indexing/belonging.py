"""Which versions of a document an index has to hold, and who may find each: as the ledger says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from custody.application.ports import VersionHistory
from custody.domain.index.candidates import Space
from custody.domain.ledger.access import wanted_acl
from custody.domain.ledger.transitions import has_a_past
from custody.domain.model import Acl, Head, VersionRecord, VersionState


@dataclass(frozen=True, slots=True)
class Belonging:
    record: VersionRecord
    acl: Acl


def belongings(
    ledger: VersionHistory, space: Space, head: Head, *, unmoved: frozenset[int] = frozenset()
) -> tuple[Belonging, ...]:
    """In the history: every version that was live once. Among the live ones: the live version,
    those above it that are signed, since their publishers may have listed the indices before this
    one was made, and of the ``unmoved`` those that wait for their move into the history."""
    if space.history:
        past = [record for record in _versions(ledger, head, 0) if _is_past(record, head)]
        return tuple(Belonging(record, wanted_acl(head)) for record in past)
    found: list[Belonging] = []
    if head.version:
        live = ledger.version(head.key, head.version)
        if live is not None:
            found.append(Belonging(live, wanted_acl(head)))
    if head.accepted_version > head.version:
        found += [
            Belonging(record, record.acl)
            for record in _versions(ledger, head, head.version)
            if _is_on_its_way(record, head)
        ]
    for version in sorted(unmoved):
        record = ledger.version(head.key, version)
        if record is not None and _is_past(record, head):
            found.append(Belonging(record, wanted_acl(head)))
    return tuple(found)


def _is_past(record: VersionRecord, head: Head) -> bool:
    return has_a_past(record) and record.version > head.erased_through


def _is_on_its_way(record: VersionRecord, head: Head) -> bool:
    """Signed, and not erased: the tombstone comes before the records that it covers are stripped."""
    return (
        record.state is VersionState.PENDING
        and record.envelope is not None
        and record.version > head.erased_through
    )


def _versions(ledger: VersionHistory, head: Head, above: int) -> Iterator[VersionRecord]:
    """The newest first."""
    cursor: str | None = None
    while True:
        page = ledger.versions(head.key, limit=25, cursor=cursor)
        for record in page.items:
            if record.version <= above:
                return
            yield record
        if page.next is None:
            return
        cursor = page.next
