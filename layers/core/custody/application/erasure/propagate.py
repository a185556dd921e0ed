"""Carry an erasure, or the end of a superseded version, to every place that holds a copy.

What the receipt says was read back, never assumed. Nothing of a version above the erased ones is
touched: the document may have come back meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from custody.application.ports import (
    Clock,
    DropLedger,
    ErasureLedger,
    HeadReads,
    ObjectStore,
    VersionReads,
    WritableIndex,
)
from custody.domain.index.candidates import Space
from custody.domain.intake import sidecar
from custody.domain.jobs import CleanupJob, EraseJob
from custody.domain.ledger.drops import Drop, DropState
from custody.domain.ledger.erasures import Artifact, Erasure, ErasureLevel, ErasureState
from custody.domain.model import DocumentKey, SourceKey, VersionState
from custody.domain.provenance.identifiers import drop_document_id
from custody.domain.storage import object_keys
from custody.errors import Conflict, CustodyError, IntegrityError, Unavailable


class PropagateLedger(HeadReads, VersionReads, ErasureLedger, DropLedger, Protocol):
    """What propagation asks of the ledger."""


@dataclass(frozen=True, slots=True)
class Propagate:
    ledger: PropagateLedger
    objects: ObjectStore
    index: WritableIndex
    clock: Clock

    def __call__(self, job: EraseJob | CleanupJob) -> None:
        if isinstance(job, EraseJob):
            self.erase(job)
        else:
            self.clean_up(job)

    # --- superseded versions ---

    def clean_up(self, job: CleanupJob) -> None:
        """Only the index: raw bytes and chunks of earlier versions stay in the bucket. A version
        that is live or on its way is never touched, however late the job comes."""
        record = self.ledger.version(job.key, job.version)
        head = self.ledger.head(job.key)
        if record is None or (head is not None and head.version == job.version):
            return
        if record.state in (VersionState.PENDING, VersionState.ACTIVE):
            return
        space = Space.of(job.key)
        self.index.delete(space, job.key, version=job.version)
        self.index.refresh((space,))
        if self.index.count(space, job.key, job.version) != 0:
            raise Unavailable("A superseded version can still be found.", code="index-unavailable")

    # --- erasures ---

    def erase(self, job: EraseJob) -> None:
        """Every place is tried, whatever another one did. Raises Unavailable(erasure-partial)
        while any of them is not verified, so that the job is delivered again."""
        erasure = self.ledger.erasure(job.key.tenant, job.erasure_id)
        if erasure is None:
            raise IntegrityError("There is no such erasure.", code="erasure-missing")
        if erasure.state is ErasureState.COMPLETE:
            return
        artifacts = tuple(self._attempt(place, work) for place, work in self._places(erasure))
        complete = all(artifact.level is ErasureLevel.DELETED for artifact in artifacts)
        self.ledger.put_erasure(
            replace(
                erasure,
                artifacts=artifacts,
                state=ErasureState.COMPLETE if complete else ErasureState.PARTIAL,
                completed_at=self.clock.now() if complete else None,
            )
        )
        if not complete:
            left = ", ".join(a.location for a in artifacts if a.level is not ErasureLevel.DELETED)
            raise Unavailable(f"Not verified as deleted yet: {left}.", code="erasure-partial")

    def _attempt(self, place: str, work: Callable[[], str | None]) -> Artifact:
        """``work`` returns what is still to be said of a place that is verified as deleted."""
        try:
            detail = work()
        except CustodyError as error:
            return Artifact(place, ErasureLevel.HIDDEN, None, f"{error.code}: {error.detail}")
        return Artifact(place, ErasureLevel.DELETED, self.clock.now(), detail)

    def _places(self, erasure: Erasure) -> Iterator[tuple[str, Callable[[], str | None]]]:
        """Records first: a step of the ingestion that is still running sees there that it is over
        and takes back what it wrote; what it wrote before is found by the places that follow."""
        key, through = erasure.key, erasure.through_version
        yield "ledger/versions", partial(self._records, key, through)
        yield "index", partial(self._index, key, through)
        yield "objects/raw", partial(self._raw, key, through)
        for kind in ("evidence", "vectors"):
            yield f"objects/{kind}", partial(self._folders, kind, key, through)
        if key.document_id == drop_document_id(erasure.source_id, erasure.name):
            source = SourceKey(key.tenant, erasure.source_id)
            yield "objects/incoming", partial(self._incoming, source, erasure)
            yield "objects/rejected", partial(self._rejected, source, erasure.name)

    def _index(self, key: DocumentKey, through: int) -> str | None:
        space = Space.of(key)
        self.index.delete(space, key, through=through)
        self.index.refresh((space,))
        if self.index.count(space, key) != 0 and any(
            self.index.count(space, key, version) for version in range(1, through + 1)
        ):
            raise Unavailable("Chunks can still be found.", code="index-unavailable")
        return "Gone from searches; the index reclaims its space when it merges segments."

    def _raw(self, key: DocumentKey, through: int) -> str | None:
        for version in range(1, through + 1):
            self._delete_all_versions(object_keys.raw(key, version))
        return None

    def _folders(self, kind: str, key: DocumentKey, through: int) -> str | None:
        for version in range(1, through + 1):
            prefix = f"{object_keys.folder(kind, key)}{version}/"
            self.objects.delete(prefix)
            if self.objects.exists(prefix):
                raise Unavailable("Objects are left.", code="store-unavailable")
        return None

    def _delete_all_versions(self, key: str) -> None:
        """Read back by deleting again: it lists every version, not only the current one."""
        self.objects.delete_object(key)
        if self.objects.delete_object(key) != 0:
            raise Unavailable("An object is left.", code="store-unavailable")

    def _incoming(self, source: SourceKey, erasure: Erasure) -> str | None:
        """The erased object and its sidecar. What was dropped since under the same path is
        another document version's, accepted or not, and stays."""
        drop = self.ledger.drop(source, erasure.name)
        key = object_keys.incoming(source, erasure.name)
        now = self.objects.head(key)
        known = drop.object if drop else None
        returned = now is not None and (
            (drop is not None and drop.version > erasure.through_version)
            or (known is not None and known.version_id != now.ref.version_id)
        )
        for name in (key, key + sidecar.SUFFIX):
            now = self.objects.head(name) if returned else None
            self.objects.delete_object(name, keep=() if now is None else (now.ref.version_id,))
            if not returned and self.objects.head(name) is not None:
                # Dropped this very moment, or not deleted: the next delivery knows which.
                raise Unavailable("An object is left.", code="store-unavailable")
        if returned:
            return "An object that was dropped later stays."
        if drop is not None:
            self._remove(drop)
        return None

    def _remove(self, drop: Drop) -> None:
        if drop.state is DropState.REMOVED:
            return
        try:
            self.ledger.put_drop(
                replace(
                    drop,
                    state=DropState.REMOVED,
                    object=None,
                    sidecar=None,
                    reasons=(),
                    updated_at=self.clock.now(),
                )
            )
        except Conflict:
            raise Unavailable("The drop is being changed.", code="ledger-unavailable") from None

    def _rejected(self, source: SourceKey, name: str) -> str | None:
        key = object_keys.incoming(source, name)
        for incoming in (key, key + sidecar.SUFFIX):
            copy = object_keys.rejected(incoming)
            for each in (copy, copy + object_keys.REASON_SUFFIX):
                self._delete_all_versions(each)
        return None

    def _records(self, key: DocumentKey, through: int) -> str | None:
        for version in range(1, through + 1):
            self.ledger.mark_erased(key, version)
            record = self.ledger.version(key, version)
            if record is not None and record.state is not VersionState.ERASED:
                raise Unavailable("A version record is left.", code="ledger-unavailable")
        return "Ids, digests, states and times stay."
