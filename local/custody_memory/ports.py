"""Every port of a service in memory. What has no stand-in here is handed over: the index, the
model, the parser."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.adapters.packaged_policies import packaged_policies
from custody.adapters.system_clock import RandomIdentifiers, SystemClock
from custody.application.idempotency import Idempotency
from custody.application.indexing.pace import BuildPace
from custody.application.ports import (
    Authorizer,
    Builds,
    Chunker,
    Clock,
    Embedder,
    ErasureWork,
    EvidenceIndex,
    Heads,
    Identifiers,
    IndexWork,
    Jobs,
    Judge,
    Ledger,
    ObjectStore,
    Parser,
    PolicyStore,
    RebuildableIndex,
    Reranker,
    Rewriter,
    Signer,
    TraceStore,
    Trust,
    Verifier,
    Work,
)
from custody.domain.model import Leg
from custody.domain.ranking.rewriting import MAX_REWRITES, rewrite
from custody.domain.ranking.sufficiency import judge
from custody.errors import ConfigurationError
from custody_memory.builds import MemoryBuilds
from custody_memory.jobs import MemoryJobs
from custody_memory.ledger import MemoryLedger
from custody_memory.objects import MemoryObjects
from custody_memory.policies import MemoryPolicies
from custody_memory.traces import MemoryTraces


@dataclass(kw_only=True)
class MemoryPorts:
    """``signers``: by purpose. ``given_rebuildable``: the same index, where it can be built anew.
    ``idempotency`` and ``authorizer``: where a test calls for them."""

    index: EvidenceIndex
    embedder: Embedder
    parser: Parser
    chunker: Chunker
    signers: Mapping[str, Signer]
    clock: Clock = field(default_factory=SystemClock)
    identifiers: Identifiers = field(default_factory=RandomIdentifiers)
    ledger: Ledger = field(default_factory=MemoryLedger)
    builds: Builds = field(default_factory=MemoryBuilds)
    queue: Jobs = field(default_factory=MemoryJobs)
    policies: PolicyStore = field(default_factory=MemoryPolicies)
    verifier: Verifier = field(default_factory=EcdsaVerifier)
    packaged_policies: Mapping[str, bytes] = field(default_factory=packaged_policies)
    reranker: Reranker | None = None
    judge: Judge = judge
    rewriter: Rewriter = rewrite
    pause: Callable[[float], None] = time.sleep
    other_embedder: Embedder | None = None
    given_rebuildable: RebuildableIndex | None = None
    given_objects: ObjectStore | None = None
    given_traces: TraceStore | None = None
    given_idempotency: Idempotency | None = None
    given_authorizer: Authorizer | None = None

    def __post_init__(self) -> None:
        self.objects: ObjectStore = self.given_objects or MemoryObjects(self.clock)
        self.traces: TraceStore = self.given_traces or MemoryTraces(self.clock)

    @property
    def trust(self) -> Trust:
        return self.ledger

    @property
    def heads(self) -> Heads:
        return self.ledger

    @property
    def work(self) -> Work:
        return self.ledger

    @property
    def erasures(self) -> ErasureWork:
        return self.ledger

    @property
    def index_work(self) -> IndexWork:
        return self.ledger

    @property
    def rebuildable(self) -> RebuildableIndex:
        if self.given_rebuildable is None:
            raise ConfigurationError("The index of these ports can't be built anew.")
        return self.given_rebuildable

    @property
    def idempotency(self) -> Idempotency:
        if self.given_idempotency is None:
            raise ConfigurationError("These ports have no memory of answers.")
        return self.given_idempotency

    @property
    def authorizer(self) -> Authorizer:
        if self.given_authorizer is None:
            raise ConfigurationError("These ports know no issuer of tokens.")
        return self.given_authorizer

    def signer(self, purpose: str) -> Signer:
        return self.signers[purpose]

    def jobs(self, *kinds: str) -> Jobs:  # noqa: ARG002  # one queue takes every kind
        return self.queue

    def sleep(self, seconds: float) -> None:
        self.pause(seconds)


@dataclass(frozen=True, kw_only=True)
class FixedLimits:
    """What a deployment has where nothing is set."""

    bucket: str = "evidence"
    max_object_bytes: int = 50_000_000
    publish_wait_seconds: float = 15.0
    max_token_age: timedelta = timedelta(hours=1)
    trace_ttl: timedelta = timedelta(days=30)
    superseded_retention: timedelta | None = None
    leg_weights: Mapping[Leg, float] = field(default_factory=lambda: dict.fromkeys(Leg, 1.0))
    max_rewrites: int = MAX_REWRITES
    build_pace: BuildPace = field(default_factory=BuildPace)
