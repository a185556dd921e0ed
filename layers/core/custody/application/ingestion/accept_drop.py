"""Turn what lies under ``incoming/`` into a version that waits to be parsed.

An event is a hint that something may have changed. What counts is what the ledger holds and what
the bucket holds now: the ledger is read first, then both objects of the pair, and the write is
conditional on what the ledger held. Whoever loses that race reads everything again, so any order,
repetition or overlap of events ends in the state that the bucket is in.

Dropped objects stay where they are, refused ones too (a copy and the reason go under
``rejected/``): ``incoming/`` belongs to whoever drops there. To delete from it would race with the
next upload of the same key, and look like the owner's own deletion.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from custody.application.erasure.tombstone import Tombstone
from custody.application.ingestion.accept_document import move_on
from custody.application.ingestion.admission import (
    NOWHERE,
    Admission,
    Admitted,
    declared_media,
    version_that_says,
)
from custody.application.ingestion.rejecting import DROP_CONNECTOR, Rejecting
from custody.application.ingestion.withdraw import WithdrawLedger, withdraw
from custody.application.ports import (
    Admissions,
    ChunkCounts,
    Clock,
    DropLedger,
    ErasureReads,
    Jobs,
    ObjectStore,
    SourceReads,
    StoredObject,
)
from custody.application.races import again_when_moved
from custody.domain.intake import sequencer, sidecar, validation
from custody.domain.jobs import EraseJob, ParseJob
from custody.domain.ledger import sources
from custody.domain.ledger.access import own_acl
from custody.domain.ledger.drops import ERASED, Drop, DropState
from custody.domain.ledger.erasures import Erasure
from custody.domain.ledger.sources import SourceFault
from custody.domain.model import (
    DocumentKey,
    Head,
    ObjectRef,
    SidecarMode,
    Source,
    SourceKey,
    SourceState,
    VersionRecord,
    VersionState,
)
from custody.domain.provenance.identifiers import drop_document_id, valid_source_id, valid_tenant
from custody.domain.storage import object_keys
from custody.errors import (
    BrokenSidecar,
    Conflict,
    CustodyError,
    Moved,
    NotFound,
    Rejected,
    TooLarge,
)


@dataclass(frozen=True, slots=True)
class DropEvent:
    """``key``: decoded once, as the object is really named."""

    key: str
    sequencer: str | None = None


_NO_SUCH_KEY = "The key is not incoming/<tenant>/<source>/<path>."


class DropResult(StrEnum):
    ACCEPTED = "ACCEPTED"
    WAITING = "WAITING"  # for the other half of the pair
    UNCHANGED = "UNCHANGED"
    REJECTED = "REJECTED"
    ERASED = "ERASED"
    STALE = "STALE"  # a newer event of this key was handled already


@dataclass(frozen=True, slots=True)
class DropOutcome:
    result: DropResult
    name: str
    reasons: tuple[str, ...] = ()
    version: int = 0


@dataclass(frozen=True, slots=True)
class _Pair:
    """One look at the ledger and then at the bucket."""

    source_key: SourceKey
    name: str
    drop: Drop
    head: Head | None
    source: Source | None
    object: StoredObject | None
    sidecar: StoredObject | None

    @property
    def key(self) -> str:
        return object_keys.incoming(self.source_key, self.name)

    @property
    def is_what_was_stored(self) -> bool:
        return (
            self.drop.revision > 0
            and _version(self.drop.object) == _stored(self.object)
            and _version(self.drop.sidecar) == _stored(self.sidecar)
        )


def _version(ref: ObjectRef | None) -> str | None:
    return None if ref is None else ref.version_id


def _stored(found: StoredObject | None) -> str | None:
    return None if found is None else found.ref.version_id


def _is_newer(beside: StoredObject | None, head: Head | None) -> bool:
    """Whether a sidecar was laid there after somebody gave the document an ACL of its own."""
    if beside is None or head is None or head.acl_set_at is None:
        return False
    return beside.last_modified > head.acl_set_at


def _mirrors(source: Source | None) -> bool:
    return (
        source is not None
        and source.mirror_deletes
        and source.state is not SourceState.QUARANTINED  # evidence of an incident stays
    )


class AcceptDropLedger(DropLedger, SourceReads, Admissions, WithdrawLedger, ErasureReads, Protocol):
    """What taking a drop in asks of the ledger."""


@dataclass(frozen=True, slots=True)
class AcceptDrop:
    ledger: AcceptDropLedger
    objects: ObjectStore
    index: ChunkCounts
    jobs: Jobs
    clock: Clock
    rejecting: Rejecting
    tombstone: Tombstone
    bucket: str
    max_object_bytes: int = 50_000_000

    def __call__(self, event: DropEvent) -> DropOutcome:
        parts = object_keys.split_incoming(event.key)
        if parts is None:
            return self._refuse_nameless(event.key, Rejected(_NO_SUCH_KEY, code="invalid-path"))
        if not valid_tenant(parts.tenant) or not valid_source_id(parts.source_id):
            return self._refuse_nameless(
                event.key, Rejected(_NO_SUCH_KEY, code=SourceFault.UNKNOWN)
            )
        of_sidecar = parts.path.endswith(sidecar.SUFFIX)
        name = parts.path.removesuffix(sidecar.SUFFIX) if of_sidecar else parts.path
        if name.endswith(sidecar.SUFFIX):
            # Its pair would be a sidecar and published as a document.
            return self._refuse_nameless(
                event.key, Rejected("A sidecar has no sidecar.", code="sidecar-of-a-sidecar")
            )
        source = SourceKey(parts.tenant, parts.source_id)
        return again_when_moved(
            lambda: self._accept(source, name, event.sequencer, of_sidecar=of_sidecar),
            lost="The drop is being changed faster than it can be read.",
        )

    def _accept(
        self, source: SourceKey, name: str, order: str | None, *, of_sidecar: bool
    ) -> DropOutcome:
        drop = self._drop(source, name)
        if order is not None:
            seen = drop.sidecar_sequencer if of_sidecar else drop.sequencer
            if seen is not None and sequencer.compare(order, seen) < 0:
                return DropOutcome(DropResult.STALE, name, version=drop.version)
            latest = sequencer.latest(seen, order)
            drop = (
                replace(drop, sidecar_sequencer=latest)
                if of_sidecar
                else replace(drop, sequencer=latest)
            )
        try:
            return self._judge(self._look(drop), of_sidecar=of_sidecar)
        except NotFound:
            raise Moved("A pinned object went away between two reads.") from None

    def _drop(self, source: SourceKey, name: str) -> Drop:
        stored = self.ledger.drop(source, name)
        if stored is not None:
            return stored
        document = DocumentKey(source.tenant, drop_document_id(source.source_id, name))
        return Drop(source, name, document, revision=0, state=DropState.PENDING)

    def _look(self, drop: Drop) -> _Pair:
        """The ledger first: what the bucket says afterwards is at least as new."""
        head = self.ledger.head(drop.document)
        source = self.ledger.source(drop.source)
        key = object_keys.incoming(drop.source, drop.name)
        found = self.objects.head(key)
        beside = self.objects.head(key + sidecar.SUFFIX)
        return _Pair(drop.source, drop.name, drop, head, source, found, beside)

    def _judge(self, pair: _Pair, *, of_sidecar: bool) -> DropOutcome:
        if pair.source is not None and pair.source.sidecar is SidecarMode.FORBIDDEN:
            if of_sidecar and pair.sidecar is not None:
                self._keep_forbidden_sidecar(pair, pair.sidecar)
            pair = replace(pair, sidecar=None)
        if pair.object is None:
            return self._gone(pair)
        found, beside, erasure = pair.object, pair.sidecar, self._erasure(pair)
        if erasure is not None:
            if erasure.covers(found.ref, found.last_modified):
                return self._erased(pair, erasure)
            if beside is not None and erasure.covers(beside.ref, beside.last_modified):
                pair = replace(pair, sidecar=None)
        if pair.is_what_was_stored and not self._worth_another_look(pair.drop):
            return self._again(pair)
        try:
            return self._take(pair, found)
        except (Rejected, TooLarge) as error:
            return self._refuse(pair, error)

    # --- the object is there ---

    def _take(self, pair: _Pair, found: StoredObject) -> DropOutcome:
        source = self._source(pair)
        if not validation.is_path(pair.name):
            raise Rejected("The path has an empty segment, a dot segment or a control character.",
                           code="invalid-path")  # fmt: skip
        if found.ref.size > self.max_object_bytes:
            raise TooLarge(
                f"The object is larger than {self.max_object_bytes:,} bytes.",
                code="object-too-large",
            )
        if found.ref.size == 0:
            raise Rejected("The object is empty.", code="empty-document")
        if pair.sidecar is None and source.sidecar is SidecarMode.REQUIRED:
            return self._wait(pair, "sidecar-missing")
        draft = self._draft(pair, source, found)
        admitted = version_that_says(self.ledger, self.index, pair.head, draft)
        if admitted is None:
            return self._let_in(pair, draft, found)
        live = admitted.admission is not Admission.WAITING
        self._store(
            pair,
            state=DropState.ACTIVE if live else DropState.PENDING,
            version=admitted.record.version,
        )
        move_on(self.jobs, admitted)
        return DropOutcome(DropResult.UNCHANGED, pair.name, version=admitted.record.version)

    def _source(self, pair: _Pair) -> Source:
        if pair.source is None:
            raise Rejected("There is no such source in this tenant.", code=SourceFault.UNKNOWN)
        try:
            sources.check_active(pair.source)
        except Conflict as error:
            raise Rejected(error.detail, code=error.code) from None
        return pair.source

    def _draft(self, pair: _Pair, source: Source, found: StoredObject) -> VersionRecord:
        beside = self._read_sidecar(pair, source)
        kept = own_acl(pair.head)
        wanted = beside.acl if kept is None or _is_newer(pair.sidecar, pair.head) else None
        content = self.objects.get(found.ref, limit=self.max_object_bytes)
        try:
            content_type = declared_media(content, content_type=found.content_type, name=pair.name)
            acl = sources.document_acl(source, wanted, kept)
        except CustodyError as error:
            raise Rejected(error.detail, code=error.code, field=error.field) from None
        return VersionRecord(
            key=pair.drop.document,
            version=0,
            source_id=source.key.source_id,
            name=pair.name,
            state=VersionState.PENDING,
            content_type=content_type,
            content_sha256=hashlib.sha256(content).hexdigest(),
            raw=NOWHERE,
            acl=acl,
            acl_kept=wanted is None and kept is not None,
            uri=f"s3://{self.bucket}/{pair.key}",
            sidecar=None if pair.sidecar is None else pair.sidecar.ref,
            title=beside.title,
            metadata=beside.metadata,
            observed_at=found.last_modified,
            valid_from=beside.valid_from,
            valid_to=beside.valid_to,
            connector=DROP_CONNECTOR,
            order=pair.drop.sequencer,
            accepted_at=self.clock.now(),
        )

    def _read_sidecar(self, pair: _Pair, source: Source) -> sidecar.Sidecar:
        if pair.sidecar is None:
            return sidecar.Sidecar()
        if pair.sidecar.ref.size > sidecar.MAX_BYTES:
            raise BrokenSidecar("The sidecar is too large.", code="sidecar-too-large")
        body = self.objects.get(pair.sidecar.ref, limit=sidecar.MAX_BYTES)
        found = sidecar.read(body, tenant=source.key.tenant)
        if found.acl is not None:
            try:
                sources.sidecar_acl(source, found.acl)
            except CustodyError as error:
                raise BrokenSidecar(
                    error.detail, code="sidecar-acl-too-wide", field="acl"
                ) from None
        return found

    def _let_in(self, pair: _Pair, draft: VersionRecord, found: StoredObject) -> DropOutcome:
        version = (pair.head.accepted_version if pair.head else 0) + 1
        raw = self.objects.copy(found.ref, object_keys.raw(draft.key, version))
        try:
            record = self.ledger.accept(
                replace(draft, raw=raw),
                expected_revision=pair.head.revision if pair.head else 0,
                drop=self._next(pair, state=DropState.PENDING),
            )
        except Moved:
            raise
        except Conflict as error:
            raise Rejected(error.detail, code=error.code) from None
        move_on(self.jobs, Admitted(record, Admission.NEW))
        return DropOutcome(DropResult.ACCEPTED, pair.name, version=record.version)

    # --- what an erasure covers ---

    def _erasure(self, pair: _Pair) -> Erasure | None:
        """The last one of the document."""
        if pair.head is None or pair.head.erasure_id is None:
            return None
        return self.ledger.erasure(pair.head.key.tenant, pair.head.erasure_id)

    def _erased(self, pair: _Pair, erasure: Erasure) -> DropOutcome:
        """Whatever lies beside it. The erasure is sent after it once more: it may have been here
        before the upload's end."""
        drop = pair.drop
        head = pair.head
        came_back = head is not None and head.accepted_version > head.erased_through
        if head is not None and came_back and _mirrors(pair.source):
            self._mirror(head)  # what came later was deleted, so that an erased one shows again
        if not (
            pair.is_what_was_stored
            and drop.state is DropState.REMOVED
            and drop.reasons == (ERASED,)
        ):
            self._store(pair, state=DropState.REMOVED, version=drop.version, reasons=(ERASED,))
        self.jobs.send(
            [EraseJob(erasure.key, erasure.erasure_id, erasure.through_version, pair.name)]
        )
        return DropOutcome(DropResult.ERASED, pair.name, (ERASED,), drop.version)

    # --- the same pair again ---

    @staticmethod
    def _worth_another_look(drop: Drop) -> bool:
        """The cause of the refusal lies outside the pair, and may be gone."""
        return drop.state is DropState.REJECTED and bool(drop.source_faults)

    def _again(self, pair: _Pair) -> DropOutcome:
        """Nothing is new. A job that a crash kept from the queue is sent now."""
        drop = pair.drop
        record = self.ledger.version(drop.document, drop.version) if drop.version else None
        if record is not None and record.state is VersionState.PENDING:
            self.jobs.send([ParseJob(record.key, record.version)])
        result = {
            DropState.REJECTED: DropResult.REJECTED,
            DropState.REMOVED: DropResult.ERASED,
        }.get(drop.state, DropResult.UNCHANGED)
        if drop.state is DropState.PENDING and drop.version == 0:
            result = DropResult.WAITING
        return DropOutcome(result, pair.name, drop.reasons, drop.version)

    # --- half a pair, or none ---

    def _gone(self, pair: _Pair) -> DropOutcome:
        source, drop = pair.source, pair.drop
        if drop.revision == 0:
            if pair.sidecar is None:
                return DropOutcome(DropResult.UNCHANGED, pair.name)
            if source is None:
                error = Rejected(
                    "There is no such source in this tenant.", code=SourceFault.UNKNOWN
                )
                return self._refuse(pair, error)
            return self._wait(pair, "object-missing")
        if not _mirrors(source) or drop.state is DropState.REMOVED:
            return DropOutcome(DropResult.UNCHANGED, pair.name, drop.reasons, drop.version)
        if pair.head is not None:
            self._mirror(pair.head)
        self._store(pair, state=DropState.REMOVED, version=drop.version)
        return DropOutcome(DropResult.ERASED, pair.name, version=drop.version)

    def _mirror(self, head: Head) -> None:
        self.tombstone.place(
            head,
            reason="The object was deleted.",
            requested_by=DROP_CONNECTOR,
            mirrored=True,
        )

    def _wait(self, pair: _Pair, reason: str) -> DropOutcome:
        if not (pair.is_what_was_stored and pair.drop.reasons == (reason,)):
            self._store(pair, state=DropState.PENDING, version=pair.drop.version, reasons=(reason,))
        return DropOutcome(DropResult.WAITING, pair.name, (reason,), pair.drop.version)

    # --- refused ---

    def _refuse(self, pair: _Pair, error: CustodyError) -> DropOutcome:
        """The drop's record is written last, so that a repeat after a crash does all again."""
        if pair.object is not None:
            self.rejecting.keep(pair.key, pair.object.ref, error)
        if pair.sidecar is not None:
            self.rejecting.keep(pair.key + sidecar.SUFFIX, pair.sidecar.ref, error)
        if isinstance(error, BrokenSidecar):
            withdraw(self.ledger, self.jobs, self.clock, pair.drop.document, error.code)
        self._store(
            pair, state=DropState.REJECTED, version=pair.drop.version, reasons=(error.code,)
        )
        return DropOutcome(DropResult.REJECTED, pair.name, (error.code,), pair.drop.version)

    def _refuse_nameless(self, key: str, error: Rejected) -> DropOutcome:
        """No tenant, no source or no file: nothing that this could be recorded as the drop of."""
        found = self.objects.head(key)
        if found is not None:
            self.rejecting.keep(key, found.ref, error)
        return DropOutcome(DropResult.REJECTED, key, (error.code,))

    def _keep_forbidden_sidecar(self, pair: _Pair, beside: StoredObject) -> None:
        """Kept and told of; the file itself goes its way, whichever of the two came first."""
        self.rejecting.keep(
            pair.key + sidecar.SUFFIX,
            beside.ref,
            Rejected("The source takes no sidecars.", code="sidecar-forbidden"),
        )

    # --- writing ---

    def _next(
        self, pair: _Pair, *, state: DropState, version: int = 0, reasons: tuple[str, ...] = ()
    ) -> Drop:
        return replace(
            pair.drop,
            state=state,
            version=version,
            reasons=reasons,
            object=None if pair.object is None else pair.object.ref,
            sidecar=None if pair.sidecar is None else pair.sidecar.ref,
            updated_at=self.clock.now(),
        )

    def _store(
        self, pair: _Pair, *, state: DropState, version: int, reasons: tuple[str, ...] = ()
    ) -> None:
        self.ledger.put_drop(self._next(pair, state=state, version=version, reasons=reasons))
