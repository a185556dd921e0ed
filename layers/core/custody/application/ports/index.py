"""The index, which only proposes.

Raises Unavailable(code="index-unavailable") on any fault, a partial answer (failed shards, a
time-out) included; IntegrityError(code="model-revision-mismatch") where a query's model revision
differs from the index's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from custody.domain.index.candidates import IndexEntry, LegHits, LegQuery, Space
from custody.domain.model import Acl, DocumentKey


class CandidateIndex(Protocol):
    """What a search asks."""

    def search(self, query: LegQuery) -> LegHits:
        """Its legs in one round trip, the filter inside each. A space that does not exist yet
        proposes nothing; it is no error. The same round trip tells which metadata fields of the
        filter are on nothing that the filter's ACL terms open, whether or not a leg runs."""
        ...


class ChunkCounts(Protocol):
    def count(self, space: Space, key: DocumentKey, version: int | None = None) -> int:
        """Chunks that a *search* can see (a get by id proves nothing)."""
        ...


class WritableIndex(ChunkCounts, Protocol):
    """What publication and erasure write, and then count."""

    def ensure(self, space: Space, *, model_revision: str, dimensions: int) -> None:
        """Create the space where missing. Mixed model revisions or dimensions are refused."""
        ...

    def put(self, space: Space, entries: Sequence[IndexEntry]) -> None:
        """Add or replace by chunk_id. All or an error. Zero, non-finite and wrong-sized vectors
        raise IntegrityError(code="invalid-vector") before anything is written."""
        ...

    def refresh(self, spaces: Collection[Space]) -> None:
        """Make all earlier writes visible to searches."""
        ...

    def set_acl(self, space: Space, key: DocumentKey, version: int, acl: Acl) -> None: ...

    def delete(
        self,
        space: Space,
        key: DocumentKey,
        *,
        version: int | None = None,
        through: int | None = None,
    ) -> None:
        """Delete one version, all versions up to and including ``through``, or all. Idempotent."""
        ...


class EvidenceIndex(CandidateIndex, WritableIndex, Protocol):
    """The whole of one: what an adapter offers. A use case names the part that it needs."""

    def ping(self) -> None:
        """Raise Unavailable unless the index answers."""
        ...
