"""Retrieval quality on SciFact, through the product.

    python -m benchmarks.quality --data FOLDER --index opensearch|embedded --json

All abstracts are ingested (parsed, chunked, signed, embedded, indexed, made live), then every
judged claim is searched by each route. A document ranks by its best chunk.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.progress import track

from benchmarks import inprocess, scifact
from benchmarks.indexes import chosen
from benchmarks.vector_cache import CachedEmbedder
from custody.adapters.onnx_embedder import OnnxEmbedder
from custody.application.ingestion.accept_document import DocumentRequest
from custody.application.reading.search import SearchRequest
from custody.domain.ranking.metrics import ndcg, recall, roll_up
from custody_local.progress import Progress

ROUTES = ("sparse", "dense", "hybrid")
DEPTH = 100  # the most that a search returns


def requests(data: scifact.SciFact) -> Iterator[DocumentRequest]:
    for abstract in data.abstracts:
        yield DocumentRequest(
            abstract.document_id,
            inprocess.SOURCE,
            content=(abstract.text or abstract.title).encode(),
            content_type="text/plain",
            title=abstract.title.strip() or None,
        )


def measure(
    bench: inprocess.InProcess, data: scifact.SciFact, route: str, console: Console
) -> dict[str, float]:
    gains, recalls = [], []
    judged = [(claim, relevance) for claim, relevance in data.judged.items()]
    for claim, relevance in track(judged, f"Searching, {route}", console=console, transient=True):
        found = bench.service.search(
            bench.principal, SearchRequest(data.claims[claim], k=DEPTH, route=route)
        )
        ranking = roll_up([item.key.document_id for item in found.results])
        gains.append(ndcg(ranking, relevance, 10))
        recalls.append(recall(ranking, relevance, 100))
    return {"ndcg10": round(fmean(gains), 4), "recall100": round(fmean(recalls), 4)}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--index", choices=("opensearch", "embedded"), default="embedded")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--json", action="store_true", help="print the JSON line only")
    options = parser.parse_args()
    console = Console(stderr=True, quiet=options.json and not sys.stderr.isatty())
    try:
        data = scifact.load(options.data)
    except FileNotFoundError as error:
        parser.error(f"{error.filename} is missing: --data names the SciFact folder")
    model = inprocess.load(options.model)
    cache = inprocess.ROOT / ".local" / "cache" / "vectors.sqlite"
    embedder = CachedEmbedder(OnnxEmbedder(model), cache)
    with chosen(options.index, Progress(quiet=console.quiet)) as index:
        bench = inprocess.assemble(index=index, model=model, embedder=embedder)
        ingested = bench.ingest(requests(data))
        counts = track(
            ingested,
            "Ingesting",
            total=len(data.abstracts) // inprocess.PUBLISH_BATCH,
            console=console,
            transient=True,
        )
        live = max(counts)
        if live != len(data.abstracts):
            raise RuntimeError(f"{live} of {len(data.abstracts)} abstracts are live.")
        figures: dict[str, object] = {
            "index": options.index,
            "model": model.revision,
            "documents": live,
            "claims": len(data.judged),
        }
        for route in ROUTES:
            figures[route] = measure(bench, data, route, console)
    if not options.json:
        for route in ROUTES:
            print(route, figures[route])
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
