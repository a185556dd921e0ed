"""All vectors of a space in memory, once a process, brought up to date by id.

A chunk's row id is never used twice and its vector never changes, so a cached row is right for as
long as it is asked for: new rows are read past the highest id seen, and a deleted row is simply not
among the ids that the filter lets through.
"""

from __future__ import annotations

import sqlite3
import threading

import numpy as np
import numpy.typing as npt

from custody.domain.index.candidates import Vector

type Ids = npt.NDArray[np.int64]
type Floats = npt.NDArray[np.float64]
type Matrix = npt.NDArray[np.float32]

_NEAR = 1e-5
"""Further than this below the last place, single precision can't have mistaken the order."""


class _Rows:
    def __init__(self, dimensions: int) -> None:
        self.ids: Ids = np.empty(0, dtype=np.int64)
        self.matrix: Matrix = np.empty((0, dimensions), dtype=np.float32)


class VectorCache:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, int], _Rows] = {}

    def nearest(
        self,
        connection: sqlite3.Connection,
        *,
        identity: str,
        space: int,
        allowed: Ids,
        vector: Vector,
        depth: int,
    ) -> tuple[Ids, Floats]:
        """Ids and cosines of the ``depth`` best of ``allowed`` (ascending ids), with all that are
        equal to the last or nearly so. Exact: equal vectors get equal cosines."""
        ids, matrix = self._up_to_date(connection, identity, space, allowed, vector.shape[0])
        at = np.searchsorted(ids, allowed)
        known = ids[np.minimum(at, max(len(ids) - 1, 0))] == allowed if len(ids) else at < 0
        if not known.all():
            # Deleted since by another writer, before this process ever read it, but part of this
            # call's snapshot.
            extra_ids, extra = _read(connection, space, vector.shape[0], allowed[~known])
            ids = np.concatenate([ids, extra_ids])
            matrix = np.concatenate([matrix, extra])
            order = np.argsort(ids)
            ids, matrix = ids[order], matrix[order]
            at = np.searchsorted(ids, allowed)
        everything = len(allowed) * 2 > len(ids)
        rough = (matrix @ vector)[at] if everything else matrix[at] @ vector
        if len(rough) > depth:
            last = np.partition(rough, len(rough) - depth)[len(rough) - depth]
            chosen = np.flatnonzero(rough >= last - _NEAR)
        else:
            chosen = np.arange(len(rough))
        # A matrix product may round equal rows differently; row by row in double it can't.
        exact = np.einsum(
            "ij,j->i", matrix[at[chosen]].astype(np.float64), vector.astype(np.float64)
        )
        return allowed[chosen], exact

    def _up_to_date(
        self, connection: sqlite3.Connection, identity: str, space: int, allowed: Ids, size: int
    ) -> tuple[Ids, Matrix]:
        with self._lock:
            rows = self._rows.setdefault((identity, space), _Rows(size))
            seen = int(rows.ids[-1]) if len(rows.ids) else 0
            if len(allowed) and int(allowed[-1]) > seen:
                ids, matrix = _read_after(connection, space, size, seen)
                live = self._live(connection, space)
                if len(rows.ids) > 2 * live + 1_000:  # mostly deleted rows: start again
                    rows.ids = np.empty(0, dtype=np.int64)
                    rows.matrix = np.empty((0, size), dtype=np.float32)
                    ids, matrix = _read_after(connection, space, size, 0)
                rows.ids = np.concatenate([rows.ids, ids])
                rows.matrix = np.concatenate([rows.matrix, matrix])
            return rows.ids, rows.matrix

    @staticmethod
    def _live(connection: sqlite3.Connection, space: int) -> int:
        count: int = connection.execute(
            "SELECT count(*) FROM vectors WHERE space = ?", (space,)
        ).fetchone()[0]
        return count


def _read_after(
    connection: sqlite3.Connection, space: int, size: int, seen: int
) -> tuple[Ids, Matrix]:
    rows = connection.execute(
        "SELECT id, vector FROM vectors WHERE space = ? AND id > ? ORDER BY id", (space, seen)
    ).fetchall()
    return _arrays(rows, size)


def _read(connection: sqlite3.Connection, space: int, size: int, ids: Ids) -> tuple[Ids, Matrix]:
    rows = [
        row
        for one in ids.tolist()
        for row in connection.execute(
            "SELECT id, vector FROM vectors WHERE space = ? AND id = ?", (space, one)
        )
    ]
    return _arrays(rows, size)


def _arrays(rows: list[tuple[int, bytes]], size: int) -> tuple[Ids, Matrix]:
    ids = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
    flat = np.frombuffer(b"".join(row[1] for row in rows), dtype=np.float32)
    return ids, flat.reshape(len(rows), size)
