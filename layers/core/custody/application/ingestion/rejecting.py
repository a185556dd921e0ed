"""Keep what was refused: a copy under the reject prefix, with the reason beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from custody.application.ports import Clock, DropLedger, DropReads, ObjectStore, VersionReads
from custody.application.races import again_when_moved
from custody.domain.ledger.drops import DropState
from custody.domain.model import ObjectRef, SourceKey, VersionRecord, VersionState
from custody.domain.provenance.canonical import canonical_json
from custody.domain.storage import object_keys
from custody.domain.timestamps import format_rfc3339
from custody.errors import CustodyError

DROP_CONNECTOR = "s3"
MAX_COPIED_BYTES = 1_000_000_000  # S3 copies 5 GB in one call, a function's time allows less


@dataclass(frozen=True, slots=True)
class Rejecting:
    objects: ObjectStore
    clock: Clock

    def keep(self, incoming_key: str, ref: ObjectRef, error: CustodyError) -> None:
        """Copy the object and write ``<copy>.reason.json``; of one that is too large to copy in
        one call only the reason, and it stays where it was dropped. Raises NotFound when the
        object is gone."""
        copy = object_keys.rejected(incoming_key)
        if ref.size <= MAX_COPIED_BYTES:
            self.objects.copy(ref, copy)
        reason = {
            "reasons": [error.code],
            "detail": error.detail,
            "field": error.field,
            "key": incoming_key,
            "size": ref.size,
            "rejected_at": format_rfc3339(self.clock.now()),
        }
        self.objects.put(
            copy + object_keys.REASON_SUFFIX,
            canonical_json(reason),
            content_type="application/json",
        )


class RejectingLedger(VersionReads, DropReads, Protocol):
    """What keeping a refused version asks of the ledger."""


@dataclass(frozen=True, slots=True)
class RejectingVersion:
    """Keep what a refused version was made of, where it came as a drop. That the version is over
    is for ``close_rejected`` to write: whoever refuses may have no right to."""

    ledger: RejectingLedger
    rejecting: Rejecting

    def keep(self, record: VersionRecord, error: CustodyError) -> None:
        """Nothing, where a newer upload has taken the drop's place: that one has its own story."""
        if record.connector != DROP_CONNECTOR:
            return
        source = SourceKey(record.key.tenant, record.source_id)
        drop = self.ledger.drop(source, record.name)
        if drop is None or drop.version != record.version:
            return
        incoming = object_keys.incoming(source, record.name)
        self.rejecting.keep(incoming, record.raw, error)
        now = self.ledger.version(record.key, record.version)
        if now is None or now.state is VersionState.ERASED:
            # Erased meanwhile: then nothing of it is kept.
            copy = object_keys.rejected(incoming)
            for key in (copy, copy + object_keys.REASON_SUFFIX):
                self.rejecting.objects.delete_object(key)


def settle_drop(
    ledger: DropLedger,
    record: VersionRecord,
    state: DropState,
    reasons: Sequence[str],
    clock: Clock,
) -> None:
    """Say what became of the version that a drop waits for; a newer upload, and whoever settled it
    meanwhile, have their own story."""

    def settle() -> None:
        drop = ledger.drop(SourceKey(record.key.tenant, record.source_id), record.name)
        if drop is None or drop.version != record.version or drop.state is not DropState.PENDING:
            return
        ledger.put_drop(replace(drop, state=state, reasons=tuple(reasons), updated_at=clock.now()))

    again_when_moved(settle, lost="The drop is being changed by others.")
