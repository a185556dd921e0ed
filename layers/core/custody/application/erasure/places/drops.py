"""What was dropped under ``incoming/``, its record in the ledger, and the copies of refused drops.

Only a document that came as a drop has any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from custody.application.erasure.places.objects import delete_every_version
from custody.application.ports import Clock, DropLedger, ObjectStore
from custody.domain.intake import sidecar
from custody.domain.ledger.drops import Drop, DropState
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
    """The erased object and its sidecar. What was dropped since under the same path is another
    document version's, accepted or not, and stays."""

    name: ClassVar[str] = "objects/incoming"
    ledger: DropLedger
    objects: ObjectStore
    clock: Clock

    def concerns(self, erasure: Erasure) -> bool:
        return _came_as_drop(erasure)

    def erase(self, erasure: Erasure) -> str | None:
        source = _source(erasure)
        drop = self.ledger.drop(source, erasure.name)
        key = object_keys.incoming(source, erasure.name)
        returned = self._returned(erasure, drop, key)
        for each in (key, key + sidecar.SUFFIX):
            now = self.objects.head(each) if returned else None
            self.objects.delete_object(each, keep=() if now is None else (now.ref.version_id,))
            if not returned and self.objects.head(each) is not None:
                # Dropped this very moment, or not deleted: the next delivery knows which.
                raise Unavailable("An object is left.", code="store-unavailable")
        if returned:
            return "An object that was dropped later stays."
        if drop is not None:
            self._remove(drop)
        return None

    def _returned(self, erasure: Erasure, drop: Drop | None, key: str) -> bool:
        """Whether what lies there now is not what was erased."""
        now = self.objects.head(key)
        if now is None or drop is None:
            return False
        known = drop.object
        return drop.version > erasure.through_version or (
            known is not None and known.version_id != now.ref.version_id
        )

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
