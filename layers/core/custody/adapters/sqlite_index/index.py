"""``EvidenceIndex`` in one SQLite file: exact vectors and BM25, for one machine, many processes.

A write is visible to every later search at once, so ``refresh`` has nothing to do. After ``delete``
returns, the text and the vector are in neither the file nor its log.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence

import numpy as np

from custody.adapters.sqlite_index import chunks, generations, lexical
from custody.adapters.sqlite_index.database import Database
from custody.adapters.sqlite_index.filters import allowed_chunks
from custody.adapters.sqlite_index.generations import (
    StoredSpace,
    indices_of,
    served_index,
    writable_indices,
)
from custody.adapters.sqlite_index.vectors import VectorCache
from custody.domain.index.candidates import (
    Hit,
    IndexEntry,
    LegHits,
    LegQuery,
    SearchFilter,
    Space,
    Vector,
)
from custody.domain.index.document import decode
from custody.domain.index.generations import FIRST, Generation
from custody.domain.index.rules import (
    checked_vector,
    checked_vectors,
    matches_nothing,
    model_mismatch,
    space_groups,
    still_served,
    united,
)
from custody.domain.model import Acl, DocumentKey, Leg
from custody.domain.text.analysis import query_terms

type Scored = tuple[int, float]


class SqliteIndex:
    """``path``: the file, made with its tables at the first use; its folder must exist.
    ``busy_timeout_s``: how long to wait for another writer before Unavailable."""

    def __init__(self, path: str, *, busy_timeout_s: float = 10.0) -> None:
        self._database = Database(path, busy_timeout_s=busy_timeout_s)
        self._vectors = VectorCache()

    def close(self) -> None:
        self._database.close()

    def ensure(self, space: Space, *, model_revision: str, dimensions: int) -> None:
        with self._database.reading() as connection:
            made = bool(indices_of(connection, space))
        if not made:
            self._make_first(space, model_revision, dimensions)
        with self._database.reading() as connection:
            for stored in writable_indices(connection, space, model_revision):
                if stored.dimensions != dimensions:
                    raise model_mismatch(stored.model_revision, model_revision)

    def revisions(self, space: Space) -> frozenset[str]:
        with self._database.reading() as connection:
            return frozenset(stored.model_revision for stored in indices_of(connection, space))

    def put(self, space: Space, entries: Sequence[IndexEntry]) -> None:
        if not entries:
            return
        with self._database.writing() as connection:
            for stored in writable_indices(connection, space, entries[0].model_revision):
                _put(connection, space, stored, entries)

    def refresh(self, spaces: Collection[Space]) -> None:
        """Nothing to do: a committed write is visible."""

    def count(
        self,
        space: Space,
        key: DocumentKey,
        version: int | None = None,
        *,
        model_revision: str | None = None,
    ) -> int:
        with self._database.reading() as connection:
            found = [
                len(_chunks_of(connection, stored.id, key, version=version))
                for stored in indices_of(connection, space)
                if stored.served and model_revision in (None, stored.model_revision)
            ]
            return min(found, default=0)

    def left(self, space: Space, key: DocumentKey, version: int | None = None) -> int:
        with self._database.reading() as connection:
            return sum(
                len(_chunks_of(connection, stored.id, key, version=version))
                for stored in indices_of(connection, space)
            )

    def set_acl(self, space: Space, key: DocumentKey, version: int | None, acl: Acl) -> None:
        with self._database.writing() as connection:
            for stored in indices_of(connection, space):
                for chunk in _chunks_of(connection, stored.id, key, version=version):
                    chunks.set_acl(connection, stored.id, chunk, acl)

    def delete(
        self,
        space: Space,
        key: DocumentKey,
        *,
        version: int | None = None,
        through: int | None = None,
    ) -> None:
        with self._database.writing() as connection:
            for stored in indices_of(connection, space):
                _remove(connection, stored, key, version=version, through=through)
        # Also where nothing was left to delete: an earlier call may have got no further.
        self._database.truncate_log()

    # --- one index among those of a space ---------------------------------------------------------

    def generations(self, space: Space) -> tuple[Generation, ...]:
        with self._database.reading() as connection:
            return tuple(stored.told() for stored in indices_of(connection, space))

    def create(
        self, space: Space, *, generation: str, model_revision: str, dimensions: int
    ) -> Generation:
        with self._database.writing() as connection:
            name = f"{model_revision}#{generation}"
            if generations.index_named(connection, space, name) is None:
                generations.make(
                    connection,
                    space,
                    generation=generation,
                    model_revision=model_revision,
                    dimensions=dimensions,
                    served=False,
                )
            return generations.there(connection, space, name).told()

    def put_into(self, space: Space, name: str, entries: Sequence[IndexEntry]) -> None:
        with self._database.writing() as connection:
            stored = generations.there(connection, space, name)
            generations.check_analysis(stored)
            _put(connection, space, stored, entries)

    def take_from(self, space: Space, name: str, key: DocumentKey, version: int) -> None:
        with self._database.writing() as connection:
            stored = generations.index_named(connection, space, name)
            if stored is not None:
                _remove(connection, stored, key, version=version)
        self._database.truncate_log()

    def counts_in(
        self, space: Space, name: str, keys: Collection[DocumentKey]
    ) -> dict[tuple[DocumentKey, int], int]:
        with self._database.reading() as connection:
            stored = generations.there(connection, space, name)
            return {
                (key, version): count
                for key in keys
                for version, count in connection.execute(
                    "SELECT version, count(*) FROM chunks WHERE space = ? AND document_id = ?"
                    " GROUP BY version",
                    (stored.id, key.document_id),
                )
            }

    def serve(self, space: Space, name: str) -> None:
        with self._database.writing() as connection:
            generations.serve(connection, space, name)

    def drop(self, space: Space, name: str, *, served: bool = False) -> None:
        with self._database.writing() as connection:
            stored = generations.index_named(connection, space, name)
            if stored is not None:
                if stored.served and not served:
                    raise still_served()
                generations.drop(connection, stored)
        self._database.truncate_log()

    # --- searching --------------------------------------------------------------------------------

    def search(self, query: LegQuery) -> LegHits:
        terms = query_terms(query.text) if Leg.LEXICAL in query.legs else {}
        vector = checked_vector(query.vector) if Leg.SEMANTIC in query.legs else None
        allowed_chunks(0, "", query.filter)  # a filter that can't be is refused, whatever is stored
        if query.depth < 1 or matches_nothing(query.filter):
            terms, vector = {}, None
        if not (terms or vector is not None):
            return LegHits()
        semantic: list[Scored] = []
        lexical_hits: list[Scored] = []
        with self._database.reading() as connection:
            served = {
                space: stored
                for space in set(query.spaces)
                if (stored := served_index(connection, space, query.model_revision)) is not None
            }
            identity: str = connection.execute("SELECT name FROM identity").fetchone()[0]
            for group in space_groups(query):
                allowed = [
                    _allowed(connection, served[space], space.tenant, query.filter)
                    for space in group
                    if space in served
                ]
                if terms and allowed:
                    ids, scores = lexical.scores(connection, allowed, terms)
                    lexical_hits.extend(_best(ids, scores, query.depth))
                if vector is not None:
                    for one in allowed:
                        semantic.extend(self._nearest(connection, identity, one, query, vector))
            found = {Leg.SEMANTIC: semantic, Leg.LEXICAL: lexical_hits}
            read = {leg: _hits(connection, scored, query) for leg, scored in found.items()}
            return LegHits(
                {leg: hits for leg, (hits, _) in read.items()},
                unreadable={leg: odd for leg, (_, odd) in read.items()},
            )

    def sample(
        self, query: LegQuery, filters: Sequence[SearchFilter], size: int
    ) -> tuple[tuple[IndexEntry, ...], ...]:
        found: list[list[IndexEntry]] = [[] for _ in filters]
        with self._database.reading() as connection:
            for space in dict.fromkeys(query.spaces):
                stored = served_index(connection, space, query.model_revision)
                if stored is None:
                    continue
                for wanted, entries in zip(filters, found, strict=True):
                    if not matches_nothing(wanted):
                        entries.extend(_sampled(connection, stored, space.tenant, wanted, size))
        return tuple(tuple(entries[:size]) for entries in found)

    def ping(self) -> None:
        with self._database.reading() as connection:
            connection.execute("SELECT count(*) FROM spaces").fetchone()

    def _make_first(self, space: Space, model_revision: str, dimensions: int) -> None:
        with self._database.writing() as connection:
            if not indices_of(connection, space):  # or another process was faster
                generations.make(
                    connection,
                    space,
                    generation=FIRST,
                    model_revision=model_revision,
                    dimensions=dimensions,
                    served=True,
                )

    def _nearest(
        self,
        connection: sqlite3.Connection,
        identity: str,
        allowed: lexical.Allowed,
        query: LegQuery,
        vector: Vector,
    ) -> list[Scored]:
        if not len(allowed.ids):
            return []
        checked_vector(vector, dimensions=allowed.space.dimensions)
        ids, cosines = self._vectors.nearest(
            connection,
            identity=identity,
            space=allowed.space.id,
            allowed=allowed.ids,
            vector=vector,
            depth=query.depth,
        )
        return list(zip(ids.tolist(), cosines.tolist(), strict=True))


def _put(
    connection: sqlite3.Connection,
    space: Space,
    stored: StoredSpace,
    entries: Sequence[IndexEntry],
) -> None:
    vectors = checked_vectors(
        space, entries, model_revision=stored.model_revision, dimensions=stored.dimensions
    )
    for entry, vector in zip(entries, vectors, strict=True):
        chunks.put(connection, stored.id, entry, vector)


def _remove(
    connection: sqlite3.Connection,
    stored: StoredSpace,
    key: DocumentKey,
    *,
    version: int | None = None,
    through: int | None = None,
) -> None:
    ids = _chunks_of(connection, stored.id, key, version=version, through=through)
    if ids:
        chunks.remove(connection, stored.id, ids)
        chunks.expunge_terms(connection, stored.id)


def _chunks_of(
    connection: sqlite3.Connection,
    space: int,
    key: DocumentKey,
    *,
    version: int | None = None,
    through: int | None = None,
) -> list[int]:
    rows = connection.execute(
        "SELECT id FROM chunks WHERE space = :space AND document_id = :document"
        " AND (:version IS NULL OR version = :version)"
        " AND (:through IS NULL OR version <= :through) ORDER BY id",
        {
            "space": space,
            "document": key.document_id,
            "version": version,
            "through": through,
        },
    ).fetchall()
    return [row[0] for row in rows]


def _allowed(
    connection: sqlite3.Connection, stored: StoredSpace, tenant: str, wanted: SearchFilter
) -> lexical.Allowed:
    sql, values = allowed_chunks(stored.id, tenant, wanted)
    listed_ids, listed_lengths = connection.execute(sql, values).fetchone()
    ids, lengths = lexical.integers(listed_ids), lexical.integers(listed_lengths)
    order = np.argsort(ids, kind="stable")
    return lexical.Allowed(stored, ids[order], lengths[order])


def _best(ids: lexical.Ids, scores: np.ndarray, depth: int) -> list[Scored]:
    """The ``depth`` best, with all that are equal to the last."""
    if len(scores) > depth:
        last = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        kept = scores >= last
        ids, scores = ids[kept], scores[kept]
    return list(zip(ids.tolist(), scores.tolist(), strict=True))


def _hits(
    connection: sqlite3.Connection, scored: list[Scored], query: LegQuery
) -> tuple[tuple[Hit, ...], int]:
    """Sorted hits, and how many are none of Custody's entries."""
    depth = query.depth
    kinds = {space.history for space in query.spaces}
    kept = depth * len(kinds)  # a chunk on its way into the history is there twice
    if len(scored) > kept:
        # Only equal scores at the cut need the chunk ids of more than `kept` chunks.
        last = sorted((score for _, score in scored), reverse=True)[kept - 1]
        scored = [one for one in scored if one[1] >= last]
    ranked = sorted((-score, _chunk_id(connection, number), number) for number, score in scored)
    read = [
        (_entry(connection, number, chunk_id), -negative)
        for negative, chunk_id, number in ranked[:kept]
    ]
    hits = [Hit(entry, score) for entry, score in read if entry is not None]
    odd = len(read) - len(hits)
    if len(kinds) == 1:
        return tuple(hits), odd
    once = united(query, hits)
    return tuple(sorted(once, key=lambda hit: (-hit.score, hit.entry.chunk_id))[:depth]), odd


def _chunk_id(connection: sqlite3.Connection, number: int) -> str:
    found: str = connection.execute(
        "SELECT chunk_id FROM chunks WHERE id = ?", (number,)
    ).fetchone()[0]
    return found


def _sampled(
    connection: sqlite3.Connection,
    stored: StoredSpace,
    tenant: str,
    wanted: SearchFilter,
    size: int,
) -> list[IndexEntry]:
    sql, values = allowed_chunks(stored.id, tenant, wanted)
    listed, _ = connection.execute(sql, values).fetchone()
    numbers = lexical.integers(listed)[:size].tolist()
    read = (_entry(connection, number, _chunk_id(connection, number)) for number in numbers)
    return [entry for entry in read if entry is not None]


def _entry(connection: sqlite3.Connection, number: int, chunk_id: str) -> IndexEntry | None:
    """None for what Custody did not write there."""
    payload = connection.execute("SELECT entry FROM payloads WHERE id = ?", (number,)).fetchone()[0]
    try:
        entry = decode(json.loads(payload))
    except (KeyError, TypeError, ValueError):
        return None
    return entry if entry.chunk_id == chunk_id else None
