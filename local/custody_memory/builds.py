"""Builds of indices."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from custody.domain.index.builds import IndexBuild
from custody.domain.ledger import transitions
from custody.domain.model import BuildKey


class MemoryBuilds:
    """``Builds``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._builds: dict[BuildKey, IndexBuild] = {}

    def build(self, key: BuildKey) -> IndexBuild | None:
        with self._lock:
            return self._builds.get(key)

    def builds(self, tenant: str) -> Sequence[IndexBuild]:
        with self._lock:
            found = sorted(key for key in self._builds if key.tenant == tenant)
            return tuple(self._builds[key] for key in found)

    def put_build(self, build: IndexBuild) -> IndexBuild:
        with self._lock:
            stored = self._builds.get(build.key)
            if (stored.revision if stored else 0) != build.revision:
                raise transitions.moved("build of the index")
            after = replace(build, revision=build.revision + 1)
            self._builds[build.key] = after
            return after
