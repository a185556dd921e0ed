"""What was dropped under ``incoming/``, its record in the ledger, and the copies of refused drops.

Only a document that came as a drop has any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from custody.application.erasure.places.objects import delete_every_version
from custody.application.ports import Clock, DropLedger, ObjectStore
from custody.domain.intake import sidecar
from custody.domain.ledger.drops import ERASED, Drop, DropState
from custody.domain.ledger.erasures import Erasure
from custody.domain.model import SourceKey
from custody.domain.provenance.identifiers import drop_document_id
from custody.domain.storage import object_keys
from custody.errors import Moved, Unavailable


def _came_as_drop(erasure: Erasure) -> bool:
    return erasure.key.document_id == drop_document_id(erasure.source_id, erasure.name)


def _source(erasure: Erasure) -> SourceKey:
    return SourceKey(erasure.key.tenant, erasure.source_id)


@dataclass(frozen=True, slots=True)
class IncomingObjects:
    """The erased object and its sidecar. What was dropped since under the same path is not what was
    erased, accepted or not, and stays."""

    name: ClassVar[str] = "objects/incoming"
    ledger: DropLedger
    objects: ObjectStore
    clock: Clock

    def concerns(self, erasure: Erasure) -> bool:
        return _came_as_drop(erasure)

    def erase(self, erasure: Erasure) -> str | None:
        source = _source(erasure)
        key = object_keys.incoming(source, erasure.name)
        later = [self._clear(erasure, each) for each in (key, key + sidecar.SUFFIX)]
        if later[0]:
            return "An object that was dropped later stays."
        drop = self.ledger.drop(source, erasure.name)
        if drop is not None and drop.version <= erasure.through_version:
            self._remove(drop)
        return "A sidecar that was dropped later stays." if later[1] else None

    def _clear(self, erasure: Erasure, key: str) -> bool:
        """Delete every version but a current one that the erasure does not cover; whether there is
        such a one. What is let in of it is read from its copy, never from here."""
        now = self.objects.head(key)
        later = now if now and not erasure.covers(now.ref, now.last_modified) else None
        self.objects.delete_object(key, keep=() if later is None else (later.ref.version_id,))
        left = self.objects.head(key)
        if left is not None and (later is None or left.ref.version_id != later.ref.version_id):
            # Dropped this very moment, or not deleted: the next delivery knows which.
            raise Unavailable("An object is left.", code="store-unavailable")
        return later is not None

    def _remove(self, drop: Drop) -> None:
        if drop.state is DropState.REMOVED and drop.object is drop.sidecar is None:
            return
        try:
            self.ledger.put_drop(
                replace(
                    drop,
                    state=DropState.REMOVED,
                    object=None,
                    sidecar=None,
                    reasons=(ERASED,),
                    updated_at=self.clock.now(),
                )
            )
        except Moved:
            raise Unavailable("The drop is being changed.", code="ledger-unavailable") from None


@dataclass(frozen=True, slots=True)
class RejectedObjects:
    name: ClassVar[str] = "objects/rejected"
    objects: ObjectStore

    def concerns(self, erasure: Erasure) -> bool:
        return _came_as_drop(erasure)

    def erase(self, erasure: Erasure) -> str | None:
        key = object_keys.incoming(_source(erasure), erasure.name)
        for incoming in (key, key + sidecar.SUFFIX):
            copy = object_keys.rejected(incoming)
            for each in (copy, copy + object_keys.REASON_SUFFIX):
                delete_every_version(self.objects, each)
        return None
