"""The index, which only proposes.

A space may have several indices (``domain/index/generations``). A search asks the one that is
served for its space and its model revision; what is written reaches every index of the space,
served or being built, which the adapter lists anew with each call.

Raises Unavailable(code="index-unavailable") on any fault, a partial answer (failed shards, a
time-out) included; IntegrityError(code="model-revision-mismatch") where a space has indices and
none of the model revision that is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from custody.domain.index.candidates import (
    IndexEntry,
    LegHits,
    LegQuery,
    SearchFilter,
    Space,
)
from custody.domain.index.generations import Generation
from custody.domain.model import Acl, DocumentKey


class CandidateIndex(Protocol):
    """What a search asks."""

    def search(self, query: LegQuery) -> LegHits:
        """Its legs in one round trip, the filter inside each. A space that has no index at all
        proposes nothing; it is no error."""
        ...

    def sample(
        self, query: LegQuery, filters: Sequence[SearchFilter], size: int
    ) -> tuple[tuple[IndexEntry, ...], ...]:
        """For each of ``filters``, up to ``size`` entries of the query's spaces that it lets
        through, any of them, in one round trip. The query's own filter plays no part."""
        ...


class ChunkCounts(Protocol):
    def count(
        self,
        space: Space,
        key: DocumentKey,
        version: int | None = None,
        *,
        model_revision: str | None = None,
    ) -> int:
        """Chunks that every *search* sees (a get by id proves nothing): the least over the served
        indices of the space, or only those of ``model_revision``. 0 where none is served."""
        ...


class WritableIndex(ChunkCounts, Protocol):
    """What publication and erasure write, and then count."""

    def ensure(self, space: Space, *, model_revision: str, dimensions: int) -> None:
        """Make the space's first index where it has none, served at once. Raises IntegrityError:
        model-revision-mismatch (also for other dimensions) where it has none of this revision,
        index-mapping-mismatch where one of them has to be rebuilt before it can be written."""
        ...

    def revisions(self, space: Space) -> frozenset[str]:
        """Of every index of the space, served or being built."""
        ...

    def put(self, space: Space, entries: Sequence[IndexEntry]) -> None:
        """Add or replace by chunk_id, in every index of the entries' model revision. All or an
        error. Zero, non-finite and wrong-sized vectors raise IntegrityError(code="invalid-vector")
        before anything is written."""
        ...

    def refresh(self, spaces: Collection[Space]) -> None:
        """Make all earlier writes visible to searches."""
        ...

    def set_acl(self, space: Space, key: DocumentKey, version: int | None, acl: Acl) -> None:
        """Of one version or of all, in every index of the space, whatever its model."""
        ...

    def delete(
        self,
        space: Space,
        key: DocumentKey,
        *,
        version: int | None = None,
        through: int | None = None,
    ) -> None:
        """Delete one version, all versions up to and including ``through``, or all, from every
        index of the space. Idempotent."""
        ...

    def left(self, space: Space, key: DocumentKey, version: int | None = None) -> int:
        """Chunks that a search could see in any index of the space, served or not: all of them
        together."""
        ...


class RebuildableIndex(Protocol):
    """What makes one index anew beside the one that is served, and puts it in its place."""

    def generations(self, space: Space) -> tuple[Generation, ...]: ...

    def create(
        self, space: Space, *, generation: str, model_revision: str, dimensions: int
    ) -> Generation:
        """An empty index, not served, that every later write reaches. The one that is there
        already where it has been made."""
        ...

    def put_into(self, space: Space, name: str, entries: Sequence[IndexEntry]) -> None:
        """As ``put``, into one index alone. Raises Unavailable where it is gone."""
        ...

    def take_from(self, space: Space, name: str, key: DocumentKey, version: int) -> None:
        """Delete one version from one index alone. Idempotent."""
        ...

    def counts_in(
        self, space: Space, name: str, keys: Collection[DocumentKey]
    ) -> Mapping[tuple[DocumentKey, int], int]:
        """Chunks a version that a search of this one index would see, after all that was written
        before the call."""
        ...

    def serve(self, space: Space, name: str) -> None:
        """At once and as a whole: searches of its model find this index from now on, and no longer
        the one before it. Idempotent."""
        ...

    def drop(self, space: Space, name: str, *, served: bool = False) -> None:
        """Idempotent. One that is served is refused with IntegrityError(index-served), unless
        ``served``."""
        ...


class EvidenceIndex(CandidateIndex, WritableIndex, Protocol):
    """What is searched and written. A use case names the part that it needs."""

    def ping(self) -> None:
        """Raise Unavailable unless the index answers."""
        ...
