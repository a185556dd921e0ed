"""The product's own path in one process: real parser, chunker, signer, embedder and index; the
ledger, the objects and the queues in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.adapters.model_manifest import load_model
from custody.adapters.onnx_embedder import OnnxEmbedder
from custody.adapters.packaged_policies import packaged_policies
from custody.adapters.parsers import FormatParser
from custody.adapters.sealed_cursors import SealedCursors
from custody.adapters.system_clock import RandomIdentifiers, SystemClock
from custody.adapters.token_chunker import TokenChunker
from custody.application.erasure.propagate import Propagate
from custody.application.failure import Failure
from custody.application.governance.active_policies import ActivePolicies
from custody.application.governance.deploy_policies import DeployPolicies
from custody.application.governance.source_registry import Govern, SourceRequest
from custody.application.ingestion.accept_document import Accept, DocumentRequest
from custody.application.ingestion.embed import Embed
from custody.application.ingestion.parse import Parse
from custody.application.ingestion.publish import Publish
from custody.application.ingestion.rejecting import Rejecting
from custody.application.ports import Embedder, EvidenceIndex, Ledger
from custody.application.reading.evidence_check import EvidenceCheck
from custody.application.reading.retrieval import Retriever
from custody.application.reading.search import Search
from custody.domain.jobs import CleanupJob, EmbedJob, EraseJob, ParseJob, PublishJob
from custody.domain.model import Principal, Scope
from custody.domain.text.embedding_model import EmbeddingModel
from custody_memory.jobs import MemoryJobs
from custody_memory.ledger import MemoryLedger
from custody_memory.objects import MemoryObjects
from custody_memory.policies import MemoryPolicies
from custody_memory.signer import LocalSigner
from custody_memory.traces import MemoryTraces

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
    accept: Accept
    parse: Parse
    embed: Embed
    publish: Publish
    propagate: Propagate
    search: Search
    jobs: MemoryJobs
    ledger: Ledger

    def ingest(self, requests: Iterator[DocumentRequest]) -> Iterator[int]:
        """Ingest one batch after another; yields how many documents are live so far.

        Raises RuntimeError when the product refuses or can't publish one of them.
        """
        parts: list[EmbedJob] = []
        versions: list[PublishJob] = []
        handlers: Mapping[type, object] = {
            ParseJob: self.parse,
            EmbedJob: parts.append,
            PublishJob: versions.append,
            CleanupJob: self.propagate,
            EraseJob: self.propagate,
        }

        def drain() -> None:
            self.jobs.drain(handlers)  # type: ignore[arg-type]  # each handler takes its own job

        live = 0
        for request in requests:
            self.accept.from_api(self.principal, request)
            drain()
            if len(parts) >= EMBED_BATCH:
                _done(self.embed, parts)
                drain()
            if len(versions) >= PUBLISH_BATCH:
                live += _done(self.publish, versions)
                drain()
                yield live
        _done(self.embed, parts)
        drain()
        yield live + _done(self.publish, versions)


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
    clock = SystemClock()
    ledger, jobs = ledger or MemoryLedger(), MemoryJobs()
    objects, traces, policies = MemoryObjects(clock), MemoryTraces(clock), MemoryPolicies()
    verifier = EcdsaVerifier()
    since = clock.now() - timedelta(minutes=1)
    signer = LocalSigner.generate("ingestion", not_before=since)
    DeployPolicies(
        ledger=ledger,
        policies=policies,
        ingestion=signer,
        policy=LocalSigner.generate("policy", not_before=since),
        verifier=verifier,
        packaged=packaged_policies(),
    )()
    principal = Principal(
        "bench",
        TENANT,
        groups=frozenset({"readers"}),
        scopes=frozenset(scope.value for scope in Scope),
        issued_at=clock.now(),
    )
    Govern(ledger, clock, SealedCursors(ledger.page_secret)).put(
        principal,
        SourceRequest(
            SOURCE,
            trust_domain="literature",
            writers=("user:bench",),
            default_acl=("group:readers",),
        ),
    )
    used = embedder or OnnxEmbedder(model)
    rejecting = Rejecting(ledger, objects, clock)
    retriever = Retriever(
        index=index,
        ledger=ledger,
        check=EvidenceCheck(verifier),
        policies=ActivePolicies(policies, verifier),
    )
    return InProcess(
        principal=principal,
        accept=Accept(ledger, objects, index, jobs, clock),
        parse=Parse(ledger, objects, FormatParser(), TokenChunker(model), jobs, rejecting),
        embed=Embed(ledger, objects, used, jobs, rejecting),
        publish=Publish(ledger, objects, index, signer, jobs, clock),
        propagate=Propagate(ledger, objects, index, clock),
        search=Search(
            retriever=retriever,
            embedder=used,
            traces=traces,
            clock=clock,
            ids=RandomIdentifiers(),
        ),
        jobs=jobs,
        ledger=ledger,
    )
