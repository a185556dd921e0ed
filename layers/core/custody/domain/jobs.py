"""Messages on the queues. Each names what to do by reference: no text travels on a queue."""

from __future__ import annotations

from dataclasses import dataclass

from custody.domain.model import DocumentKey


@dataclass(frozen=True, slots=True)
class ParseJob:
    key: DocumentKey
    version: int


@dataclass(frozen=True, slots=True)
class EmbedJob:
    """Chunks ``first`` to ``last`` (exclusive, at most 32 of them) are part number ``part``."""

    key: DocumentKey
    version: int
    part: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class PublishJob:
    """``acl_revision`` above 0: only the ACL of that live version changes."""

    key: DocumentKey
    version: int
    acl_revision: int = 0


@dataclass(frozen=True, slots=True)
class EraseJob:
    """Propagate one erasure to everything derived from the document up to ``through_version``."""

    key: DocumentKey
    erasure_id: str
    through_version: int


@dataclass(frozen=True, slots=True)
class CleanupJob:
    """Take one superseded version out of the index."""

    key: DocumentKey
    version: int


type Job = ParseJob | EmbedJob | PublishJob | EraseJob | CleanupJob
