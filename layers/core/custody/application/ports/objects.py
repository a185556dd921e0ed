"""The bucket."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from custody.domain.model import ObjectRef


@dataclass(frozen=True, slots=True)
class StoredObject:
    ref: ObjectRef
    content_type: str | None
    last_modified: datetime
    metadata: Mapping[str, str]


class ObjectVersion(NamedTuple):
    """One version of an object, or a delete marker. ``last_modified``: whole seconds, as S3 has it."""

    key: str
    version_id: str
    last_modified: datetime


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

    def delete(self, prefix: str, *, doomed: Callable[[ObjectVersion], bool] | None = None) -> int:
        """Delete every version and delete marker under ``prefix``, or those that are ``doomed``;
        returns how many. A few listings, however many there are."""
        ...

    def delete_object(self, key: str, *, keep: Collection[str] = ()) -> int:
        """Every version and delete marker of exactly ``key`` but the version ids in ``keep``."""
        ...

    def versions(self, prefix: str) -> Iterator[ObjectVersion]:
        """Every version and delete marker under ``prefix``."""
        ...

    def exists(self, prefix: str) -> bool:
        """True when any version under ``prefix`` is left."""
        ...

    def presign_put(self, key: str, *, content_type: str, size: int, seconds: int) -> Upload: ...
