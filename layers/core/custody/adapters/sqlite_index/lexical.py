"""The lexical leg: BM25 over the terms of one or more spaces taken together."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from custody.adapters.sqlite_index.generations import StoredSpace
from custody.domain.ranking.bm25 import length_norms, term_scores, term_weight

type Ids = npt.NDArray[np.int64]


class Allowed(NamedTuple):
    """What the filter lets through in one space: ids ascending, and each one's term count."""

    space: StoredSpace
    ids: Ids
    lengths: Ids


def scores(
    connection: sqlite3.Connection, group: list[Allowed], terms: Mapping[str, int]
) -> tuple[Ids, npt.NDArray[np.float32]]:
    """Ids with a score above zero, and their scores. Statistics are of all chunks of the group's
    spaces, allowed or not, as in any engine."""
    documents = sum(allowed.space.searchable for allowed in group)
    if not documents:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    average = sum(allowed.space.terms for allowed in group) / documents
    norms = [length_norms(allowed.lengths, average) for allowed in group]
    sums = [np.zeros(len(allowed.ids), dtype=np.float64) for allowed in group]
    for term, boost in terms.items():
        postings = [_postings(connection, allowed.space.id, term) for allowed in group]
        frequency = sum(len(ids) for ids, _ in postings)
        if not frequency:
            continue
        weight = term_weight(documents=documents, frequency=frequency, boost=boost)
        for at, (ids, counts) in enumerate(postings):
            places, found = _places(group[at].ids, ids)
            sums[at][places] += term_scores(weight, counts[found], norms[at][places])
    every_id = np.concatenate([allowed.ids for allowed in group])
    every_score = np.concatenate(sums).astype(np.float32)
    positive = every_score > 0
    return every_id[positive], every_score[positive]


def integers(listed: str | None) -> Ids:
    """What group_concat made of integers; NULL is none."""
    return np.fromstring(listed or "", dtype=np.int64, sep=",")


def _postings(connection: sqlite3.Connection, space: int, term: str) -> tuple[Ids, Ids]:
    """Chunks that hold ``term``, and how often each does."""
    row = connection.execute(
        f"SELECT group_concat(doc) FROM postings_{space:d} WHERE term = ?",  # noqa: S608 - an integer
        (term,),
    ).fetchone()
    ids = integers(row[0])
    unique, counts = np.unique(ids, return_counts=True)
    return unique, counts.astype(np.int64)


def _places(allowed: Ids, wanted: Ids) -> tuple[Ids, npt.NDArray[np.bool_]]:
    """Where in ``allowed`` those of ``wanted`` stand that are in it, and which those are."""
    if not len(allowed):
        return np.empty(0, dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    at = np.minimum(np.searchsorted(allowed, wanted), len(allowed) - 1)
    found = allowed[at] == wanted
    return at[found].astype(np.int64), found
