"""How much of the ingestion's time is the model's.

    python -m benchmarks.ingest [--data FOLDER] --json

The same documents go through the in-process path (accept, parse, chunk, digest, sign with a local
key, embed, index, make live) and their chunks through bare onnxruntime with the same number of
threads, in turns, so that both meet the same machine. ``--data`` names the SciFact folder (default:
``scifact`` in ``CUSTODY_DATA``); without either the text is seeded and of our own making.

``ratio``: seconds of the bare model / seconds of the product, over the same chunks; the bare model
takes one chunk after another, each with all threads. ``ratio_side_by_side``: the bare model runs as
many chunks at once as there are threads, each on one, as the product does.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
import onnxruntime
from rich.console import Console
from rich.progress import track
from tokenizers import Tokenizer

from benchmarks import inprocess, samples, scifact
from benchmarks.indexes import chosen
from custody.adapters.onnx_embedder import OnnxEmbedder
from custody.application.ingestion.accept_document import DocumentRequest
from custody.application.ports import Matrix
from custody.domain.text.embedding_model import EmbeddingModel
from custody_local.progress import Progress

TURNS, DOCUMENTS_A_TURN = 8, 25


class Overheard:
    """Passes texts to the embedder and remembers them for the bare run."""

    def __init__(self, inner: OnnxEmbedder) -> None:
        self._inner = inner
        self.revision, self.dimensions = inner.revision, inner.dimensions
        self.embed_query = inner.embed_query
        self.texts: list[str] = []

    def embed_passages(self, texts: list[str]) -> Matrix:
        self.texts.extend(texts)
        return self._inner.embed_passages(texts)


class Bare:
    """onnxruntime alone, one chunk a run. ``side_by_side``: that many runs at once, a thread each;
    where it is 1 a run has all ``threads``."""

    def __init__(self, model: EmbeddingModel, threads: int, *, side_by_side: int = 1) -> None:
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads // side_by_side
        self._session = onnxruntime.InferenceSession(
            model.model_file, settings, providers=["CPUExecutionProvider"]
        )
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._output = model.output
        self._workers = ThreadPoolExecutor(side_by_side)
        self._map = self._workers.map if side_by_side > 1 else map
        self.seconds = 0.0

    def run(self, encoded: list[list[int]]) -> None:
        began = time.perf_counter()
        for _ in self._map(self._one, encoded):
            pass
        self.seconds += time.perf_counter() - began

    def _one(self, tokens: list[int]) -> None:
        ids = np.array([tokens], dtype=np.int64)
        every = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        self._session.run([self._output], {name: every[name] for name in self._inputs})


def encoder(model: EmbeddingModel) -> Callable[[list[str]], list[list[int]]]:
    tokenizer = Tokenizer.from_file(model.tokenizer_file)
    tokenizer.no_padding()
    tokenizer.enable_truncation(model.max_tokens)
    return lambda texts: [
        each.ids for each in tokenizer.encode_batch([model.passage_prefix + text for text in texts])
    ]


def shared_scifact() -> Path | None:
    shared = os.environ.get("CUSTODY_DATA")
    return Path(shared) / "scifact" if shared else None


def corpus(folder: Path | None, count: int) -> Iterator[DocumentRequest]:
    if folder is None:
        texts = ((title, text) for title, text in samples.documents(count, words=150))
    else:
        abstracts = scifact.load(folder).abstracts
        texts = ((abstract.title, abstract.text) for abstract in abstracts)
    for place, (title, text) in enumerate(islice(texts, count)):
        yield DocumentRequest(
            f"d{place}", inprocess.SOURCE, text.encode(), "text/plain", title=title
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=shared_scifact(), help="the SciFact folder")
    parser.add_argument("--index", choices=("opensearch", "embedded"), default="embedded")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true", help="print the JSON line only")
    options = parser.parse_args()
    console = Console(stderr=True, quiet=options.json and not sys.stderr.isatty())
    model = inprocess.load(options.model)
    embedder = Overheard(OnnxEmbedder(model, threads=options.threads))
    encode = encoder(model)
    plain = Bare(model, options.threads)
    parallel = Bare(model, options.threads, side_by_side=options.threads)
    documents = corpus(options.data, (TURNS + 1) * DOCUMENTS_A_TURN)
    product_seconds = 0.0
    chunks = 0
    with chosen(options.index, Progress(quiet=console.quiet)) as index:
        bench = inprocess.assemble(index=index, model=model, embedder=embedder)  # type: ignore[arg-type]
        for turn in track(range(TURNS + 1), "Ingesting", console=console, transient=True):
            batch = list(islice(documents, DOCUMENTS_A_TURN))
            embedder.texts.clear()
            began = time.perf_counter()
            for _ in bench.ingest(iter(batch)):
                pass
            product_seconds += time.perf_counter() - began
            encoded = encode(embedder.texts)  # not counted
            plain.run(encoded)
            parallel.run(encoded)
            chunks += len(encoded)
            if turn == 0:  # loads the models and fills the caches
                product_seconds = plain.seconds = parallel.seconds = 0.0
                chunks = 0
    figures = {
        "ratio": round(plain.seconds / product_seconds, 3),
        "ratio_side_by_side": round(parallel.seconds / product_seconds, 3),
        "chunks_per_s": round(chunks / product_seconds, 2),
        "bare_chunks_per_s": round(chunks / plain.seconds, 2),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "chunks": chunks,
        "threads": options.threads,
        "index": options.index,
        "model": model.revision,
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
