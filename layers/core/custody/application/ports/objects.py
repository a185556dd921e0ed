"""The bucket."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from custody.domain.model import ObjectRef


@dataclass(frozen=True, slots=True)
class StoredObject:
    ref: ObjectRef
    content_type: str | None
    last_modified: datetime
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Upload:
    """A presigned PUT: the caller sends exactly ``headers`` with it."""

    url: str
    headers: Mapping[str, str]
    expires_at: datetime


class ObjectStore(Protocol):
    """One versioned bucket. Raises Unavailable(code="store-unavailable")."""

    def head(self, key: str) -> StoredObject | None:
        """The current version, or None where there is none (or a delete marker)."""
        ...

    def get(self, ref: ObjectRef, *, limit: int) -> bytes:
        """The pinned bytes. NotFound when that version is gone; TooLarge above ``limit`` bytes."""
        ...

    def put(
        self, key: str, body: bytes, *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> ObjectRef: ...

    def copy(self, source: ObjectRef, key: str) -> ObjectRef: ...

    def delete(self, prefix: str) -> int:
        """Delete every version and delete marker under ``prefix``; returns how many."""
        ...

    def delete_object(self, key: str, *, keep: Collection[str] = ()) -> int:
        """Every version and delete marker of exactly ``key`` but the version ids in ``keep``."""
        ...

    def exists(self, prefix: str) -> bool:
        """True when any version under ``prefix`` is left."""
        ...

    def presign_put(self, key: str, *, content_type: str, size: int, seconds: int) -> Upload: ...
