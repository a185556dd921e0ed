"""An index in memory that, like the real one, shows a write to searches only after a refresh.

It scores everything that the filter lets through, one by one: an oracle for the legs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from custody.domain.index.candidates import (
    Hit,
    IndexEntry,
    LegHits,
    LegQuery,
    SearchFilter,
    Space,
)
from custody.domain.model import Acl, DocumentKey, Leg
from custody.domain.text.analysis import query_terms, searched_terms
from custody.errors import IntegrityError, Unavailable


class MemoryIndex:
    """``EvidenceIndex``. ``entries``: what searches of live versions see, by chunk id; a test may
    change them. ``past``: the history of every tenant, an index like this one."""

    def __init__(self) -> None:
        self.entries: dict[str, IndexEntry] = {}
        self._written: dict[str, IndexEntry] = {}
        self._models: dict[Space, tuple[str, int]] = {}
        self.down = False
        self.calls: list[str] = []
        self._lock = threading.RLock()

    @cached_property
    def past(self) -> MemoryIndex:
        return MemoryIndex()

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.down:
            raise Unavailable("The index does not answer.", code="index-unavailable")

    def search(self, query: LegQuery) -> LegHits:
        self._called("search")
        live = [entry for entry in self.visible() if _passes(entry, query)]
        past = [entry for entry in self.past.visible() if _passes(entry, query, history=True)]
        open_to = list({entry.chunk_id: entry for entry in (*live, *past)}.values())
        legs: dict[Leg, tuple[Hit, ...]] = {}
        if Leg.SEMANTIC in query.legs:
            legs[Leg.SEMANTIC] = _leg(open_to, _cosine(query), query.depth)
        if Leg.LEXICAL in query.legs:
            legs[Leg.LEXICAL] = _leg(open_to, _overlap(query), query.depth, above_zero=True)
        return LegHits(legs)

    def sample(
        self, query: LegQuery, filters: Sequence[SearchFilter], size: int
    ) -> tuple[tuple[IndexEntry, ...], ...]:
        self._called("sample")
        asked = [replace(query, filter=each) for each in filters]
        return tuple(
            tuple(
                replace(entry, vector=None)
                for entry in (
                    *(entry for entry in self.visible() if _passes(entry, one)),
                    *(e for e in self.past.visible() if _passes(e, one, history=True)),
                )
            )[:size]
            for one in asked
        )

    def ensure(self, space: Space, *, model_revision: str, dimensions: int) -> None:
        self._called("ensure")
        if space.history:
            self.past.ensure(_live(space), model_revision=model_revision, dimensions=dimensions)
            return
        with self._lock:
            model = self._models.setdefault(space, (model_revision, dimensions))
            if model != (model_revision, dimensions):
                raise IntegrityError("Another model's.", code="model-revision-mismatch")

    def put(self, space: Space, entries: Sequence[IndexEntry]) -> None:
        self._called("put")
        if space.history:
            self.past.put(_live(space), entries)
            return
        with self._lock:
            for entry in entries:
                assert Space.of(entry.key) == space
                if entry.vector is None or not np.isfinite(entry.vector).all():
                    raise IntegrityError("No vector.", code="invalid-vector")
            self._written.update((entry.chunk_id, entry) for entry in entries)

    def refresh(self, spaces: Collection[Space]) -> None:
        self._called("refresh")
        if past := [_live(space) for space in spaces if space.history]:
            self.past.refresh(past)
        spaces = [space for space in spaces if not space.history]
        with self._lock:
            others = {i: entry for i, entry in self.entries.items() if not _is_in(entry, spaces)}
            written = {i: entry for i, entry in self._written.items() if _is_in(entry, spaces)}
            self.entries = others | written

    def revisions(self, space: Space) -> frozenset[str]:
        self._called("revisions")
        if space.history:
            return self.past.revisions(_live(space))
        return frozenset({self._models[space][0]} if space in self._models else ())

    def count(
        self,
        space: Space,
        key: DocumentKey,
        version: int | None = None,
        *,
        model_revision: str | None = None,
    ) -> int:
        self._called("count")
        if space.history:
            return self.past.count(_live(space), key, version, model_revision=model_revision)
        if model_revision is not None and model_revision not in self.revisions(space):
            return 0
        return self._count(space, key, version)

    def left(self, space: Space, key: DocumentKey, version: int | None = None) -> int:
        self._called("left")
        if space.history:
            return self.past.left(_live(space), key, version)
        return self._count(space, key, version)

    def _count(self, space: Space, key: DocumentKey, version: int | None) -> int:
        return sum(
            _is_in(entry, (space,)) and entry.key == key and version in (None, entry.version)
            for entry in self.visible()
        )

    def set_acl(self, space: Space, key: DocumentKey, version: int | None, acl: Acl) -> None:
        self._called("set_acl")
        if space.history:
            self.past.set_acl(_live(space), key, version, acl)
            return
        with self._lock:
            for chunk_id, entry in self._written.items():
                if (
                    _is_in(entry, (space,))
                    and entry.key == key
                    and version
                    in (
                        None,
                        entry.version,
                    )
                ):
                    self._written[chunk_id] = replace(entry, acl=acl.allow)

    def delete(
        self,
        space: Space,
        key: DocumentKey,
        *,
        version: int | None = None,
        through: int | None = None,
    ) -> None:
        self._called("delete")
        if space.history:
            self.past.delete(_live(space), key, version=version, through=through)
            return
        with self._lock:
            for chunk_id, entry in list(self._written.items()):
                if (
                    _is_in(entry, (space,))
                    and entry.key == key
                    and version in (None, entry.version)
                    and (through is None or entry.version <= through)
                ):
                    del self._written[chunk_id]

    def ping(self) -> None:
        self._called("ping")

    def visible(self) -> tuple[IndexEntry, ...]:
        with self._lock:
            return tuple(self.entries.values())

    def lose(self, key: DocumentKey) -> None:
        """Somebody dropped the document from the index only."""
        self.delete(Space.of(key), key)
        self.refresh((Space.of(key),))


def _live(space: Space) -> Space:
    return replace(space, history=False)


def _is_in(entry: IndexEntry, spaces: Collection[Space]) -> bool:
    return Space.of(entry.key) in spaces


def _passes(entry: IndexEntry, query: LegQuery, *, history: bool = False) -> bool:
    wanted = query.filter
    return (
        any((space.tenant, space.history) == (entry.key.tenant, history) for space in query.spaces)
        and not wanted.acl_terms.isdisjoint(entry.acl)
        and (wanted.source_ids is None or entry.source_id in wanted.source_ids)
        and (wanted.trust_domains is None or entry.trust_domain in wanted.trust_domains)
        and entry.key not in wanted.without_documents
        and (entry.key.tenant, entry.source_id) not in wanted.without_sources
        and all(entry.metadata.get(name) == value for name, value in wanted.metadata.items())
        and (wanted.carries is None or entry.metadata.get(wanted.carries) not in (None, ()))
    )


def _leg(
    entries: Sequence[IndexEntry],
    score: Callable[[IndexEntry], float],
    depth: int,
    *,
    above_zero: bool = False,
) -> tuple[Hit, ...]:
    hits = [Hit(replace(entry, vector=None), score(entry)) for entry in entries]
    hits = [hit for hit in hits if hit.score > 0 or not above_zero]
    hits.sort(key=lambda hit: (-hit.score, hit.entry.chunk_id))
    return tuple(hits[:depth])


def _cosine(query: LegQuery) -> Callable[[IndexEntry], float]:
    vector = query.vector
    assert vector is not None
    return lambda entry: float(vector @ entry.vector) if entry.vector is not None else 0.0


def _overlap(query: LegQuery) -> Callable[[IndexEntry], float]:
    wanted = query_terms(query.text)

    def score(entry: IndexEntry) -> float:
        held = searched_terms(None, None, entry.text)
        return float(len(wanted.keys() & set(held))) + 1 / (1 + len(held)) * bool(
            wanted.keys() & set(held)
        )

    return score
