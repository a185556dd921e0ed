"""A versioned object store in memory, with delete markers as S3 has them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from custody.application.ports import Clock, ObjectVersion, StoredObject, Upload
from custody.domain.model import ObjectRef
from custody.errors import NotFound, TooLarge


@dataclass(frozen=True, slots=True)
class _Version:
    """``body`` None: a delete marker."""

    version_id: str
    body: bytes | None
    content_type: str | None
    metadata: Mapping[str, str]
    last_modified: datetime


class MemoryObjects:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._counter = itertools.count(1)
        self._versions: dict[str, list[_Version]] = {}

    def head(self, key: str) -> StoredObject | None:
        with self._lock:
            versions = self._versions.get(key)
        if not versions or versions[-1].body is None:
            return None
        current = versions[-1]
        size = len(current.body or b"")
        return StoredObject(
            ref=ObjectRef(key, current.version_id, size),
            content_type=current.content_type,
            last_modified=current.last_modified,
            metadata=current.metadata,
        )

    def get(self, ref: ObjectRef, *, limit: int) -> bytes:
        body = self._pinned(ref).body or b""
        if len(body) > limit:
            raise TooLarge("The object is above the limit.", code="object-too-large")
        return body

    def put(
        self, key: str, body: bytes, *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> ObjectRef:
        return self._append(key, bytes(body), content_type, dict(metadata or {}))

    def copy(self, source: ObjectRef, key: str) -> ObjectRef:
        pinned = self._pinned(source)
        return self._append(key, pinned.body or b"", pinned.content_type, pinned.metadata)

    def mark_deleted(self, key: str) -> None:
        """What a plain S3 DELETE does to a versioned key: a delete marker on top."""
        with self._lock:
            self._append(key, None, None, {})

    def delete(self, prefix: str, *, doomed: Callable[[ObjectVersion], bool] | None = None) -> int:
        return self._delete(
            lambda found: found.key.startswith(prefix) and (doomed is None or doomed(found))
        )

    def delete_object(self, key: str, *, keep: Collection[str] = ()) -> int:
        return self._delete(lambda found: found.key == key and found.version_id not in keep)

    def versions(self, prefix: str) -> Iterator[ObjectVersion]:
        with self._lock:
            found = [
                ObjectVersion(key, version.version_id, version.last_modified)
                for key, versions in self._versions.items()
                if key.startswith(prefix)
                for version in versions
            ]
        yield from found

    def exists(self, prefix: str) -> bool:
        """A delete marker counts: it still tells that the key was there."""
        with self._lock:
            return any(key.startswith(prefix) for key in self._versions)

    def presign_put(self, key: str, *, content_type: str, size: int, seconds: int) -> Upload:
        return Upload(
            url=f"memory:{key}",
            headers={"Content-Type": content_type, "Content-Length": str(size)},
            expires_at=self._clock.now() + timedelta(seconds=seconds),
        )

    def keys(self, prefix: str = "") -> tuple[str, ...]:
        """Keys under ``prefix`` that have any version, sorted."""
        with self._lock:
            return tuple(sorted(key for key in self._versions if key.startswith(prefix)))

    def _pinned(self, ref: ObjectRef) -> _Version:
        with self._lock:
            for version in self._versions.get(ref.key, ()):
                if version.version_id == ref.version_id and version.body is not None:
                    return version
        raise NotFound("That version of the object is gone.")

    def _append(
        self, key: str, body: bytes | None, content_type: str | None, metadata: Mapping[str, str]
    ) -> ObjectRef:
        with self._lock:
            version_id = f"v{next(self._counter):08d}"
            self._versions.setdefault(key, []).append(
                _Version(version_id, body, content_type, metadata, self._clock.now())
            )
        return ObjectRef(key, version_id, len(body or b""))

    def _delete(self, condemned: Callable[[ObjectVersion], bool]) -> int:
        count = 0
        with self._lock:
            for key in list(self._versions):
                kept = [
                    v
                    for v in self._versions[key]
                    if not condemned(ObjectVersion(key, v.version_id, v.last_modified))
                ]
                count += len(self._versions[key]) - len(kept)
                if kept:
                    self._versions[key] = kept
                else:
                    del self._versions[key]
        return count
