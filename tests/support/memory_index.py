"""An index in memory that, like the real one, shows a write to searches only after a refresh."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from custody.domain.index.candidates import IndexEntry, Space
from custody.domain.model import Acl, DocumentKey
from custody.errors import IntegrityError, Unavailable


class MemoryIndex:
    """``WritableIndex``, and the ping that health asks for."""

    def __init__(self) -> None:
        self._written: dict[Space, dict[str, IndexEntry]] = {}
        self._visible: dict[Space, dict[str, IndexEntry]] = {}
        self._models: dict[Space, tuple[str, int]] = {}
        self.down = False
        self.calls: list[str] = []
        self._lock = threading.RLock()

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.down:
            raise Unavailable("The index does not answer.", code="index-unavailable")

    def ensure(self, space: Space, *, model_revision: str, dimensions: int) -> None:
        self._called("ensure")
        with self._lock:
            model = self._models.setdefault(space, (model_revision, dimensions))
            if model != (model_revision, dimensions):
                raise IntegrityError("Another model's.", code="model-revision-mismatch")

    def put(self, space: Space, entries: Sequence[IndexEntry]) -> None:
        self._called("put")
        with self._lock:
            for entry in entries:
                if entry.vector is None or not np.isfinite(entry.vector).all():
                    raise IntegrityError("No vector.", code="invalid-vector")
            self._written.setdefault(space, {}).update((entry.chunk_id, entry) for entry in entries)

    def refresh(self, spaces: Collection[Space]) -> None:
        self._called("refresh")
        with self._lock:
            for space in spaces:
                self._visible[space] = dict(self._written.get(space, {}))

    def count(self, space: Space, key: DocumentKey, version: int | None = None) -> int:
        self._called("count")
        with self._lock:
            return sum(
                entry.key == key and version in (None, entry.version)
                for entry in self._visible.get(space, {}).values()
            )

    def set_acl(self, space: Space, key: DocumentKey, version: int, acl: Acl) -> None:
        self._called("set_acl")
        with self._lock:
            written = self._written.get(space, {})
            for chunk_id, entry in written.items():
                if entry.key == key and entry.version == version:
                    written[chunk_id] = replace(entry, acl=acl.allow)

    def delete(
        self,
        space: Space,
        key: DocumentKey,
        *,
        version: int | None = None,
        through: int | None = None,
    ) -> None:
        self._called("delete")
        with self._lock:
            written = self._written.get(space, {})
            for chunk_id, entry in list(written.items()):
                if (
                    entry.key == key
                    and version in (None, entry.version)
                    and (through is None or entry.version <= through)
                ):
                    del written[chunk_id]

    def ping(self) -> None:
        self._called("ping")

    def visible(self) -> tuple[IndexEntry, ...]:
        return tuple(entry for space in self._visible.values() for entry in space.values())

    def lose(self, key: DocumentKey) -> None:
        """Somebody dropped the document from the index only."""
        for space in self._written:
            self.delete(space, key)
            self.refresh((space,))
