"""Bring what one index holds of some documents to what the ledger says, exactly.

No lock keeps publishers, ACL changes, clean-ups or erasures out meanwhile; their order and ours
makes it exact. Each of them writes the ledger first and then lists the indices of the space, anew
with each delivery; we make the index first and then read the ledger, strongly consistent:

- A version is signed before we read its document, and then we put it; or it is signed after, and
  then its publisher lists the indices after this one was made, and puts it itself, before it flips
  the head. A publisher that had listed before is found out by its signature.
- Whatever changes a document that was read here (a flip, an ACL, a tombstone) raises the head's
  revision. So the head is read again after the put, and where it moved the document is done anew.
  An ACL change that comes later sets the ACL of what we put; one that came before, we read.
- A version that was superseded stays among the live ones until it is in the history: while the
  served index shows it, so does this one. A move deletes from every index, and one that came before
  our put is seen when the served index is counted again.
- What ended meanwhile (moved, rejected, erased) was deleted from every index, perhaps before
  we put it. What the index then shows and the ledger does not want is taken out again. The ledger
  is read after the index is counted: what a publisher put is wanted by then, or it has ended.
- A run that is killed in between leaves its batch open in the record, and its cursor before it:
  the next run does those documents again, whatever they left in the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Protocol

from custody.application.evidence_files import read_chunks
from custody.application.index_entries import entries_of
from custody.application.indexing.belonging import belongings
from custody.application.indexing.vectors import Vectors
from custody.application.ports import (
    HeadReads,
    ObjectStore,
    RebuildableIndex,
    SourceReads,
    VersionHistory,
)
from custody.domain.index.candidates import Space
from custody.domain.model import DocumentKey, Head, SourceKey
from custody.errors import IntegrityError, NotFound, Unavailable

_PIECE = 100
"""Chunks that are put at once: a lease is looked at before each piece."""
_ROUNDS = 20


class Holding(Protocol):
    def hold(self) -> None:
        """Called before each write: raises where it may not be made any more."""
        ...


class CopyLedger(HeadReads, VersionHistory, SourceReads, Protocol):
    """What says which versions an index has to hold."""


@dataclass(frozen=True, slots=True)
class Target:
    """The index that is filled. ``served``: the one that searches find in its place."""

    space: Space
    name: str
    model_revision: str
    served: str | None = None


@dataclass(frozen=True, slots=True)
class Copying:
    ledger: CopyLedger
    objects: ObjectStore
    index: RebuildableIndex
    vectors: Vectors

    def __call__(self, target: Target, keys: Sequence[DocumentKey], lease: Holding) -> int:
        """Chunks that were put. ``lease`` has a batch of these documents open. Raises
        Unavailable(build-busy) where one of them changes faster than it is read."""
        written = 0
        left: Mapping[DocumentKey, Head | None] = {key: self.ledger.head(key) for key in keys}
        for _ in range(_ROUNDS):
            unmoved = self._unmoved(target, left)
            for key, head in left.items():
                if head is not None:
                    written += self._put(target, head, unmoved[key], lease)
            left = self._not_settled(target, left, lease)
            if not left:
                return written
        raise Unavailable("Documents change while they are indexed.", code="build-busy")

    def _put(self, target: Target, head: Head, unmoved: frozenset[int], lease: Holding) -> int:
        written = 0
        for belonging in belongings(self.ledger, target.space, head, unmoved=unmoved):
            record = belonging.record
            source = self.ledger.source(SourceKey(record.key.tenant, record.source_id))
            if source is None:
                raise IntegrityError("The version's source is missing.", code="source-missing")
            try:
                chunks = read_chunks(self.objects, record)
                matrix = self.vectors.of(record, chunks, target.model_revision, lease.hold)
            except (NotFound, IntegrityError):
                if self._moved(head):
                    return written  # it ended while it was read: it is looked at again
                if self.vectors.is_over(record):
                    continue  # it has expired, which moves no head
                raise
            entries = entries_of(
                record,
                source,
                chunks,
                matrix,
                acl=belonging.acl,
                model_revision=target.model_revision,
            )
            for piece in batched(entries, _PIECE):
                lease.hold()
                self.index.put_into(target.space, target.name, piece)
            written += len(entries)
        return written

    def _not_settled(
        self, target: Target, heads: Mapping[DocumentKey, Head | None], lease: Holding
    ) -> Mapping[DocumentKey, Head | None]:
        """The documents that have to be done again, as they are now. What the index holds and
        the ledger does not want is taken out."""
        counted = self.index.counts_in(target.space, target.name, heads.keys())
        unmoved = self._unmoved(target, heads)
        again: dict[DocumentKey, Head | None] = {}
        for key, before in heads.items():
            head = self.ledger.head(key)
            wanted = (
                {
                    each.record.version: each.record.chunk_count
                    for each in belongings(self.ledger, target.space, head, unmoved=unmoved[key])
                }
                if head is not None
                else {}
            )
            held = {version: n for (of, version), n in counted.items() if of == key}
            for version in held.keys() - wanted.keys():
                lease.hold()
                self.index.take_from(target.space, target.name, key, version)
            moved = head is not None and (before is None or head.revision != before.revision)
            if moved or any(held.get(version) != count for version, count in wanted.items()):
                again[key] = head
        return again

    def _unmoved(
        self, target: Target, heads: Mapping[DocumentKey, Head | None]
    ) -> Mapping[DocumentKey, frozenset[int]]:
        """Versions below the live one that the served index still shows: until they are moved, the
        history doesn't. A document that had one version alone has none."""
        earlier = [k for k, h in heads.items() if h is not None and h.accepted_version > 1]
        found: dict[DocumentKey, set[int]] = {key: set() for key in heads}
        if target.served is not None and not target.space.history and earlier:
            for key, version in self.index.counts_in(target.space, target.served, earlier):
                head = heads[key]
                if head is not None and version != head.version:
                    found[key].add(version)
        return {key: frozenset(versions) for key, versions in found.items()}

    def _moved(self, head: Head) -> bool:
        now = self.ledger.head(head.key)
        return now is None or now.revision != head.revision
