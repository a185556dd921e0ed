"""What a search costs beside what the index costs.

    python -m benchmarks.latency --json

A corpus of seeded text with seeded vectors is published through the product into a real OpenSearch
node; the ledger is in memory. Each question is asked in turn of the product (embedding left out)
and of the node directly: one msearch of both legs with the same filter, depth and fields.

``own_cpu_ms_p50``: processor time of our own code in a search: the node's replies are recorded and
played back, so that neither the HTTP client nor caches that went cold while waiting are counted; of
each question the least of its rounds, then the median over the questions. ``live_cpu_ms_p50``: the
same search live, less the bare call. ``round_trips``: sequential calls to index and ledger.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import time
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from statistics import fmean, median
from typing import Any

import numpy as np
from opensearchpy import OpenSearch
from rich.console import Console
from rich.progress import track

from benchmarks import inprocess, samples
from benchmarks.indexes import opensearch_client
from custody.adapters.opensearch_index import OpenSearchIndex
from custody.application.ingestion.accept_document import DocumentRequest
from custody.application.ports import Matrix
from custody.application.reading.search import SearchRequest
from custody.domain.index.candidates import LegHits, LegQuery, Vector
from custody.domain.model import DocumentKey, LedgerView, SourceKey
from custody_local.progress import Progress
from custody_memory.ledger import MemoryLedger

type Json = dict[str, Any]
type Lines = list[Json]

DOCUMENTS, WORDS, QUESTIONS, ROUNDS = 2_000, 120, 60, 5


class SeededVectors:
    """Unit vectors drawn from a text's hash: a search without the cost of a model."""

    revision = "seeded@1"
    dimensions = 384

    @lru_cache(maxsize=QUESTIONS)  # noqa: B019  # one of them, for the whole run
    def embed_query(self, text: str) -> Vector:
        chance = np.random.default_rng(int.from_bytes(sha256(text.encode()).digest()[:8]))
        drawn = chance.standard_normal(self.dimensions).astype(np.float32)
        unit: Vector = drawn / np.linalg.norm(drawn)
        return unit

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        return np.stack([self.embed_query(text) for text in texts])


class CountedIndex(OpenSearchIndex):
    """``searches``: of the one method that a search may call (``CandidateIndex``)."""

    searches = 0

    def search(self, query: LegQuery) -> LegHits:
        self.searches += 1
        return super().search(query)


class CountedLedger(MemoryLedger):
    """``views``: of the one method that a search may call (``LedgerReads``)."""

    views = 0

    def view(
        self,
        tenant: str,
        subject: str,
        documents: Collection[DocumentKey],
        sources: Collection[SourceKey],
    ) -> LedgerView:
        self.views += 1
        return super().view(tenant, subject, documents, sources)


class Recorded(OpenSearch):
    """``client`` once more: remembers the last msearch that the product sent, and plays ``replay``
    back where it is set."""

    def __init__(self, client: OpenSearch) -> None:
        super().__init__()
        self.transport = client.transport
        self.body: Lines = []
        self.reply: Json = {}
        self.replay: Json | None = None

    def msearch(self, *, body: Lines, **options: object) -> Json:
        if self.replay is not None:
            return self.replay
        self.body = body
        self.reply = super().msearch(body=body, **options)
        return self.reply


def bare(lines: Lines) -> Lines:
    """Both legs as anyone would ask them: the product's lines less its probes for closed indices,
    and with no more neighbours than the depth."""
    pairs = zip(lines[::2], copy.deepcopy(lines[1::2]), strict=True)
    legs = [(header, body) for header, body in pairs if body["size"]]
    for _, body in legs:
        for clause in body["query"].get("knn", {}).values():
            clause["k"] = body["size"]
    return [line for leg in legs for line in leg]


def timed[T](call: Callable[[], T]) -> tuple[T, float, float]:
    """(result, wall seconds, processor seconds of this thread)."""
    cpu, wall = time.thread_time(), time.perf_counter()
    result = call()
    return result, time.perf_counter() - wall, time.thread_time() - cpu


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the JSON line only")
    options = parser.parse_args()
    console = Console(stderr=True, quiet=options.json and not sys.stderr.isatty())
    with opensearch_client(Progress(quiet=console.quiet)) as (client, prefix):
        figures = measure(client, prefix, console)
    print(json.dumps(figures))
    return 0


def measure(client: OpenSearch, prefix: str, console: Console) -> dict[str, object]:
    recorder = Recorded(client)
    index, ledger = CountedIndex(recorder, prefix), CountedLedger()
    bench = inprocess.assemble(
        index=index, ledger=ledger, model=inprocess.load("minilm"), embedder=SeededVectors()
    )
    corpus = [
        DocumentRequest(f"d{place}", inprocess.SOURCE, text.encode(), "text/plain", title=title)
        for place, (title, text) in enumerate(samples.documents(DOCUMENTS, words=WORDS))
    ]
    batches = bench.ingest(iter(corpus))
    for _ in track(
        batches,
        "Publishing",
        total=DOCUMENTS // inprocess.PUBLISH_BATCH,
        console=console,
        transient=True,
    ):
        pass
    chance = random.Random(11)
    common = samples.vocabulary(300, 7)  # the corpus's most frequent words: both legs are full
    questions = [" ".join(chance.sample(common, 8)) for _ in range(QUESTIONS)]
    ask = bench.service.search
    walls, bares, trips, sizes = [], [], [], []
    live: list[float] = []
    replies: dict[str, Json] = {}
    for turn in range(ROUNDS + 1):
        for question in questions:
            index.searches = ledger.views = 0
            request = SearchRequest(question, k=10, route="hybrid")
            found, wall, cpu = timed(partial(ask, bench.principal, request))
            body = bare(recorder.body)
            reply, bare_wall, bare_cpu = timed(partial(client.msearch, body=body))
            if turn == 0:
                continue  # warms the node and the caches
            chunks = {
                hit["_source"]["chunk_id"]
                for leg in reply["responses"]
                for hit in leg["hits"]["hits"]
            }
            if not found.results:
                raise RuntimeError("A search found nothing: the comparison would mean nothing.")
            walls.append(wall)
            bares.append(bare_wall)
            live.append(cpu - bare_cpu)
            replies[question] = recorder.reply
            trips.append(index.searches + ledger.views)
            sizes.append(len(chunks))
    own: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for question, recorder.replay in replies.items():
            request = SearchRequest(question, k=10, route="hybrid")
            _, _, cpu = timed(partial(ask, bench.principal, request))
            own.setdefault(question, []).append(cpu)
    return {
        "own_cpu_ms_p50": round(median(map(min, own.values())) * 1000, 3),
        "live_cpu_ms_p50": round(median(live) * 1000, 3),
        "round_trips": max(trips),
        "ratio_p50": round(median(walls) / median(bares), 3),
        "search_ms_p50": round(median(walls) * 1000, 2),
        "bare_msearch_ms_p50": round(median(bares) * 1000, 2),
        "candidates_mean": round(fmean(sizes), 1),
        "searches": len(walls),
        "documents": DOCUMENTS,
    }


if __name__ == "__main__":
    raise SystemExit(main())
