"""Records of the indices that are built.

Raises Unavailable(code="ledger-unavailable").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from custody.domain.index.builds import IndexBuild
from custody.domain.model import BuildKey


class BuildReads(Protocol):
    def build(self, key: BuildKey) -> IndexBuild | None: ...

    def builds(self, tenant: str) -> Sequence[IndexBuild]:
        """All of a tenant, in order of their ids. Strongly consistent."""
        ...


class Builds(BuildReads, Protocol):
    def put_build(self, build: IndexBuild) -> IndexBuild:
        """Stored with ``build.revision`` + 1; 0: it must not be there yet. Raises Moved where
        another revision is stored."""
        ...
