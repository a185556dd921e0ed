"""Whether an index can be built anew without anybody noticing.

    python -m benchmarks.rebuild --json

500 documents of 10 chunks are published into a real OpenSearch node; text and vectors are seeded,
the ledger is in memory. Then the index is built anew while four searchers ask for documents by a
word that only they have, and one publisher publishes new ones and new versions, narrows some and
erases some. The builder is killed once, between two calls at a random moment, and taken up again
after its lease; in the end the former index is dropped.

``missed``: searches that did not find a document which was live from before they began until after
they ended. ``lost``: documents that are live in the end and not wholly in the index. ``served_erased``:
searches that served a document which had been erased, or taken from the reader, before they began.
``failed``: searches, publications, changes and runs that ended in an error. ``published``: versions
that went live while the index was built.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from rich.console import Console

from benchmarks import inprocess, samples
from benchmarks.indexes import opensearch_client
from benchmarks.latency import SeededVectors
from custody.adapters.opensearch_index import OpenSearchIndex
from custody.application.erasure.request import ErasureRequest
from custody.application.indexing.pace import BuildPace
from custody.application.ingestion.accept_document import DocumentRequest
from custody.application.ingestion.change_acl import AclRequest
from custody.application.ports import ParsedDocument
from custody.application.reading.search import SearchRequest
from custody.domain.index.builds import BuildState, IndexBuild
from custody.domain.index.candidates import Space
from custody.domain.jobs import (
    CleanupJob,
    EmbedJob,
    EraseJob,
    Job,
    ParseJob,
    PublishJob,
    RebuildJob,
)
from custody.domain.model import BuildKey, Chunk, DocumentKey, Principal, Scope
from custody.errors import CustodyError, Unavailable
from custody_local.progress import Progress

DOCUMENTS, CHUNKS, WORDS = 500, 10, 60
SEARCHERS, PUBLISHED = 4, 20
PACE = BuildPace(
    lease=timedelta(seconds=4),
    margin=timedelta(seconds=2),
    run=timedelta(seconds=5),
    longest=timedelta(seconds=60),
    grace=timedelta(seconds=5),
)
READER = Principal(
    "reader", inprocess.TENANT, frozenset({"readers"}), frozenset({Scope.READ.value})
)


class WordChunker:
    """So many words a chunk, so that no model is needed to count its tokens."""

    version = "words 1"

    def chunk(
        self, parsed: ParsedDocument, *, document_id: str, version: int, title: str | None
    ) -> tuple[Chunk, ...]:
        words = " ".join(block.text for block in parsed.blocks).split()
        texts = [" ".join(words[at : at + WORDS]) for at in range(0, len(words), WORDS)]
        return tuple(
            Chunk(document_id, version, ordinal, title, None, None, text)
            for ordinal, text in enumerate(texts)
        )


class Killed(BaseException):
    """The builder's process is gone: nothing of it catches this."""


class Mortal:
    """The index as the builder has it: ``at`` its so many-eth call it dies, once."""

    def __init__(self, index: OpenSearchIndex, at: int) -> None:
        self._index, self._at, self._calls = index, at, 0

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._index, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            self._calls += 1
            if self._calls == self._at:
                raise Killed
            return call(*args, **kwargs)

        return counted


@dataclass
class Known:
    """What readers must find, and must not. Times are of ``time.monotonic``."""

    live: dict[str, float] = field(default_factory=dict)
    touched: dict[str, float] = field(default_factory=dict)
    gone: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def taking(self, document_id: str) -> Iterator[None]:
        """While it is taken away a search may find it or not; after that it may not."""
        self.touched[document_id] = time.monotonic()
        yield
        self.gone[document_id] = time.monotonic()


@dataclass
class Figures:
    searches: int = 0
    missed: int = 0
    served_erased: int = 0
    published: int = 0
    erased: int = 0
    narrowed: int = 0
    resumed: int = 0
    building: float = 0.0
    faults: list[str] = field(default_factory=list)

    def fault(self, where: str, error: Exception) -> None:
        self.faults.append(f"{where}: {type(error).__name__}: {error}")


def word_of(document_id: str) -> str:
    return f"word{document_id}"


def request(document_id: str, version: int) -> DocumentRequest:
    count = WORDS * CHUNKS - CHUNKS
    ((_, text),) = samples.documents(1, words=count, seed=hash_of(document_id, version))
    words = [word for word in text.split() if word][:count]
    for chunk in range(CHUNKS):  # each chunk is found by the document's own word
        words.insert(chunk * WORDS, word_of(document_id))
    body = " ".join(words[: WORDS * CHUNKS]).encode()
    return DocumentRequest(document_id, inprocess.SOURCE, body, "text/plain")


def hash_of(document_id: str, version: int) -> int:
    return random.Random(f"{document_id} {version}").randrange(1 << 30)


class Run:
    def __init__(self, index: OpenSearchIndex, *, seed: int, kill_at: int) -> None:
        self.index = index
        self.bench = inprocess.furnish(
            index=index,
            embedder=SeededVectors(),
            chunker=WordChunker(),
            rebuildable=Mortal(index, kill_at),  # it passes every call on
            pace=PACE,
        )
        self.known, self.figures = Known(), Figures()
        self.chance = random.Random(seed)
        self.over = threading.Event()
        self.rebuilds: list[RebuildJob] = []
        self._service = self.bench.service

    # --- publishing -------------------------------------------------------------------------------

    def publish(self, document_id: str, version: int) -> None:
        self._service.accept.from_api(self.bench.principal, request(document_id, version))
        self.drain()
        self.known.live.setdefault(document_id, time.monotonic())

    def drain(self) -> None:
        """All that waits in the queues but builds, which have a process of their own."""
        later: list[Job] = []

        def again(step: Callable[[Any], None]) -> Callable[[Any], None]:
            """What meets the builder at the same document is delivered again, as a queue does."""

            def done(job: Job) -> None:
                try:
                    step(job)
                except Unavailable:
                    later.append(job)

            return done

        def each(step: Callable[..., Any]) -> Callable[[Any], None]:
            def done(job: Any) -> None:
                for failure in step([job]):
                    raise failure.error

            return done

        self.bench.jobs.drain(
            {
                ParseJob: self._service.parse,
                EmbedJob: each(self._service.embed),
                PublishJob: each(self._service.publish),
                CleanupJob: again(self._service.clean_up_superseded),
                EraseJob: again(self._service.propagate_erasure),
                RebuildJob: self.rebuilds.append,
            }
        )
        self.bench.jobs.send(later)

    def publisher(self) -> None:
        number = 0
        while not self.over.is_set():
            number += 1
            try:
                self._change(number)
            except CustodyError as error:
                self.figures.fault("publisher", error)
            time.sleep(0.02)

    def _change(self, number: int) -> None:
        action = number % 5
        if action in (0, 3):
            document_id = self._untouched()
            with self.known.taking(document_id):
                if action == 0:
                    wanted = ErasureRequest(document_id, "it is over")
                    self._service.erasures.request(self.bench.principal, wanted)
                    self.figures.erased += 1
                else:
                    narrower = AclRequest(document_id, ("user:zoe",))
                    self._service.change_acl(self.bench.principal, narrower)
                    self.figures.narrowed += 1
            self.drain()
            return
        document_id = f"n{number}" if action == 1 else self._untouched()
        self.publish(document_id, number)
        self.figures.published += 1

    def _untouched(self) -> str:
        """Of the first half: the other one is never taken away."""
        while True:
            document_id = f"d{self.chance.randrange(DOCUMENTS // 2)}"
            if document_id not in self.known.touched:
                return document_id

    # --- searching --------------------------------------------------------------------------------

    def searcher(self, seed: int) -> None:
        chance = random.Random(seed)
        while not self.over.is_set():
            document_id = chance.choice(list(self.known.live))
            began = time.monotonic()
            try:
                found = self.finds(document_id)
            except CustodyError as error:
                self.figures.fault("search", error)
                continue
            ended = time.monotonic()
            self.figures.searches += 1
            was_live = self.known.live[document_id] < began
            if not found and was_live and self.known.touched.get(document_id, ended) >= ended:
                self.figures.missed += 1
            if found and self.known.gone.get(document_id, ended) < began:
                self.figures.served_erased += 1
            time.sleep(0.05)  # as callers do, who read what they got

    def finds(self, document_id: str) -> bool:
        asked = SearchRequest(word_of(document_id), k=10, route="hybrid")
        found = self._service.search(READER, asked)
        return any(item.key.document_id == document_id for item in found.results)

    # --- building ---------------------------------------------------------------------------------

    def build(self) -> IndexBuild:
        key = self._service.indices.rebuild(self.bench.principal)[0].key
        while self._build_of(key).state is BuildState.BUILDING:
            began = time.monotonic()
            try:
                self._service.rebuild(RebuildJob(key))
            except Killed:
                self.figures.resumed += 1  # by whoever comes next
            except Unavailable as error:
                if error.code != "build-busy":
                    self.figures.fault("builder", error)
                time.sleep(0.2)  # the lease of who was killed
            self.figures.building += time.monotonic() - began
        while self.figures.published < PUBLISHED:
            time.sleep(0.05)
        time.sleep(PACE.grace.total_seconds())
        for former in self._service.indices.show(self.bench.principal):
            if former.state is BuildState.RETIRING:
                self._service.rebuild(RebuildJob(former.key))
        time.sleep(1.0)  # searches go on with the former one gone
        return self._build_of(key)

    def _build_of(self, key: BuildKey) -> IndexBuild:
        builds = self._service.indices.show(self.bench.principal)
        return next(build for build in builds if build.key == key)

    def lost(self) -> int:
        """Live documents whose chunks are not all found; of one in ten also what a reader finds."""
        space, lost = Space(inprocess.TENANT), 0
        for number, document_id in enumerate(sorted(self.known.live)):
            key = DocumentKey(inprocess.TENANT, document_id)
            head = self.bench.heads.head(key)
            if head is None or not head.version:
                continue
            whole = self.index.count(space, key, head.version) == head.chunk_count
            readable = number % 10 == 0 and document_id not in self.known.touched
            lost += not whole or (readable and not self.finds(document_id))
        return lost


def measure(index: OpenSearchIndex, console: Console, *, seed: int) -> dict[str, object]:
    chance = random.Random(seed)
    run = Run(index, seed=seed, kill_at=chance.randrange(20, 80))
    with console.status("Publishing"):
        requests = (request(f"d{n}", 1) for n in range(DOCUMENTS))
        for _ in run.bench.ingest(requests):
            pass
        run.known.live.update(dict.fromkeys((f"d{n}" for n in range(DOCUMENTS)), 0.0))
    threads = [threading.Thread(target=run.searcher, args=(n,)) for n in range(SEARCHERS)]
    threads.append(threading.Thread(target=run.publisher))
    with console.status("Building the index anew"):
        for thread in threads:
            thread.start()
        try:
            build = run.build()
        finally:
            run.over.set()
            for thread in threads:
                thread.join()
    run.drain()
    figures = run.figures
    if run.bench.jobs.pending:
        figures.faults.append(f"never done: {run.bench.jobs.pending[:3]}")
    for fault in figures.faults[:10]:
        console.print(fault)
    return {
        "chunks": build.chunks,
        "searches": figures.searches,
        "published": figures.published,
        "failed": len(figures.faults),
        "missed": figures.missed,
        "lost": run.lost(),
        "resumed": figures.resumed if build.state is BuildState.SERVED else 0,
        "chunks_per_s": round(build.written / figures.building, 1),
        "served_erased": figures.served_erased,
        "erased": figures.erased,
        "narrowed": figures.narrowed,
        "passes": build.passes,
        "seconds": round(figures.building, 1),
        "seed": seed,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the JSON line only")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    options = parser.parse_args()
    console = Console(stderr=True, quiet=options.json and not sys.stderr.isatty())
    with opensearch_client(Progress(quiet=console.quiet)) as (client, prefix):
        figures = measure(OpenSearchIndex(client, prefix), console, seed=options.seed)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
