"""The product's own path in one process: real parser, chunker, signer, embedder and index; the
ledger, the objects and the queues in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from custody.adapters.model_manifest import load_model
from custody.adapters.onnx_embedder import OnnxEmbedder
from custody.adapters.parsers.format_parser import FormatParser
from custody.adapters.system_clock import SystemClock
from custody.adapters.token_chunker import TokenChunker
from custody.application.failure import Failure
from custody.application.governance.source_registry import SourceRequest
from custody.application.indexing.pace import BuildPace
from custody.application.ingestion.accept_document import DocumentRequest
from custody.application.ports import (
    Chunker,
    Embedder,
    EvidenceIndex,
    HeadReads,
    Ledger,
    RebuildableIndex,
)
from custody.bootstrap import Service
from custody.domain.jobs import CleanupJob, EmbedJob, EraseJob, ParseJob, PublishJob
from custody.domain.model import Principal, Scope
from custody.domain.text.embedding_model import EmbeddingModel
from custody_memory.jobs import MemoryJobs
from custody_memory.ledger import MemoryLedger
from custody_memory.ports import FixedLimits, MemoryPorts
from custody_memory.signer import LocalSigner

TENANT = "bench"
SOURCE = "corpus"
ROOT = Path(__file__).resolve().parents[1]
# What the queues hand to the two functions at once (template.yaml).
EMBED_BATCH, PUBLISH_BATCH = 5, 10


def model_folder(name: str) -> Path:
    """Raises SystemExit that says how to build the model."""
    folder = ROOT / ".local" / "models" / name
    if not (folder / "manifest.json").is_file():
        raise SystemExit(f"The model {name} is not built: run 'make model MODEL={name}'.")
    return folder


def load(name: str) -> EmbeddingModel:
    return load_model(model_folder(name))


@dataclass(frozen=True, slots=True)
class InProcess:
    principal: Principal
    service: Service
    jobs: MemoryJobs
    heads: HeadReads

    def ingest(self, requests: Iterator[DocumentRequest]) -> Iterator[int]:
        """Ingest one batch after another; yields how many documents are live so far.

        Raises RuntimeError when the product refuses or can't publish one of them.
        """
        parts: list[EmbedJob] = []
        versions: list[PublishJob] = []
        handlers: Mapping[type, object] = {
            ParseJob: self.service.parse,
            EmbedJob: parts.append,
            PublishJob: versions.append,
            CleanupJob: self.service.clean_up_superseded,
            EraseJob: self.service.propagate_erasure,
        }

        def drain() -> None:
            self.jobs.drain(handlers)  # type: ignore[arg-type]  # each handler takes its own job

        live = 0
        for request in requests:
            self.service.accept.from_api(self.principal, request)
            drain()
            if len(parts) >= EMBED_BATCH:
                _done(self.service.embed, parts)
                drain()
            if len(versions) >= PUBLISH_BATCH:
                live += _done(self.service.publish, versions)
                drain()
                yield live
        _done(self.service.embed, parts)
        drain()
        yield live + _done(self.service.publish, versions)


def _done[J](step: Callable[[Sequence[J]], Sequence[Failure[J]]], waiting: list[J]) -> int:
    batch = list(waiting)
    waiting.clear()
    for failure in step(batch):
        raise RuntimeError(f"Not done: {failure.job}: {failure.error}")
    return len(batch)


def assemble(
    *,
    index: EvidenceIndex,
    model: EmbeddingModel,
    embedder: Embedder | None = None,
    ledger: Ledger | None = None,
) -> InProcess:
    """A service with one registered source, its keys registered and its policies signed."""
    return furnish(
        index=index,
        embedder=embedder or OnnxEmbedder(model),
        chunker=TokenChunker(model),
        ledger=ledger,
    )


def furnish(
    *,
    index: EvidenceIndex,
    embedder: Embedder,
    chunker: Chunker,
    ledger: Ledger | None = None,
    rebuildable: RebuildableIndex | None = None,
    pace: BuildPace | None = None,
) -> InProcess:
    """The same, without a model where ``embedder`` and ``chunker`` need none."""
    since = SystemClock().now() - timedelta(minutes=1)
    jobs = MemoryJobs()
    ports = MemoryPorts(
        index=index,
        embedder=embedder,
        parser=FormatParser(),
        chunker=chunker,
        signers={
            purpose: LocalSigner.generate(purpose, not_before=since)
            for purpose in ("ingestion", "policy", "index")
        },
        given_rebuildable=rebuildable,
        ledger=ledger or MemoryLedger(),
        queue=jobs,
    )
    service = Service(ports, FixedLimits(build_pace=pace or BuildPace()))
    service.deploy_policies()
    principal = Principal(
        "bench",
        TENANT,
        groups=frozenset({"readers"}),
        scopes=frozenset(scope.value for scope in Scope),
        issued_at=ports.clock.now(),
    )
    service.sources.put(
        principal,
        SourceRequest(
            SOURCE,
            trust_domain="literature",
            writers=("user:bench",),
            default_acl=("group:readers",),
        ),
    )
    return InProcess(principal, service, jobs, ports.ledger)
