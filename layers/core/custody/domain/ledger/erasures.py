"""An erasure and what became of each copy.

Levels are told as verified, never as hoped: ``hidden`` (not served), ``deleted`` (gone from live
reads). Further levels (``expunged``, ``key-shredded``, ``expires-at``, ``out-of-scope``) belong to
receipts and join this enumeration with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from custody.domain.model import DocumentKey, ObjectRef

MOST_KNOWN_OBJECTS = 64


class ErasureState(StrEnum):
    PENDING = "PENDING"
    PARTIAL = "PARTIAL"
    COMPLETE = "COMPLETE"


class ErasureLevel(StrEnum):
    PENDING = "pending"
    HIDDEN = "hidden"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Artifact:
    """One place that held a copy. ``location`` names the place, never the content."""

    location: str
    level: ErasureLevel
    verified_at: datetime | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Erasure:
    """``known_objects``: the store's version ids of the dropped object and its sidecar that were
    known when it was asked for. ``dropped_through``: what was dropped up to then is erased with it.
    ``mirrored``: nobody asked for it; the object itself was deleted."""

    erasure_id: str
    key: DocumentKey
    through_version: int
    reason: str
    requested_by: str
    requested_at: datetime
    state: ErasureState = ErasureState.PENDING
    artifacts: tuple[Artifact, ...] = ()
    completed_at: datetime | None = None
    source_id: str = ""
    name: str = ""
    known_objects: tuple[str, ...] = ()
    dropped_through: datetime | None = None
    mirrored: bool = False

    def covers(self, dropped: ObjectRef, last_modified: datetime) -> bool:
        """Whether what was dropped under the document's path is what was erased, and not what came
        later. A store tells times in whole seconds, for an upload in parts that of its start, so
        what is unknown and of the second of the request is erased with it."""
        if dropped.version_id in self.known_objects:
            return True
        through = self.dropped_through
        return through is not None and last_modified.replace(microsecond=0) <= through


def following(
    former: Erasure | None, wanted: Erasure, known: Sequence[str], *, mirrored: bool
) -> Erasure:
    """``wanted`` with what it covers of the drops. An owner who deletes an object has deleted that
    one alone: what lies there since is new, whatever its time, and what was covered before stays
    covered."""
    if not mirrored:
        through = wanted.requested_at.replace(microsecond=0)
        return replace(wanted, known_objects=tuple(known), dropped_through=through)
    before = former.known_objects if former else ()
    return replace(
        wanted,
        known_objects=tuple(dict.fromkeys((*known, *before)))[:MOST_KNOWN_OBJECTS],
        dropped_through=former.dropped_through if former else None,
        mirrored=True,
    )
