"""What a service is made from. Each port is asked for when a use case first needs it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
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


class Ports(Protocol):
    """The real things, or others that keep the same promises."""

    @property
    def clock(self) -> Clock: ...
    @property
    def identifiers(self) -> Identifiers: ...
    @property
    def authorizer(self) -> Authorizer: ...
    @property
    def trust(self) -> Trust: ...
    @property
    def heads(self) -> Heads: ...
    @property
    def work(self) -> Work: ...
    @property
    def erasures(self) -> ErasureWork: ...
    @property
    def builds(self) -> Builds: ...
    @property
    def index_work(self) -> IndexWork: ...
    @property
    def ledger(self) -> Ledger:
        """All of it but the builds: for whoever may hold all of their tables."""
        ...

    @property
    def index(self) -> EvidenceIndex: ...
    @property
    def rebuildable(self) -> RebuildableIndex:
        """The same index, for whoever makes it anew."""
        ...

    @property
    def objects(self) -> ObjectStore: ...
    @property
    def traces(self) -> TraceStore: ...
    @property
    def policies(self) -> PolicyStore: ...
    @property
    def idempotency(self) -> Idempotency: ...
    @property
    def parser(self) -> Parser: ...
    @property
    def chunker(self) -> Chunker: ...
    @property
    def embedder(self) -> Embedder: ...
    @property
    def other_embedder(self) -> Embedder | None:
        """A second model, where a deployment has one to build an index of."""
        ...

    @property
    def reranker(self) -> Reranker | None:
        """None: a deployment without one, which a search that asks for it is told."""
        ...

    @property
    def judge(self) -> Judge: ...
    @property
    def rewriter(self) -> Rewriter: ...
    @property
    def verifier(self) -> Verifier: ...
    @property
    def packaged_policies(self) -> Mapping[str, bytes]:
        """Name to the JSON of a policy that is signed when a deployment has none."""
        ...

    def signer(self, purpose: str) -> Signer:
        """``purpose``: "ingestion", "policy" or "index"."""
        ...

    def jobs(self, *kinds: str) -> Jobs:
        """Only the queues that the caller may send to: parse, embed, publish, erase, rebuild."""
        ...

    def sleep(self, seconds: float) -> None: ...


class Limits(Protocol):
    """What an operator sets, and what is fixed for all. ``leg_weights``: of each leg in rank fusion.
    ``max_rewrites``: of one question."""

    @property
    def bucket(self) -> str: ...
    @property
    def max_object_bytes(self) -> int: ...
    @property
    def publish_wait_seconds(self) -> float: ...
    @property
    def max_token_age(self) -> timedelta: ...
    @property
    def trace_ttl(self) -> timedelta: ...
    @property
    def superseded_retention(self) -> timedelta | None:
        """None keeps what was superseded for ever."""
        ...

    @property
    def leg_weights(self) -> Mapping[Leg, float]: ...
    @property
    def max_rewrites(self) -> int: ...
    @property
    def build_pace(self) -> BuildPace: ...
