"""An erasure and what became of each copy.

Levels are told as verified, never as hoped: ``hidden`` (not served), ``deleted`` (gone from live
reads). Further levels (``expunged``, ``key-shredded``, ``expires-at``, ``out-of-scope``) belong to
receipts and join this enumeration with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from custody.domain.model import DocumentKey


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
