"""One search: a question in, verified evidence out, with a trace of how it came about."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np

from custody.application.callers import require
from custody.application.ports import Clock, Embedder, Identifiers, TraceStore
from custody.application.reading.assembly import assemble
from custody.application.reading.evidence import Evidence, PolicyUse
from custody.application.reading.plan import Plan
from custody.application.reading.retrieval import Retrieval, Retriever
from custody.application.reading.trace import (
    FilterTrace,
    ItemTrace,
    RequestTrace,
    RetrievalTrace,
    SearchTrace,
)
from custody.application.reading.trace_codec import encode
from custody.domain.index.candidates import FilterClause, LegQuery, SearchFilter, Space, Vector
from custody.domain.model import PUBLIC_TENANT, Leg, Outcome, Principal, Scope
from custody.domain.ranking.fusion import leg_depth
from custody.domain.ranking.routing import Route, Routed, choose
from custody.errors import IntegrityError, Unavailable, Unprocessable

MAX_QUERY_CHARACTERS = 2_000
MAX_K = 100
MAX_AGE_SECONDS = 100 * 365 * 86_400
FUSIONS = ("rrf", "linear")
_LATER_ROUTES = frozenset({"none", "graph", "iterative", "facts", "long_context"})


class NoVector(StrEnum):
    """Why a question has no vector, as ``degraded`` tells it."""

    MODEL_UNAVAILABLE = "semantic-leg-unavailable"
    NOT_EMBEDDABLE = "semantic-leg-no-vector"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """``rerank`` None: the caller did not say. ``trust_domains`` and ``source_ids`` only narrow."""

    query: str
    k: int = 10
    route: str = "auto"
    fusion: str = "rrf"
    rerank: bool | None = None
    trust_domains: frozenset[str] | None = None
    source_ids: frozenset[str] | None = None
    filter: Mapping[str, FilterClause] = field(default_factory=dict)
    max_age_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked request, ready to be asked of the index, once or several times. ``degraded``: what
    is missed so far."""

    request: SearchRequest
    routed: Routed
    plan: Plan
    degraded: tuple[str, ...]
    model_revision: str | None
    embedding: timedelta

    @property
    def measured(self) -> bool:
        """True when similarities with the question are known."""
        return Leg.SEMANTIC in self.plan.query.legs


@dataclass(frozen=True, slots=True)
class SearchResult:
    """``withheld`` is for auditors only. ``outcomes`` counts what the ledger check said."""

    trace_id: str
    route: str
    route_reason: str
    legs: tuple[Leg, ...]
    fusion: str
    results: tuple[Evidence, ...]
    degraded: tuple[str, ...]
    policy: PolicyUse
    model_revision: str | None
    outcomes: Mapping[Outcome, int]
    withheld: Mapping[str, int]
    timings_ms: Mapping[str, float]


class Search:
    """Safe to share between threads. ``embedder`` None: a deployment without a semantic leg.

    Raises Forbidden(scope-missing), Unprocessable(invalid-field | not-available |
    query-not-embeddable), Unavailable, Unauthenticated(token-revoked).
    """

    def __init__(
        self,
        *,
        retriever: Retriever,
        embedder: Embedder | None,
        traces: TraceStore,
        clock: Clock,
        ids: Identifiers,
        trace_ttl: timedelta = timedelta(days=30),
    ) -> None:
        self._retriever, self._embedder = retriever, embedder
        self._traces, self._clock, self._ids = traces, clock, ids
        self._trace_ttl = trace_ttl

    def __call__(self, principal: Principal, request: SearchRequest) -> SearchResult:
        require(principal, Scope.READ)
        started = self._clock.now()
        prepared = self.prepare(principal, request)
        retrieval = self._retriever(principal, prepared.plan)
        results = assemble(retrieval.ranked, prepared.plan, principal, retrieval.view)
        finished = self._clock.now()
        result = SearchResult(
            trace_id=self._ids.new("trace"),
            route=prepared.routed.route.value,
            route_reason=prepared.routed.reason,
            legs=prepared.plan.legs,
            fusion=request.fusion,
            results=results,
            degraded=(*prepared.degraded, *retrieval.degraded),
            policy=retrieval.policy,
            model_revision=prepared.model_revision,
            outcomes=retrieval.outcomes,
            withheld=retrieval.withheld,
            timings_ms={
                "embed": _milliseconds(prepared.embedding),
                "total": _milliseconds(finished - started),
            },
        )
        self._traces.put(
            principal.tenant,
            result.trace_id,
            principal.subject,
            encode(_trace(prepared, retrieval, result, started)),
            expires_at=started + self._trace_ttl,
        )
        return result

    def prepare(
        self, principal: Principal, request: SearchRequest, *, measure: bool = False
    ) -> Prepared:
        """Check the request, choose the route, embed the question. ``measure``: have similarities
        even where the route ranks by words alone."""
        validate(request)
        routed = (
            choose(request.query)
            if request.route == "auto"
            else Routed(Route(request.route), "asked for")
        )
        now = self._clock.now()
        vector, missed = None, None
        if Leg.SEMANTIC in routed.route.legs or measure:
            found = self._embed(request.query)
            vector, missed = (None, found) if isinstance(found, NoVector) else (found, None)
        embedding = self._clock.now() - now
        if missed is not None and routed.route is Route.DENSE:
            raise _no_dense_leg(missed)
        return Prepared(
            request=request,
            routed=routed,
            plan=self._plan(principal, request, routed, vector, now),
            degraded=() if missed is None else (missed.value,),
            model_revision=self._embedder.revision if self._embedder else None,
            embedding=embedding,
        )

    def _embed(self, query: str) -> Vector | NoVector:
        if self._embedder is None:
            return NoVector.MODEL_UNAVAILABLE
        try:
            vector = self._embedder.embed_query(query)
        except Unavailable:
            return NoVector.MODEL_UNAVAILABLE
        except IntegrityError:
            return NoVector.NOT_EMBEDDABLE
        if not np.isfinite(vector).all() or not vector.any():
            return NoVector.NOT_EMBEDDABLE
        return vector

    def _plan(
        self,
        principal: Principal,
        request: SearchRequest,
        routed: Routed,
        vector: Vector | None,
        now: datetime,
    ) -> Plan:
        max_age = (
            None if request.max_age_seconds is None else timedelta(seconds=request.max_age_seconds)
        )
        semantic = frozenset({Leg.SEMANTIC})
        # it also runs where it does not rank, to measure similarity
        running = routed.route.legs - semantic if vector is None else routed.route.legs | semantic
        query = LegQuery(
            spaces=tuple(Space(tenant) for tenant in sorted({principal.tenant, PUBLIC_TENANT})),
            filter=SearchFilter(
                acl_terms=principal.terms,
                valid_at=now,
                source_ids=request.source_ids,
                trust_domains=request.trust_domains,
                metadata=request.filter,
                observed_since=None if max_age is None else now - max_age,
            ),
            depth=leg_depth(request.k),
            legs=running,
            text=request.query,
            vector=vector,
            model_revision=self._embedder.revision if self._embedder else None,
        )
        return Plan(
            question=request.query,
            query=query,
            legs=tuple(leg for leg in Leg if leg in routed.route.legs & running),
            k=request.k,
            fusion=request.fusion,
            rerank=request.rerank is True,
            now=now,
            trust_domains=request.trust_domains,
            max_age=max_age,
        )


def validate(request: SearchRequest) -> None:
    """Raises Unprocessable(invalid-field | not-available)."""
    if not request.query.strip():
        raise Unprocessable("A question is needed.", field="query")
    if len(request.query) > MAX_QUERY_CHARACTERS:
        raise Unprocessable(
            f"A question has at most {MAX_QUERY_CHARACTERS:,} characters.", field="query"
        )
    if not 1 <= request.k <= MAX_K:
        raise Unprocessable(f"k lies between 1 and {MAX_K}.", field="k")
    if request.route in _LATER_ROUTES:
        raise Unprocessable(
            "This deployment does not have this route.", code="not-available", field="route"
        )
    if request.route != "auto" and request.route not in set(Route):
        raise Unprocessable("This is no route.", field="route")
    if request.fusion not in FUSIONS:
        raise Unprocessable("Fusion is rrf or linear.", field="fusion")
    if request.max_age_seconds is not None and not 1 <= request.max_age_seconds <= MAX_AGE_SECONDS:
        raise Unprocessable("An age is 1 second to 100 years.", field="max_age_seconds")


def _no_dense_leg(missed: NoVector) -> Exception:
    if missed is NoVector.MODEL_UNAVAILABLE:
        return Unavailable("The embedding model is not available.", code="model-unavailable")
    return Unprocessable(
        "The model gives no vector for this question.", code="query-not-embeddable", field="query"
    )


def _milliseconds(duration: timedelta) -> float:
    return round(duration / timedelta(milliseconds=1), 3)


def request_trace(prepared: Prepared, degraded: tuple[str, ...]) -> RequestTrace:
    request = prepared.request
    return RequestTrace(
        query=request.query,
        query_sha256=hashlib.sha256(request.query.encode()).hexdigest(),
        k=request.k,
        route=prepared.routed.route.value,
        route_asked=request.route,
        route_reason=prepared.routed.reason,
        legs=prepared.plan.legs,
        depth=prepared.plan.query.depth,
        fusion=request.fusion,
        rerank=request.rerank,
        filter=FilterTrace(
            metadata=request.filter,
            source_ids=_sorted(request.source_ids),
            trust_domains=_sorted(request.trust_domains),
            max_age_seconds=request.max_age_seconds,
        ),
        valid_at=prepared.plan.now,
        degraded=degraded,
        model_revision=prepared.model_revision,
    )


def _sorted(names: frozenset[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(sorted(names))


def retrieval_trace(retrieval: Retrieval) -> RetrievalTrace:
    return RetrievalTrace(
        policy=retrieval.policy,
        epoch=retrieval.view.control.epoch,
        ranker=retrieval.ranker,
        weights=retrieval.weights,
        outcomes=retrieval.outcomes,
        withheld=retrieval.withheld,
        refetched=retrieval.refetched,
    )


def _trace(
    prepared: Prepared, retrieval: Retrieval, result: SearchResult, started: datetime
) -> SearchTrace:
    return SearchTrace(
        recorded_at=started,
        request=request_trace(prepared, result.degraded),
        retrieval=retrieval_trace(retrieval),
        evidence=tuple(map(ItemTrace.of, result.results)),
        timings_ms=result.timings_ms,
    )
