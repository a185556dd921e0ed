"""What a search asks of an index, and what an index proposes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from custody.domain.model import DocumentKey, Leg, MetadataValue, SourceKey

type Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Space:
    """What is searched by itself: a tenant's own, or one isolated source's (``source_id`` set).
    ``history``: of the versions that were live once, and not of those that are."""

    tenant: str
    source_id: str | None = None
    history: bool = False

    @classmethod
    def of(cls, key: DocumentKey) -> Space:
        """Where a document's live chunks are."""
        return cls(key.tenant)

    @classmethod
    def history_of(cls, key: DocumentKey) -> Space:
        """Where those of its earlier versions are."""
        return cls(key.tenant, history=True)


@dataclass(frozen=True, slots=True)
class Range:
    gte: float | str | None = None
    lte: float | str | None = None


type FilterClause = MetadataValue | tuple[MetadataValue, ...] | Range


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Binds in every leg. ``acl_terms``: a hit's ACL must share at least one of them.

    ``source_ids`` and ``trust_domains``: None means no restriction; empty means nothing matches.
    ``metadata``: every clause must hold; a tuple means any of its values.
    ``valid_at``: only versions with valid_from <= valid_at < valid_to.
    ``recorded_at``: only those that may have been live then; None asks for no time.
    ``without_documents`` and ``without_sources``: what is known not to be served, so that it takes
    no place from what may be.
    ``carries``: only chunks that have this metadata field, whatever its value.
    """

    acl_terms: frozenset[str]
    valid_at: datetime
    source_ids: frozenset[str] | None = None
    trust_domains: frozenset[str] | None = None
    metadata: Mapping[str, FilterClause] = field(default_factory=dict)
    observed_since: datetime | None = None
    recorded_at: datetime | None = None
    without_documents: frozenset[DocumentKey] = frozenset()
    without_sources: frozenset[SourceKey] = frozenset()
    carries: str | None = None


@dataclass(frozen=True, slots=True)
class LegQuery:
    """One search: ``legs`` are those that run, in one round trip. ``text`` and ``vector`` say what
    is sought, each leg takes what it goes by; the semantic one can't run without a vector.

    ``vector``: shape (dimensions,), float32, L2-normalised, of model ``model_revision``.
    ``depth``: hits wanted a leg.
    """

    spaces: tuple[Space, ...]
    filter: SearchFilter
    depth: int
    legs: frozenset[Leg]
    text: str = ""
    vector: Vector | None = None
    model_revision: str | None = None


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One chunk as the index holds it. ``proof``: RFC 6962 audit path, leaf to root, hex digests.

    ``recorded_from``, ``recorded_through``: from when its version was live until when. Of a live one
    it is known only that it was not live before ``recorded_from``, since its entries are written
    first; what decides is the ledger.

    ``vector``: shape (dimensions,), float32, L2-normalised; never returned by a search.
    """

    chunk_id: str
    key: DocumentKey
    source_id: str
    trust_domain: str
    version: int
    ordinal: int
    title: str | None
    heading: str | None
    page: int | None
    text: str
    acl: tuple[str, ...]
    proof: tuple[str, ...]
    chunk_count: int
    version_digest: str
    model_revision: str
    vector: Vector | None = None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    observed_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    recorded_from: datetime | None = None
    recorded_through: datetime | None = None


class Hit(NamedTuple):
    """One proposal of one leg. ``score``: BM25, or the cosine in -1..1. ``entry.vector`` is None."""

    entry: IndexEntry
    score: float


@dataclass(frozen=True, slots=True)
class LegHits:
    """``legs``: those that found something, each sorted by (-score, chunk_id); a lexical hit always
    has a score above zero. ``hits[leg]`` is empty for any other leg.

    ``unreadable``: how many of a leg's hits were no entries at all, or entries under a place that
    isn't theirs. They are among the ``depth`` that were asked for.
    """

    legs: Mapping[Leg, tuple[Hit, ...]] = field(default_factory=dict)
    unreadable: Mapping[Leg, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = {leg: hits for leg, hits in self.legs.items() if hits}
        object.__setattr__(self, "legs", found)  # what found nothing equals what did not run
        odd = {leg: count for leg, count in self.unreadable.items() if count}
        object.__setattr__(self, "unreadable", odd)

    def __getitem__(self, leg: Leg) -> tuple[Hit, ...]:
        return self.legs.get(leg, ())
