"""Near-duplicates among the evidence of one answer.

    J(a, b) = |A & B| / |A | B|   over each text's set of features

Features are the case-folded, width-folded words; in scripts that are written without spaces, each
pair of neighbouring characters. Exact, so meant for at most 100 items (MinHash finds pairs beyond).
Two items belong to one cluster when a chain of pairs at or above the threshold joins them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from custody.errors import IntegrityError

MAXIMUM_ITEMS = 100
DEFAULT_THRESHOLD = 0.8

_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(  # Thai, Lao, Myanmar, Khmer, kana, Han
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\U00020000-\U0003ffff]+"
)


@dataclass(frozen=True, slots=True)
class Item:
    """``source_id``: the lineage id of the chunk's source."""

    chunk_id: str
    source_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """At least two chunks. ``cross_source``: more than one source says the same."""

    chunk_ids: tuple[str, ...]
    source_ids: tuple[str, ...]
    maximum_similarity: float
    cross_source: bool


def features(text: str) -> frozenset[str]:
    if text.isascii():  # nothing to fold by width, nothing that is written without spaces
        return frozenset(_WORD.findall(text.lower()))
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not _UNSPACED.search(folded):
        return frozenset(_WORD.findall(folded))
    found: set[str] = set()
    for word in _WORD.findall(folded):
        runs = _UNSPACED.findall(word)
        if not runs:
            found.add(word)
            continue
        found.update(part for part in _UNSPACED.split(word) if part)
        for run in runs:
            found.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return frozenset(found)


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """1.0 for two equal sets; of two empty sets nothing can be said: 0.0."""
    if not left or not right:
        return 0.0
    shared = len(left & right)
    return shared / (len(left) + len(right) - shared)


def near_duplicate_clusters(
    items: Sequence[Item], threshold: float = DEFAULT_THRESHOLD
) -> tuple[Cluster, ...]:
    """Clusters in the order of their first chunk_id; ids inside sorted. Raises IntegrityError
    (invalid-candidate) for more than 100 items, repeated ids or a threshold outside 0..1."""
    if len(items) > MAXIMUM_ITEMS or len({item.chunk_id for item in items}) != len(items):
        raise IntegrityError("At most 100 chunks, each once.", code="invalid-candidate")
    if not 0.0 < threshold <= 1.0:
        raise IntegrityError("A threshold lies above 0 and up to 1.", code="invalid-candidate")
    sets = [features(item.text) for item in items]
    leader = list(range(len(items)))
    highest: dict[tuple[int, int], float] = {}
    for left in range(len(items)):
        for right in range(left + 1, len(items)):
            small, large = sorted((len(sets[left]), len(sets[right])))
            if small < threshold * large:  # J is at most small / large
                continue
            similarity = jaccard(sets[left], sets[right])
            if similarity >= threshold:
                highest[left, right] = similarity
                leader[_find(leader, right)] = _find(leader, left)
    members: dict[int, list[int]] = {}
    for position in range(len(items)):
        members.setdefault(_find(leader, position), []).append(position)
    clusters = [
        _cluster(
            [items[position] for position in of],
            [similarity for (left, _), similarity in highest.items() if left in of],
        )
        for of in members.values()
        if len(of) > 1
    ]
    return tuple(sorted(clusters, key=lambda cluster: cluster.chunk_ids))


def _find(leader: list[int], position: int) -> int:
    while leader[position] != position:
        position = leader[position]
    return position


def _cluster(items: Sequence[Item], similarities: Sequence[float]) -> Cluster:
    sources = tuple(sorted({item.source_id for item in items}))
    return Cluster(
        chunk_ids=tuple(sorted(item.chunk_id for item in items)),
        source_ids=sources,
        maximum_similarity=max(similarities),
        cross_source=len(sources) > 1,
    )
