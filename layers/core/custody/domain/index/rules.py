"""What every index refuses, and how the spaces of one search are told apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from custody.domain.index.candidates import Hit, IndexEntry, LegQuery, SearchFilter, Space, Vector
from custody.errors import IntegrityError


def checked_vectors(
    space: Space, entries: Sequence[IndexEntry], *, model_revision: str, dimensions: int
) -> list[Vector]:
    """The vectors of ``entries`` as float32 of length 1. Raises IntegrityError:
    model-revision-mismatch, invalid-vector, or tenant-mismatch for a chunk of another tenant."""
    vectors: list[Vector] = []
    for entry in entries:
        if entry.key.tenant != space.tenant:
            raise IntegrityError(
                "A chunk of one tenant was to be put into the index of another.",
                code="tenant-mismatch",
            )
        if entry.model_revision != model_revision:
            raise model_mismatch(model_revision, entry.model_revision)
        vectors.append(checked_vector(entry.vector, dimensions=dimensions))
    return vectors


def checked_vector(vector: Vector | None, *, dimensions: int | None = None) -> Vector:
    """``vector`` as float32 of length 1. Raises IntegrityError(invalid-vector) for a missing, zero,
    non-finite or wrong-sized one."""
    if vector is None or vector.ndim != 1 or dimensions not in (None, vector.shape[0]):
        raise IntegrityError("A vector is missing or has the wrong size.", code="invalid-vector")
    wide = vector.astype(np.float64)
    length = float(np.sqrt(wide @ wide))
    # Below this the single-precision square underflows, and engines see a zero vector.
    if not np.isfinite(length) or length < 1e-12:
        raise IntegrityError("A vector is zero or not finite.", code="invalid-vector")
    return (wide / length).astype(np.float32)


def model_mismatch(of_index: str, given: str | None) -> IntegrityError:
    return IntegrityError(
        f"The index holds vectors of model {of_index}, not of {given}: it must be rebuilt.",
        code="model-revision-mismatch",
    )


def still_served() -> IntegrityError:
    return IntegrityError("The index is served: it can't be dropped.", code="index-served")


def matches_nothing(wanted: SearchFilter) -> bool:
    """True where an empty set is asked for, so that no index needs to be asked."""
    return (
        not wanted.acl_terms
        or (wanted.source_ids is not None and not wanted.source_ids)
        or (wanted.trust_domains is not None and not wanted.trust_domains)
    )


def space_groups(query: LegQuery) -> list[tuple[Space, ...]]:
    """Spaces that are searched together. An isolated source is searched alone, and so are live
    versions and those of the past: the term statistics of one influence no one else's order."""
    unique = sorted(
        set(query.spaces), key=lambda space: (space.tenant, space.source_id or "", space.history)
    )
    shared = [space for space in unique if space.source_id is None]
    groups = [
        tuple(space for space in shared if not space.history),
        tuple(space for space in shared if space.history),
        *((space,) for space in unique if space.source_id is not None),
    ]
    return [group for group in groups if group]


def united(query: LegQuery, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Each chunk once. One that is on its way into the history is found there and among the live
    ones; the history's word stays, which has its version's end."""
    if len({space.history for space in query.spaces}) < 2:
        return hits
    found: dict[str, Hit] = {}
    for hit in hits:
        known = found.get(hit.entry.chunk_id)
        if known is None or known.entry.recorded_through is None:
            found[hit.entry.chunk_id] = hit
    return list(found.values())
