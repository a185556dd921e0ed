"""A small world to search in: real statements and checks, an index and a ledger held in memory.

The index here is a brute-force oracle with hooks for faults; the real ones are held to the same
behaviour by the contract tests.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import numpy as np

from custody.application.ports import (
    CandidateIndex,
    Embedder,
    EvidenceIndex,
    Ledger,
    Matrix,
    Reranker,
)
from custody.application.reading.answer import Answers
from custody.application.reading.attempts import Judge, Rewriter
from custody.application.reading.ranking import Policies
from custody.application.reading.read_trace import ReadTraceLedger
from custody.application.reading.trace_codec import decode
from custody.bootstrap import Limits, Ports, Service
from custody.domain.index.candidates import (
    Hit,
    IndexEntry,
    LegHits,
    LegQuery,
    SearchFilter,
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
from custody.domain.text.analysis import query_terms, searched_terms
from custody.domain.text.question import ASKING_TERMS
from custody.errors import Unavailable
from custody_memory.ports import FixedLimits, MemoryPorts
from tests.support.ingest_world import BlockChunker, LineParser
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


class OracleIndex:
    """``CandidateIndex``: everything that the filter lets through, scored one by one."""

    def __init__(self) -> None:
        self.entries: dict[str, IndexEntry] = {}
        self.queries: list[LegQuery] = []
        self.fault: Exception | None = None
        self.after: Callable[[], None] | None = None
        self.change: Callable[[LegHits], LegHits] | None = None

    def search(self, query: LegQuery) -> LegHits:
        self.queries.append(query)
        if self.fault is not None:
            raise self.fault
        open_to = [entry for entry in self.entries.values() if _passes(entry, query)]
        legs: dict[Leg, tuple[Hit, ...]] = {}
        if query.vector is not None:
            legs[Leg.SEMANTIC] = _leg(open_to, _cosine(query), query.depth)
        if query.text is not None:
            legs[Leg.LEXICAL] = _leg(open_to, _overlap(query), query.depth, above_zero=True)
        hits = LegHits(
            legs,
            unknown_fields=_unknown_fields(self.entries.values(), query),
        )
        if self.after is not None:
            happened, self.after = self.after, None
            happened()
        return hits if self.change is None else self.change(hits)


def _passes(entry: IndexEntry, query: LegQuery) -> bool:
    wanted = query.filter
    return (
        any(space.tenant == entry.key.tenant for space in query.spaces)
        and not wanted.acl_terms.isdisjoint(entry.acl)
        and (wanted.source_ids is None or entry.source_id in wanted.source_ids)
        and (wanted.trust_domains is None or entry.trust_domain in wanted.trust_domains)
        and all(entry.metadata.get(name) == value for name, value in wanted.metadata.items())
    )


def _unknown_fields(entries: Iterable[IndexEntry], query: LegQuery) -> tuple[str, ...]:
    anything = replace(query, filter=SearchFilter(query.filter.acl_terms, query.filter.valid_at))
    known = {name for entry in entries if _passes(entry, anything) for name in entry.metadata}
    return tuple(sorted(set(query.filter.metadata) - known))


def _leg(
    entries: Sequence[IndexEntry],
    score: Callable[[IndexEntry], float],
    depth: int,
    *,
    above_zero: bool = False,
) -> tuple[Hit, ...]:
    hits = [Hit(replace(entry, vector=None), score(entry)) for entry in entries]
    hits = [hit for hit in hits if hit.score > 0 or not above_zero]
    hits.sort(key=lambda hit: (-hit.score, hit.entry.chunk_id))
    return tuple(hits[:depth])


def _cosine(query: LegQuery) -> Callable[[IndexEntry], float]:
    vector = query.vector
    assert vector is not None
    return lambda entry: float(vector @ entry.vector) if entry.vector is not None else 0.0


def _overlap(query: LegQuery) -> Callable[[IndexEntry], float]:
    wanted = query_terms(query.text or "")

    def score(entry: IndexEntry) -> float:
        held = searched_terms(None, None, entry.text)
        return float(len(wanted.keys() & set(held))) + 1 / (1 + len(held)) * bool(
            wanted.keys() & set(held)
        )

    return score


class ViewedLedger:
    """``LedgerReads``, and ``VersionReads`` for an answer that is read again."""

    def __init__(self) -> None:
        self.heads: dict[DocumentKey, Head] = {}
        self.sources: dict[SourceKey, Source] = {}
        self.records: dict[tuple[DocumentKey, int], VersionRecord] = {}
        self.control: Control | None = None
        self.not_before: datetime | None = None
        self.reads = 0
        self.fault: Exception | None = None

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
        assert self.control is not None
        return LedgerView(
            control=replace(self.control, tenant=tenant),
            not_before=self.not_before,
            heads={key: self.heads[key] for key in documents if key in self.heads},
            sources={key: self.sources[key] for key in sources if key in self.sources},
        )

    def version(self, key: DocumentKey, version: int) -> VersionRecord | None:
        return self.records.get((key, version))


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
    ) -> None:
        """``real_index`` takes the place of the oracle, ``real_embedder`` of the word vectors."""
        self.clock, self.ids = FixedClock(), CountingIds()
        self.signer = signer()
        self.embedder, self.index, self.ledger = WordEmbedder(), OracleIndex(), ViewedLedger()
        self.policies = FixedPolicies(scores or {}, weight)
        key = self.signer.verification_key()
        self.ledger.control = Control("acme", {key.keyid: key}, {})
        index: CandidateIndex = real_index or self.index
        ledger: ReadTraceLedger = self.ledger
        self._real_index = real_index
        self._embedder: Embedder = real_embedder or self.embedder
        ports = MemoryPorts(
            # A service is wired whole; those who read ask for these parts of it.
            index=cast("EvidenceIndex", index),
            ledger=cast("Ledger", ledger),
            embedder=self._embedder,
            parser=LineParser(),
            chunker=BlockChunker(),
            signers={"ingestion": self.signer},
            clock=self.clock,
            identifiers=self.ids,
            reranker=reranker,
        )
        self.objects, self.traces = ports.objects, ports.traces
        self.service = ServiceOfFixedPolicies(
            ports, FixedLimits(leg_weights=leg_weights or {}), self.policies
        )
        self.retriever, self.search = self.service.retriever, self.service.search
        self.answers = self.service.answers

    def answers_by(
        self,
        *,
        judge: Judge = judge,
        rewriter: Rewriter = rewrite,
        max_rewrites: int = MAX_REWRITES,
    ) -> Answers:
        """With another gate, another rewriter, or another number of rewrites."""
        return Answers(
            search=self.search,
            retriever=self.retriever,
            policies=self.policies,
            traces=self.traces,
            clock=self.clock,
            ids=self.ids,
            judge=judge,
            rewriter=rewriter,
            max_rewrites=max_rewrites,
        )

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
