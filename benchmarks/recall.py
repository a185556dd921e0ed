"""What a search by vectors finds where many vectors are equal, and what it takes.

    python -m benchmarks.recall --json

Seeded vectors in clusters, as a model's are, are put through the product's index into a real
OpenSearch node. A share of the entries has the vector of another: one crowd of half of them, the
rest in crowds of some twenty. Each question is asked of the product (the semantic leg alone, depth
50) and its list is compared with one that numpy makes of all vectors that the filter leaves.

``returned``: the length of the shortest list. ``recall_distinct``: of the different vectors in the
exact list, how many are in the product's; ties at its end count as one. Both are the worst of all
variants: sizes, a broad and a narrow filter, in one segment and in many, with a tenth deleted.
``ratio_p50``: the product's search to one msearch with a bare k-NN clause of the same filter and
depth, which finds less, asked in turn: the median of all variants, and ``ratio_worst`` of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import batched
from statistics import fmean, median
from typing import Any

import numpy as np
import numpy.typing as npt
from opensearchpy import OpenSearch
from rich.console import Console

from benchmarks.indexes import opensearch_client
from custody.adapters.opensearch_index import OpenSearchIndex, queries
from custody.adapters.opensearch_index.names import alias_of
from custody.domain.index.candidates import IndexEntry, LegQuery, SearchFilter, Space
from custody.domain.model import DocumentKey, Leg
from custody_local.progress import Progress

type Array = npt.NDArray[Any]

SIZES = (2_000, 30_000)
SHARES = (0, 3, 10, 25, 60)
DIMENSIONS, CLUSTERS, NOISE, SMALL_CROWD = 384, 200, 0.9, 20
QUESTIONS, ROUNDS, DEPTH, BATCH = 40, 3, 50, 500
NOW = datetime(2026, 6, 1, tzinfo=UTC)
REVISION = "seeded@1"
FILTERS = {"broad": ("all",), "narrow": ("some",)}
SPACE = Space("bench")
SOME = 10  # of as many entries the narrow filter leaves one
SAME = 1e-6


@dataclass(frozen=True, slots=True)
class Corpus:
    """``vectors``: (n, dimensions), of length 1. ``vector_of``: which distinct one an entry has."""

    vectors: Array
    vector_of: Array
    questions: Array

    @classmethod
    def seeded(cls, size: int, share: int, seed: int) -> Corpus:
        chance = np.random.default_rng([seed, size, share])
        centres = _unit(chance.standard_normal((CLUSTERS, DIMENSIONS)))

        def near_some(count: int) -> Array:
            drawn = centres[chance.integers(CLUSTERS, size=count)]
            noise = chance.standard_normal((count, DIMENSIONS)) / np.sqrt(DIMENSIONS)
            return _unit(drawn + NOISE * noise).astype(np.float32)

        vector_of = np.arange(size)
        crowded = chance.permutation(size)[: size * share // 100]
        half = len(crowded) // 2
        small = max(1, (len(crowded) - half) // SMALL_CROWD)
        for crowd in (crowded[:half], *np.array_split(crowded[half:], small)):
            if len(crowd):
                vector_of[crowd] = crowd[0]
        return cls(near_some(size)[vector_of], vector_of, near_some(QUESTIONS))


def _unit(vectors: Array) -> Array:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def entries(corpus: Corpus) -> Iterator[IndexEntry]:
    for place, vector in enumerate(corpus.vectors):
        yield IndexEntry(
            chunk_id=f"c{place:06d}",
            key=DocumentKey("bench", f"d{place}"),
            source_id="corpus",
            trust_domain="internal",
            version=1,
            ordinal=0,
            title=None,
            heading=None,
            page=None,
            text="lorem " * 100,
            acl=("all", "some") if place % SOME == 0 else ("all",),
            proof=("00" * 32,) * 8,
            chunk_count=1,
            version_digest="00" * 32,
            model_revision=REVISION,
            vector=vector,
        )


@dataclass
class Measured:
    returned: int = DEPTH
    recalls: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    def add(self, found: Sequence[tuple[int, float]], exact: set[int], vector_of: Array) -> None:
        got = {int(vector_of[place]) for place, _ in found}
        self.returned = min(self.returned, len(found))
        self._seen.append(len(got & exact) / len(exact))

    _seen: list[float] = field(default_factory=list)

    def close(self) -> None:
        """Of one variant."""
        self.recalls.append(fmean(self._seen))
        self._seen.clear()


def wanted(terms: Sequence[str]) -> SearchFilter:
    return SearchFilter(acl_terms=frozenset(terms), valid_at=NOW)


def bare(name: str, vector: Array, terms: Sequence[str]) -> list[dict[str, Any]]:
    """As anyone would ask: as many neighbours as the depth, whatever is equal."""
    clauses = queries.filter_clauses(wanted(terms))
    body = queries.semantic_body(vector, clauses, depth=DEPTH, timeout="10s")
    knn = {"vector": vector.tolist(), "k": DEPTH, "filter": {"bool": {"filter": clauses}}}
    return [{"index": [name]}, {**body, "query": {"knn": {"vector": knn}}}]


def exact_list(corpus: Corpus, question: Array, open_: Array) -> set[int]:
    """Distinct vectors of the best ``DEPTH`` of the entries that are open, with all ties."""
    cosines = corpus.vectors @ question
    cosines[~open_] = -2.0
    last = np.partition(cosines, -DEPTH)[-DEPTH]
    return {int(one) for one in corpus.vector_of[cosines > last - SAME]}


def ask(
    client: OpenSearch,
    index: OpenSearchIndex,
    name: str,
    corpus: Corpus,
    alive: Array,
    measured: Measured,
) -> None:
    for terms in FILTERS.values():
        open_ = alive.copy()
        if terms == FILTERS["narrow"]:
            open_ &= np.arange(len(alive)) % SOME == 0
        ours: list[float] = []
        theirs: list[float] = []
        for turn in range(ROUNDS):
            for question in corpus.questions:
                asked = LegQuery(
                    spaces=(SPACE,),
                    filter=wanted(terms),
                    depth=DEPTH,
                    legs=frozenset({Leg.SEMANTIC}),
                    vector=question,
                    model_revision=REVISION,
                )
                began = time.perf_counter()
                hits = index.search(asked)[Leg.SEMANTIC]
                between = time.perf_counter()
                client.msearch(body=bare(name, question, terms))
                done = time.perf_counter()
                if turn:  # the first warms the node
                    ours.append(between - began)
                    theirs.append(done - between)
                    continue
                found = [(int(hit.entry.chunk_id[1:]), hit.score) for hit in hits]
                measured.add(found, exact_list(corpus, question, open_), corpus.vector_of)
        measured.close()
        measured.ratios.append(median(ours) / median(theirs))


def measure(client: OpenSearch, prefix: str, seed: int, console: Console) -> dict[str, object]:
    shares: defaultdict[int, Measured] = defaultdict(Measured)
    for size in SIZES:
        for share in SHARES:
            corpus = Corpus.seeded(size, share, seed)
            index = OpenSearchIndex(client, f"{prefix}-{size}-{share}", search_timeout_s=60.0)
            name, measured = alias_of(f"{prefix}-{size}-{share}", SPACE, REVISION), shares[share]
            index.ensure(SPACE, model_revision=REVISION, dimensions=DIMENSIONS)
            alive = np.ones(size, dtype=bool)
            for batch in batched(entries(corpus), BATCH):
                index.put(SPACE, batch)
                index.refresh([SPACE])
            ask(client, index, name, corpus, alive, measured)
            gone = np.random.default_rng(seed).permutation(size)[: size // 10]
            alive[gone] = False
            client.delete_by_query(
                index=name,
                body={"query": {"terms": {"chunk_id": [f"c{place:06d}" for place in gone]}}},
                params={"refresh": "true"},
                request_timeout=120,
            )
            ask(client, index, name, corpus, alive, measured)
            client.indices.forcemerge(
                index=name, params={"max_num_segments": 1}, request_timeout=300
            )
            ask(client, index, name, corpus, alive, measured)
            console.print(
                f"{size} entries, {share} % equal: {measured.returned} returned,"
                f" recall {min(measured.recalls):.3f}, ratio {max(measured.ratios):.2f}"
            )
            client.indices.delete(index=f"{prefix}-{size}-{share}-*")
    ratios = [ratio for one in shares.values() for ratio in one.ratios]
    return {
        "equal_share": {
            str(share): {
                "returned": one.returned,
                "recall_distinct": round(min(one.recalls), 4),
                "ratio_worst": round(max(one.ratios), 3),
            }
            for share, one in shares.items()
        },
        "ratio_p50": round(median(ratios), 3),
        "ratio_worst": round(max(ratios), 3),
        "sizes": list(SIZES),
        "seed": seed,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the JSON line only")
    parser.add_argument("--seed", type=int, default=5, help="of the vectors (default 5)")
    options = parser.parse_args()
    console = Console(stderr=True, quiet=options.json and not sys.stderr.isatty())
    with opensearch_client(Progress(quiet=console.quiet)) as (client, prefix):
        figures = measure(client, prefix, options.seed, console)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
