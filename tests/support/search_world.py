"""A small world to search in: real statements and checks, an index and a ledger held in memory.

The index here is a brute-force oracle with hooks for faults; the real ones are held to the same
behaviour by the contract tests. All else is the service's own, on ports in memory.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from custody.application.ports import (
    Embedder,
    EvidenceIndex,
    Judge,
    Matrix,
    ObjectStore,
    Reranker,
    Rewriter,
)
from custody.application.reading.ranking import Policies
from custody.application.reading.trace_codec import decode
from custody.bootstrap import Limits, Ports, Service
from custody.domain.index.candidates import (
    IndexEntry,
    LegHits,
    LegQuery,
    Space,
    Vector,
)
from custody.domain.model import (
    Acl,
    Control,
    DocumentKey,
    Head,
    LedgerView,
    Leg,
    PolicyRef,
    Principal,
    Source,
    SourceKey,
    VersionRecord,
)
from custody.domain.ranking.gate_policy import GatePolicy, GatePreset, GateWeights
from custody.domain.ranking.reputation import ReputationPolicy
from custody.domain.ranking.rewriting import MAX_REWRITES, rewrite
from custody.domain.ranking.sufficiency import judge
from custody.domain.text.analysis import query_terms
from custody.domain.text.question import ASKING_TERMS
from custody.errors import Unavailable
from custody_memory.ledger import MemoryLedger
from custody_memory.ports import FixedLimits, MemoryPorts
from tests.support.ingest_world import BlockChunker, LineParser
from tests.support.memory_index import MemoryIndex
from tests.support.signed_evidence import NOW, publish, signer, source

DIMENSIONS = 256
GATE = GatePolicy(
    version="gate-1",
    weights=GateWeights(top=0.35, coverage=0.30, margin=0.20, support=0.15),
    presets={
        "strict": GatePreset(threshold=0.70, top_floor=0.10, coverage_floor=0.35),
        "balanced": GatePreset(threshold=0.55, top_floor=0.10, coverage_floor=0.25),
        "lenient": GatePreset(threshold=0.40, top_floor=0.10, coverage_floor=0.15),
    },
)


def reader(subject: str = "ann", tenant: str = "acme", **changes: Any) -> Principal:
    values: dict[str, Any] = {
        "groups": frozenset({"staff"}),
        "scopes": frozenset({"custody/read"}),
        "issued_at": NOW,
    } | changes
    return Principal(subject, tenant, **values)


class FixedClock:
    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment


class CountingIds:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def new(self, prefix: str) -> str:
        return f"{prefix}-{next(self._numbers)}"


class WordEmbedder:
    """Texts with the same terms are near, others are not."""

    revision = "m1"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self.fault: Exception | None = None
        self.vector: Vector | None = None
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        if self.fault is not None:
            raise self.fault
        return self._embed(text) if self.vector is None else self.vector

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        return np.stack([self._embed(text) for text in texts])

    def _embed(self, text: str) -> Vector:
        total = np.zeros(DIMENSIONS, dtype=np.float32)
        for term in sorted(query_terms(text).keys() - ASKING_TERMS):
            seed = int.from_bytes(hashlib.sha256(term.encode()).digest()[:4])
            total += np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
        length = float(np.linalg.norm(total))
        return total / length if length else total


class OracleIndex(MemoryIndex):
    """Keeps what it was asked; ``fault``, ``after`` and ``change`` befall the searches."""

    def __init__(self) -> None:
        super().__init__()
        self.queries: list[LegQuery] = []
        self.fault: Exception | None = None
        self.after: Callable[[], None] | None = None
        self.change: Callable[[LegHits], LegHits] | None = None

    def search(self, query: LegQuery) -> LegHits:
        self.queries.append(query)
        if self.fault is not None:
            raise self.fault
        hits = super().search(query)
        if self.after is not None:
            happened, self.after = self.after, None
            happened()
        return hits if self.change is None else self.change(hits)


class ViewedLedger(MemoryLedger):
    """Its heads, sources and records, and whom it trusts, are as a test sets them. ``reads``: how
    often it was asked for a view. ``latest``: the heads of the last one. ``damaged``: keys of the
    items that can't be read."""

    def __init__(self, trusted: Control) -> None:
        super().__init__()
        self.heads, self.sources, self.trusted = self._heads, self._sources, trusted
        self.latest: dict[DocumentKey, Head] = {}
        self.not_before: datetime | None = None
        self.damaged: set[DocumentKey | SourceKey] = set()
        self.reads = 0
        self.fault: Exception | None = None

    def control(self, tenant: str) -> Control:
        return replace(self.trusted, tenant=tenant)

    def view(
        self,
        tenant: str,
        subject: str,
        documents: Collection[DocumentKey],
        sources: Collection[SourceKey],
    ) -> LedgerView:
        self.reads += 1
        if self.fault is not None:
            raise self.fault
        found = super().view(tenant, subject, documents, sources)
        self.latest = {key: head for key, head in found.heads.items() if key not in self.damaged}
        return replace(
            found,
            heads=self.latest,
            sources={k: each for k, each in found.sources.items() if k not in self.damaged},
            not_before=self.not_before,
            unreadable_heads=frozenset(found.heads.keys() & self.damaged),
            unreadable_sources=frozenset(found.sources.keys() & self.damaged),
        )

    def keep(self, record: VersionRecord) -> None:
        self._store(record)


class FixedPolicies:
    def __init__(self, scores: Mapping[str, float], weight: float) -> None:
        self.scores, self.weight = scores, weight
        self.missing = False
        self.rankers: list[str] = []

    def reputation(self, control: Control, ranker: str) -> tuple[PolicyRef, ReputationPolicy]:
        self.rankers.append(ranker)
        if self.missing:
            raise Unavailable("There is no reputation policy.", code="policy-unavailable")
        policy = ReputationPolicy(
            version="reputation-1",
            source_scores=self.scores,
            reputation_weight=self.weight,
            similarity_min=0.0,
            similarity_max=2 / 61,
            ranker=ranker,
        )
        return PolicyRef("reputation", policy.version, "d" * 64), policy

    def gate(self, control: Control) -> tuple[PolicyRef, GatePolicy]:
        return PolicyRef("gate", GATE.version, "e" * 64), GATE


class ServiceOfFixedPolicies(Service):
    """Its policies are as a test sets them, signed by nobody."""

    def __init__(self, ports: Ports, limits: Limits, policies: Policies) -> None:
        super().__init__(ports, limits)
        self._fixed = policies

    @property
    def active_policies(self) -> Policies:
        return self._fixed


class World:
    def __init__(
        self,
        *,
        scores: Mapping[str, float] | None = None,
        weight: float = 0.2,
        real_index: EvidenceIndex | None = None,
        real_embedder: Embedder | None = None,
        leg_weights: Mapping[Leg, float] | None = None,
        reranker: Reranker | None = None,
        judge: Judge = judge,
        rewriter: Rewriter = rewrite,
        max_rewrites: int = MAX_REWRITES,
        objects: ObjectStore | None = None,
    ) -> None:
        """``real_index`` takes the place of the oracle, ``real_embedder`` of the word vectors."""
        self.clock, self.ids = FixedClock(), CountingIds()
        self.signer = signer()
        self.embedder, self.index = WordEmbedder(), OracleIndex()
        self.policies = FixedPolicies(scores or {}, weight)
        key = self.signer.verification_key()
        self.ledger = ViewedLedger(Control("acme", {key.keyid: key}, {}))
        self._real_index = real_index
        self._embedder: Embedder = real_embedder or self.embedder
        ports = MemoryPorts(
            index=real_index or self.index,
            ledger=self.ledger,
            embedder=self._embedder,
            parser=LineParser(),
            chunker=BlockChunker(),
            signers={"ingestion": self.signer},
            clock=self.clock,
            identifiers=self.ids,
            reranker=reranker,
            judge=judge,
            rewriter=rewriter,
            given_objects=objects,
        )
        self.objects, self.traces = ports.objects, ports.traces
        self.service = ServiceOfFixedPolicies(
            ports,
            FixedLimits(leg_weights=leg_weights or {}, max_rewrites=max_rewrites),
            self.policies,
        )
        self.retriever, self.search = self.service.retriever, self.service.search
        self.answers = self.service.answers

    def source(self, source_id: str = "wiki", tenant: str = "acme", **changes: Any) -> Source:
        made = replace(source(source_id, tenant), **changes)
        self.ledger.sources[made.key] = made
        return made

    def publish(
        self,
        document_id: str,
        *texts: str,
        source_id: str = "wiki",
        tenant: str = "acme",
        version: int = 1,
        acl: Acl | None = None,
        metadata: Mapping[str, Any] | None = None,
        index: bool = True,
    ) -> Head:
        key = SourceKey(tenant, source_id)
        of = self.ledger.sources.get(key) or self.source(source_id, tenant)
        head, entries = publish(
            self.signer, of, document_id, texts, version=version, acl=acl,
            signed_at=NOW - timedelta(minutes=1),
        )  # fmt: skip
        head = replace(head, updated_at=self.clock.now())
        self.ledger.heads[head.key] = head
        if index:
            self.put(entries, metadata)
        return head

    def put(self, entries: Sequence[IndexEntry], metadata: Mapping[str, Any] | None = None) -> None:
        vectors = self._embedder.embed_passages([entry.text for entry in entries])
        made = [
            replace(
                entry,
                vector=vector,
                metadata=metadata or {},
                model_revision=self._embedder.revision,
            )
            for entry, vector in zip(entries, vectors, strict=True)
        ]
        self.index.entries.update((entry.chunk_id, entry) for entry in made)
        if self._real_index is not None:
            space = Space(made[0].key.tenant)
            self._real_index.ensure(
                space, model_revision=self._embedder.revision, dimensions=self._embedder.dimensions
            )
            self._real_index.put(space, made)
            self._real_index.refresh([space])

    def trace(self, trace_id: str, tenant: str = "acme") -> Any:
        """What was stored, read back as the service reads it."""
        stored = self.traces.get(tenant, trace_id)
        assert stored is not None
        return decode(stored[1])

    def change_head(self, head: Head, **changes: Any) -> None:
        self.ledger.heads[head.key] = replace(head, **changes)
