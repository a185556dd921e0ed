"""Index entries and queries for tests, from seeds."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from custody.application.ports import EvidenceIndex, RebuildableIndex
from custody.domain.index.candidates import (
    FilterClause,
    IndexEntry,
    LegHits,
    LegQuery,
    SearchFilter,
    Space,
    Vector,
)
from custody.domain.model import DocumentKey, Leg, MetadataValue, SourceKey

MODEL = "model-a"
DIMENSIONS = 8
NOW = datetime(2026, 6, 1, tzinfo=UTC)


class AnyIndex(EvidenceIndex, RebuildableIndex, Protocol):
    """All that an adapter offers."""


def unit(seed: int | Sequence[float], dimensions: int = DIMENSIONS) -> Vector:
    """A vector of length 1: from a seed, or along the given numbers."""
    if isinstance(seed, int):
        raw = np.random.default_rng(seed).standard_normal(dimensions)
    else:
        raw = np.asarray(seed, dtype=np.float64)
    vector: Vector = (raw / np.linalg.norm(raw)).astype(np.float32)
    return vector


def chunk_id_of(*parts: object) -> str:
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower()


def entry(
    document: str = "doc",
    *,
    tenant: str = "acme",
    version: int = 1,
    ordinal: int = 0,
    text: str = "text",
    title: str | None = None,
    heading: str | None = None,
    acl: Iterable[str] = ("everyone",),
    vector: Vector | None = None,
    source_id: str = "source",
    trust_domain: str = "official",
    metadata: Mapping[str, MetadataValue] | None = None,
    observed_at: datetime | None = None,
    valid_from: datetime | None = None,
    valid_to: datetime | None = None,
    model_revision: str = MODEL,
    chunk_id: str | None = None,
) -> IndexEntry:
    return IndexEntry(
        chunk_id=chunk_id or chunk_id_of(tenant, source_id, document, version, ordinal),
        key=DocumentKey(tenant, document),
        source_id=source_id,
        trust_domain=trust_domain,
        version=version,
        ordinal=ordinal,
        title=title,
        heading=heading,
        page=None,
        text=text,
        acl=tuple(sorted(set(acl))),
        proof=("aa" * 32, "bb" * 32),
        chunk_count=1,
        version_digest="cc" * 32,
        model_revision=model_revision,
        vector=unit(int(hashlib.sha256(document.encode()).hexdigest()[:8], 16) + ordinal)
        if vector is None
        else vector,
        metadata=metadata or {},
        observed_at=observed_at,
        valid_from=valid_from,
        valid_to=valid_to,
    )


def wanted(
    *,
    terms: Iterable[str] = ("everyone",),
    valid_at: datetime = NOW,
    sources: Iterable[str] | None = None,
    trust_domains: Iterable[str] | None = None,
    metadata: Mapping[str, FilterClause] | None = None,
    observed_since: datetime | None = None,
    recorded_at: datetime | None = None,
    without_documents: Iterable[DocumentKey] = (),
    without_sources: Iterable[SourceKey] = (),
    carries: str | None = None,
) -> SearchFilter:
    return SearchFilter(
        acl_terms=frozenset(terms),
        valid_at=valid_at,
        source_ids=None if sources is None else frozenset(sources),
        trust_domains=None if trust_domains is None else frozenset(trust_domains),
        metadata=metadata or {},
        observed_since=observed_since,
        recorded_at=recorded_at,
        without_documents=frozenset(without_documents),
        without_sources=frozenset(without_sources),
        carries=carries,
    )


def query(
    *spaces: Space,
    text: str | None = None,
    vector: Vector | None = None,
    legs: Iterable[Leg] | None = None,
    depth: int = 50,
    only: SearchFilter | None = None,
    model_revision: str | None = MODEL,
) -> LegQuery:
    """``legs`` None: those whose input is given."""
    given = [(Leg.LEXICAL, text is not None), (Leg.SEMANTIC, vector is not None)]
    return LegQuery(
        spaces=spaces,
        filter=only or wanted(),
        depth=depth,
        legs=frozenset(legs or [leg for leg, runs in given if runs]),
        text=text or "",
        vector=vector,
        model_revision=model_revision,
    )


def fill(index: EvidenceIndex, space: Space, entries: Sequence[IndexEntry]) -> None:
    index.ensure(space, model_revision=MODEL, dimensions=DIMENSIONS)
    index.put(space, entries)
    index.refresh([space])


def lexical(found: LegHits) -> list[str]:
    return [hit.entry.key.document_id for hit in found[Leg.LEXICAL]]


def semantic(found: LegHits) -> list[str]:
    return [hit.entry.key.document_id for hit in found[Leg.SEMANTIC]]
