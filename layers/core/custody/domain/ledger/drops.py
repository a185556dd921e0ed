"""What became of an object that somebody dropped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from custody.domain.ledger.sources import SourceFault
from custody.domain.model import DocumentKey, ObjectRef, SourceKey

ERASED = "erased"
"""The reason of a drop whose object an erasure covers."""


class DropState(StrEnum):
    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    REJECTED = "REJECTED"
    REMOVED = "REMOVED"


@dataclass(frozen=True, slots=True)
class Drop:
    """The pair (object, sidecar) last seen for one path. ``revision`` 0: not stored yet.

    ``sequencer`` is the highest S3 event sequencer seen for the object's own key. ``reasons``: codes,
    those of a refusal or of what is waited for.
    """

    source: SourceKey
    name: str
    document: DocumentKey
    revision: int
    state: DropState
    object: ObjectRef | None = None
    sidecar: ObjectRef | None = None
    version: int = 0
    sequencer: str | None = None
    sidecar_sequencer: str | None = None
    reasons: tuple[str, ...] = ()
    updated_at: datetime | None = None

    @property
    def source_faults(self) -> frozenset[SourceFault]:
        """Those of ``reasons`` that lie with the source."""
        return frozenset(SourceFault(code) for code in self.reasons if code in SourceFault)
